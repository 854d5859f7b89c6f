"""The usual request, answered in place.

Observations are read where they arrive and actions are written where they leave, so that a
hand-over runs little code and touches little memory: between two of them the environments have
filled the caches, and whatever is touched comes from far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sandbox.frames import ACT_HEAD, HEADER, MAGIC, Kind
from sandbox.inside.pipes import Pipes
from sandbox.inside.policy import Group, PolicyProgram
from sandbox.interface import FloatArray

_SLOTS = HEADER.size + ACT_HEAD.size
_ACTIONS = int(Kind.ACTIONS)


class _Place(NamedTuple):
    """Where a group's observations arrive and its actions leave."""

    group: Group
    rows: list[FloatArray]
    reply: bytearray
    actions: FloatArray


class Acting:
    """Serves ``Kind.ACT`` for one policy program."""

    def __init__(
        self, program: PolicyProgram, pipes: Pipes, watch: Callable[[float], None]
    ) -> None:
        """``watch`` is called with the seconds that the policies may take."""
        self._program = program
        self._pipes = pipes
        self._watch = watch
        self._size = program.task.interface.action.size
        self._seconds = program.task.limits.act_seconds
        self._places: dict[bytes, _Place] = {}
        self._buffer = pipes.buffer

    def forget(self) -> None:
        """The slots have begun other episodes."""
        self._places.clear()

    def answer(self) -> bytearray:
        """The reply to the request at hand."""
        buffer = self._pipes.buffer
        if buffer is not self._buffer:
            self._places.clear()
            self._buffer = buffer
        count, ragged = ACT_HEAD.unpack_from(buffer, HEADER.size)
        end = _SLOTS + 8 * count
        slots = bytes(memoryview(buffer)[_SLOTS:end])
        place = self._places.get(slots)
        if place is None:
            place = self._places[slots] = self._place(slots, count, bool(ragged), end)
        self._watch(self._seconds * count)
        # Copies: a view would lead to the other episodes. All before the first is used: a third
        # faster than each when it is needed.
        rows = self._ragged(count, end) if ragged else list(map(np.ndarray.copy, place.rows))
        self._program.act(place.group, rows, place.actions)
        HEADER.pack_into(
            place.reply, 0, MAGIC, _ACTIONS, self._pipes.sequence, len(place.reply) - HEADER.size
        )
        return place.reply

    def _place(self, slots: bytes, count: int, ragged: bool, start: int) -> _Place:
        reply = bytearray(HEADER.size + 8 * count * self._size)
        actions = np.frombuffer(reply, np.float64, -1, HEADER.size)
        rows = [] if ragged else list(self._numbers(start).reshape(count, -1))
        return _Place(self._program.group(slots), rows, reply, actions)

    def _numbers(self, start: int) -> FloatArray:
        size = (self._pipes.end - start) // 8
        return np.frombuffer(self._buffer, np.float64, size, start)

    def _ragged(self, count: int, start: int) -> list[FloatArray]:
        lengths = np.frombuffer(self._buffer, np.int64, count, start)
        flat = self._numbers(start + 8 * count)
        return [row.copy() for row in np.split(flat, np.cumsum(lengths)[:-1])]
