"""A policy program whose lines are counted: in how many acts each of them ran.

The interpreter's own trace function does it, set before the program's first line runs; a program
has no way to it. It takes several times as long as running the program, so it is for episodes that
are played again to be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from sandbox.frames import LINE_HITS
from sandbox.inside.policy import Group, PolicyProgram
from sandbox.inside.program import NONE
from sandbox.interface import FloatArray
from sandbox.language import FILENAME, Randomness


class CountingProgram(PolicyProgram):
    """A policy program that counts; acts are hand-overs, so one slot at a time should act."""

    def load(
        self,
        randomness: Randomness,
        class_name: str,
        method: str,
        constants: Mapping[str, float] = NONE,
    ) -> type[Any]:
        """As for any program; what runs meanwhile counts as reached, in no act."""
        self._count()
        cls = super().load(randomness, class_name, method, constants)
        self._settle(0)
        return cls

    def reset(self, slots: Sequence[int], seeds: Sequence[int], fresh: bool) -> None:
        """As for any policy; what runs meanwhile counts as reached, in no act."""
        self._count()
        super().reset(slots, seeds, fresh)
        self._settle(0)

    def act(self, group: Group, rows: Sequence[FloatArray], actions: FloatArray) -> None:
        """As for any policy; the lines that run count once."""
        self._count()
        super().act(group, rows, actions)
        self._settle(1)

    def lines(self) -> bytes:
        """Each line that has run, in order, and in how many acts."""
        return b"".join(LINE_HITS.pack(*pair) for pair in sorted(self._hits.items()))

    def _count(self) -> None:
        """Count from here on.

        A recursion that is too deep for the trace function ends it, for the rest of that act.
        """
        if sys.gettrace() is not None:
            return
        if not hasattr(self, "_hits"):
            self._hits: dict[int, int] = {}
            self._seen = set[int]()
        seen = self._seen.add

        def line(frame: FrameType, event: str, _: object) -> object:
            if event == "line":
                seen(frame.f_lineno)
            return line

        def enter(frame: FrameType, event: str, _: object) -> object:
            return line if frame.f_code.co_filename == FILENAME else None

        sys.settrace(enter)  # type: ignore[arg-type]

    def _settle(self, acts: int) -> None:
        for number in self._seen:
            self._hits[number] = self._hits.get(number, 0) + acts
        self._seen.clear()
