"""A policy whose process counts in how many acts each line of its program runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sandbox.errors import ProtocolError
from sandbox.frames import LINE_HITS, FrameError, Kind
from sandbox.host.policy import Policy

_SECONDS = 1.0


class CountingPolicy(Policy):
    """A policy for looking at: it acts in one slot at a time, and several times slower."""

    role = "counting"
    _acts = 0

    def finish(self) -> NDArray[np.float64]:
        """As for any policy; acts are counted here too, to hold the program's process to it."""
        actions = super().finish()
        self._acts += 1
        return actions

    def line_hits(self) -> tuple[tuple[int, int], ...]:
        """Each line that has run, in order, and in how many acts; 0: only outside of them.

        The process is not believed beyond what can be: some lines of the program, each once and in
        no more acts than there were.

        Raises:
            ProgramError: the program failed, or its process answers with something else.
        """
        expected = self._replies.to(Kind.LINES)
        reply = self._request(Kind.LINES, b"", expected, _SECONDS, "reading the counts of lines")
        try:
            return _parsed(reply, expected.lines, self._acts)
        except FrameError as error:
            self.close()
            raise ProtocolError(f"the program broke the protocol: {error}") from None


def _parsed(reply: memoryview, lines: int, acts: int) -> tuple[tuple[int, int], ...]:
    if len(reply) % LINE_HITS.size:
        raise FrameError("the counts of lines are cut off")
    found: tuple[tuple[int, int], ...] = tuple(LINE_HITS.iter_unpack(reply))
    before = 0
    for line, hits in found:
        if not before < line <= lines or hits > acts:
            raise FrameError(f"line {line} cannot have run in {hits} of {acts} acts")
        before = line
    return found
