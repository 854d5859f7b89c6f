"""Chance and time of an episode: they start from its seed, and repeat in another process.

A process plays one episode at a time, so the generators behind ``np.random`` and ``random`` are
Python's and numpy's own. What draws from the operating system without a seed (``default_rng()``,
``Random()``) draws from the episode's seed instead, and a clock advances by a millisecond each
time that it is read. Libraries get the same: they are patched in the warm parent.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np


class Randomness:
    """Source of chance and time for everything; ``seed`` starts it anew."""

    def __init__(self, seed: int = 0) -> None:
        self.seed(seed)
        bit_generator: Any = np.random.bit_generator
        bit_generator.randbits = self._bits
        os.urandom = lambda size: self._bits(8 * size).to_bytes(size, "little")

        def seed_python(generator: random.Random, a: Any = None, version: int = 2) -> None:  # noqa: ANN401 - as the original
            _PLAIN_SEED(generator, self._bits(64) if a is None else a, version)

        random.Random.seed = seed_python  # type: ignore[method-assign,assignment]
        random.seed = random._inst.seed  # it was bound to the one before
        vars(time).update(self.clocks())

    def seed(self, seed: int) -> None:
        """Start from ``seed`` (a non-negative integer below 2**64)."""
        words = [seed & 0xFFFFFFFF, seed >> 32]
        np.random.seed(words)
        _PLAIN_SEED(random._inst, seed)
        self._sequence = np.random.SeedSequence(words)
        self._ticks = 0

    def _bits(self, count: int) -> int:
        """Return what the operating system's ``count`` random bits would be."""
        state = self._sequence.spawn(1)[0].generate_state(count // 32 + 1)
        return int.from_bytes(state.tobytes(), "little") % (1 << count)

    def _tick(self, milliseconds: int = 1) -> int:
        self._ticks += milliseconds
        return self._ticks

    def clocks(self) -> dict[str, Callable[..., object]]:
        """Return the functions of ``time``."""

        def sleep(duration: float) -> None:
            self._tick(max(0, int(duration * 1000)))

        kinds = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
        return {
            **dict.fromkeys(kinds, lambda: self._tick() / 1000),
            **{f"{kind}_ns": lambda: self._tick() * 1_000_000 for kind in kinds},
            "sleep": sleep,
        }


_PLAIN_SEED = random.Random.seed
