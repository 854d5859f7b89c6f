"""Where libraries get chance and time from; in the sandbox's processes, from the slot that runs.

Programs have ``np.random``, ``random`` and ``time`` of their own (``randomness``). What libraries
draw by themselves (``SeedSequence()``, ``RandomState(1).seed()``, a minimizer without a seed) comes
from the operating system or from generators that all episodes share; and some look at the clock.
``install`` replaces these sources at their roots. They then serve whichever slot runs now, and the
same numbers come again in another process.
"""

from __future__ import annotations

import os
import random
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from sandbox.language import native_clock
from sandbox.language.randomness import CLOCKS, Randomness, clocks

_find: Callable[[], Randomness]


def provide(find: Callable[[], Randomness]) -> None:
    """Let ``find`` tell whose random numbers and clock are asked for."""
    global _find  # noqa: PLW0603 - one process runs one program
    _find = find


def now() -> Randomness:
    """The random numbers and the clock of the slot that runs."""
    return _find()


_nobody = Randomness(0)
provide(lambda: _nobody)


class _Mtrand(types.ModuleType):
    """``numpy.random.mtrand``, whose global generator is that of the slot that runs now."""

    @property
    def _rand(self) -> np.random.RandomState:
        return now().state


def _drawing(name: str) -> Callable[..., object]:
    def draw(*args: object, **options: object) -> object:
        made: Callable[..., object] = getattr(now().state, name)
        return made(*args, **options)

    return draw


def _drawing_python(name: str) -> Callable[..., object]:
    def draw(*args: object, **options: object) -> object:
        made: Callable[..., object] = getattr(now().python, name)
        return made(*args, **options)

    return draw


def _bits(count: int) -> int:
    return now().bits(count)


def _bytes(count: int) -> bytes:
    return now().bits(8 * count).to_bytes(count, "little")


_plain_seed = random.Random.seed


def _seed(self: random.Random, a: Any = None, version: int = 2) -> None:  # noqa: ANN401 - as the original
    _plain_seed(self, now().bits(64) if a is None else a, version)


#: What to put in the place of what, by identity: others may have imported it by name.
_replaced: dict[int, object] = {}
_originals: list[object] = []


def _replace(holder: Any, name: str, value: object) -> None:  # noqa: ANN401 - a module
    original = getattr(holder, name)
    _originals.append(original)  # so that its identity stays its own
    _replaced[id(original)] = value
    setattr(holder, name, value)


def install() -> None:
    """Replace the sources; calling it twice is harmless."""
    mtrand: Any = np.random.mtrand
    if isinstance(mtrand, _Mtrand):
        return
    _replace(np.random.bit_generator, "randbits", _bits)
    shared = mtrand._rand
    for name, value in list(vars(mtrand).items()):
        if getattr(value, "__self__", None) is shared:
            _replace(mtrand, name, _drawing(value.__name__))
    mtrand.__class__ = _Mtrand
    instance: object = vars(random)["_inst"]
    for name, value in list(vars(random).items()):
        if getattr(value, "__self__", None) is instance:
            _replace(random, name, _drawing_python(value.__name__))
    random.Random.seed = _seed  # type: ignore[method-assign]
    _replace(os, "urandom", _bytes)
    native_clock.stop()
    mend()


def mend() -> None:
    """Mend the libraries that are loaded by now: what they imported by name, and their clocks."""
    if not _replaced:
        return
    clock = types.SimpleNamespace(**clocks(now))
    _replaced[id(time)] = clock
    for name in CLOCKS:
        _replaced[id(getattr(time, name))] = getattr(clock, name)
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] in _MENDED and isinstance(module, types.ModuleType):
            for name, value in list(vars(module).items()):
                if id(value) in _replaced:
                    setattr(module, name, _replaced[id(value)])


_MENDED = frozenset({"numpy", "random", "scipy", "secrets", "statistics", "uuid"})
