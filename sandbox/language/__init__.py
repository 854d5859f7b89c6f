"""The language layer: which Python a program may be written in, and what it finds there.

It gives good errors and takes away tools. It is not the boundary: the process layer is.
"""

from sandbox.language.compiler import FILENAME, Compiled, compile_source, quoted
from sandbox.language.formatting import Printer
from sandbox.language.guards import make_builtins
from sandbox.language.library import Library, import_hook, importable
from sandbox.language.names import readable, shortened
from sandbox.language.ownership import MODULE
from sandbox.language.randomness import Randomness

__all__ = [
    "FILENAME",
    "MODULE",
    "Compiled",
    "Library",
    "Printer",
    "Randomness",
    "compile_source",
    "import_hook",
    "importable",
    "make_builtins",
    "quoted",
    "readable",
    "shortened",
]
