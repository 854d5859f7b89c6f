"""Runs the same source under plain Python and under the language layer alone, in this process."""

import functools
import os
import random
import re
import sys
import time
import types
from pathlib import Path

import numpy as np

from sandbox.language import Runtime, compile_source, importable
from sandbox.language.guards import Printer
from sandbox.language.names import MODULE
from sandbox.libraries import needed_libraries


@functools.cache
def runtime(libraries: tuple[str, ...]) -> Runtime:
    """What a warm parent with these libraries has, its chance and its clock kept to itself."""
    bits = np.random.bit_generator
    before = os.urandom, bits.randbits, random.Random.seed, random.seed, dict(vars(time))
    made = Runtime(libraries)
    os.urandom, bits.randbits, random.Random.seed, random.seed, clocks = before
    vars(time).update(clocks)
    return made


def run_restricted(source: str, extra: tuple[str, ...] = ()) -> tuple[dict, Printer]:
    """The namespace after executing ``source`` as a program, and what it printed to."""
    code = compile_source(source, importable(extra)).code
    made = runtime(needed_libraries(source, extra))
    made.printer.limit = 4000
    made.printer.clear()
    sys.modules[MODULE] = types.ModuleType(MODULE)
    namespace = made.namespace()
    exec(code, namespace)  # noqa: S102 - the object of the test
    return namespace, made.printer


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
