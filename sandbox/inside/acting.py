"""The usual request, answered in buffers.

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


class _Buffers(NamedTuple):
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
        self._cache: dict[bytes, _Buffers] = {}
        self._buffer = pipes.buffer

    def forget(self) -> None:
        """The slots have begun other episodes."""
        self._cache.clear()

    def answer(self) -> bytearray:
        """The reply to the request at hand."""
        buffer = self._pipes.buffer
        if buffer is not self._buffer:
            self._cache.clear()
            self._buffer = buffer
        count, ragged = ACT_HEAD.unpack_from(buffer, HEADER.size)
        end = _SLOTS + 8 * count
        slots = bytes(memoryview(buffer)[_SLOTS:end])
        buffers = self._cache.get(slots)
        if buffers is None:
            buffers = self._cache[slots] = self._new(slots, count, bool(ragged), end)
        self._watch(self._seconds * count)
        # Copies: a view would lead to the other episodes. All before the first is used: a third
        # faster than each when it is needed.
        rows = self._ragged(count, end) if ragged else list(map(np.ndarray.copy, buffers.rows))
        self._program.act(buffers.group, rows, buffers.actions)
        HEADER.pack_into(
            buffers.reply,
            0,
            MAGIC,
            _ACTIONS,
            self._pipes.sequence,
            len(buffers.reply) - HEADER.size,
        )
        return buffers.reply

    def _new(self, slots: bytes, count: int, ragged: bool, start: int) -> _Buffers:
        reply = bytearray(HEADER.size + 8 * count * self._size)
        actions = np.frombuffer(reply, np.float64, -1, HEADER.size)
        rows = [] if ragged else list(self._numbers(start).reshape(count, -1))
        return _Buffers(self._program.group(slots), rows, reply, actions)

    def _numbers(self, start: int) -> FloatArray:
        size = (self._pipes.end - start) // 8
        return np.frombuffer(self._buffer, np.float64, size, start)

    def _ragged(self, count: int, start: int) -> list[FloatArray]:
        lengths = np.frombuffer(self._buffer, np.int64, count, start)
        flat = self._numbers(start + 8 * count)
        return [row.copy() for row in np.split(flat, np.cumsum(lengths)[:-1])]
