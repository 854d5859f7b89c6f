"""Requests to act and their replies, kept ready in place, and the check of the actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sandbox import frames
from sandbox.frames import ACT_HEAD, HEADER, Kind
from sandbox.host.replies import ExpectedReplies, ExpectedReply
from sandbox.interface import (
    ActionSpace,
    Box,
    FloatArray,
    Interface,
    action_bounds,
    expected_action,
)

_MAX_CACHED = 64

#: Index of the first row of the actions that is no action, or None.
Check = Callable[[], int | None]


@dataclass(slots=True)
class ActRequest:
    """A request to act for certain slots and its reply.

    Observations go into ``table`` (k, n), a part of ``message``; ``actions`` (k, m) are a part of
    ``reply``, which has room for a byte that must not come. ``check`` looks at them. ``acts``: how
    often, since the reset.
    """

    slots: tuple[int, ...]
    expected: ExpectedReply
    message: bytearray
    table: FloatArray
    reply: bytearray
    actions: FloatArray
    check: Check
    acts: int = 0


class ActRequests:
    """Those of one program, by slots: the same slots act together again and again."""

    def __init__(self, interface: Interface, replies: ExpectedReplies) -> None:
        self._width = interface.observation_size or 0
        self._space = interface.action
        self._replies = replies
        self._cache: dict[tuple[int, ...], ActRequest] = {}
        #: Acts of each slot that its requests do not count any more.
        self._steps: dict[int, int] = {}

    def get(self, slots: tuple[int, ...]) -> ActRequest:
        """The request for these slots."""
        request = self._cache.get(slots)
        if request is None:
            if len(self._cache) >= _MAX_CACHED:
                self._settle()
                self._cache.clear()
            request = self._cache[slots] = self._new(slots)
        return request

    def begin(self, slots: Sequence[int]) -> None:
        """Episodes begin in these slots: their acts count from 0."""
        self._settle()
        self._steps.update(dict.fromkeys(slots, 0))

    def steps(self, slot: int) -> int:
        """How often the slot has acted in its episode."""
        self._settle()
        return self._steps.get(slot, 0)

    def _settle(self) -> None:
        for request in self._cache.values():
            for slot in request.slots:
                self._steps[slot] = self._steps.get(slot, 0) + request.acts
            request.acts = 0

    def _new(self, slots: tuple[int, ...]) -> ActRequest:
        count, width, size = len(slots), self._width, self._space.size
        head = ACT_HEAD.pack(count, 0) + np.asarray(slots, np.int64).tobytes()
        message = frames.message(head + bytes(8 * count * width))
        table = np.frombuffer(message, np.float64, -1, HEADER.size + len(head))
        reply = bytearray(HEADER.size + 8 * count * size + 1)
        flat = np.frombuffer(reply, np.float64, count * size, HEADER.size)
        actions = flat.reshape(count, size)
        return ActRequest(
            slots,
            self._replies.to(Kind.ACT, actions.nbytes, slots),
            message,
            table.reshape(count, width),
            reply,
            actions,
            action_check(self._space, actions, reply, HEADER.size),
        )


def action_check(space: ActionSpace, actions: FloatArray, reply: bytearray, start: int) -> Check:
    """A look at actions ``(k, size)``, which lie in ``reply`` from byte ``start``.

    No process is believed that it has converted them.
    """
    if isinstance(space, Box):
        return lambda: _first_not_finite(actions)
    legal = bytearray(actions.nbytes)
    nearest = np.frombuffer(legal, np.float64).reshape(actions.shape)
    low, high = (np.broadcast_to(x, actions.shape).copy() for x in action_bounds(space))
    fmax, fmin, rint = np.fmax, np.fmin, np.rint

    def first_not_legal() -> int | None:
        # The legal action nearest to each: a whole number in range even for a NaN. As fast as a
        # look at whether they are finite.
        fmax(actions, low, nearest)
        fmin(nearest, high, nearest)
        rint(nearest, nearest)
        if reply.startswith(legal, start):
            return None
        return next(iter(np.flatnonzero((actions != nearest).any(axis=1)).tolist()), None)

    return first_not_legal


def _first_not_finite(rows: FloatArray) -> int | None:
    if np.logical_and.reduce(np.isfinite(rows), axis=None):
        return None
    return int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])


def bad_action(row: FloatArray, space: ActionSpace) -> str:
    """What is wrong with the numbers of an action that did not pass the check."""
    shown = [float(x) for x in row][:8]
    if isinstance(space, Box):
        return f"act() returned {shown}: every number of an action must be finite"
    return f"act() must return {expected_action(space)}, not {shown}"
