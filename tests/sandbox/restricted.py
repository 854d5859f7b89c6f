"""Runs the same source under plain Python and under the language layer alone, in this process."""

import functools
import re
import sys
import types
from pathlib import Path

from sandbox.language import (
    MODULE,
    Library,
    Printer,
    Randomness,
    compile_source,
    import_hook,
    importable,
    make_builtins,
    roots,
)
from sandbox.language.library import library_facades, load_libraries
from sandbox.libraries import needed_libraries

#: Once for the same libraries, as in the warm parent: looking through all modules takes a while.
load = functools.cache(load_libraries)


def run_restricted(source: str, extra: tuple[str, ...] = ()) -> tuple[dict, Printer]:
    """The namespace after executing ``source`` as a program, and what it printed to."""
    printer = Printer(4000)
    loaded = load(needed_libraries(source, extra))
    randomness = Randomness(0)
    roots.provide(lambda: randomness)
    library = Library(randomness, library_facades(loaded, extra))
    sys.modules[MODULE] = types.ModuleType(MODULE)
    namespace = {
        "__builtins__": make_builtins(printer, library.find, import_hook),
        "__name__": MODULE,
        "np": library.numpy,
        "math": library.find("math"),
        "random": library.find("random"),
    }
    exec(compile_source(source, importable(extra)).code, namespace)  # noqa: S102 - the object of the test
    return namespace, printer


def run_plain(source: str, names: dict | None = None) -> dict:
    """The namespace after executing ``source`` as ordinary Python, ``names`` being there before."""
    sys.modules["plain"] = types.ModuleType("plain")
    namespace: dict = {**(names or {}), "__name__": "plain"}
    exec(compile(source, "<plain>", "exec", dont_inherit=True), namespace)  # noqa: S102 - the object of the test
    return namespace


def programs(name: str) -> dict[str, str]:
    """The programs of ``corpus/<name>.txt`` by title; a title stands behind ``####``."""
    text = (Path(__file__).parent / "corpus" / f"{name}.txt").read_text()
    parts = re.split(r"^#### (.*)\n", text, flags=re.MULTILINE)[1:]
    titles = parts[::2]
    assert len(set(titles)) == len(titles), "two programs of one title"
    return dict(zip(titles, parts[1::2], strict=True))
