"""The language layer: which Python a program may be written in, and what it finds there.

It gives good errors and takes away tools. It is not the boundary: the process is.
"""

from sandbox.language.compiler import FILENAME, Compiled, compile_source, quoted
from sandbox.language.guards import Stream
from sandbox.language.library import Runtime, importable
from sandbox.language.names import readable, shortened

__all__ = [
    "FILENAME",
    "Compiled",
    "Runtime",
    "Stream",
    "compile_source",
    "importable",
    "quoted",
    "readable",
    "shortened",
]
