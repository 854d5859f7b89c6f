"""Requests to act, kept ready to be filled in, and how often each episode has acted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sandbox import frames
from sandbox.acting import ACT_HEAD
from sandbox.actions import Check, check
from sandbox.answers import Answer, Answers
from sandbox.frames import HEADER, Kind
from sandbox.interface import FloatArray, Interface

_MAX_FORMS = 64


@dataclass(slots=True)
class Form:
    """A request to act for certain slots and its reply, both in place.

    Observations go into ``table`` (k, n), a part of ``message``; ``actions`` (k, m) are a part of
    ``reply``, which has room for a byte that must not come. ``check`` looks at them. ``acts``: how
    often, since the reset.
    """

    slots: tuple[int, ...]
    answer: Answer
    message: bytearray
    table: FloatArray
    reply: bytearray
    actions: FloatArray
    check: Check
    acts: int = 0


class Forms:
    """The forms of one program: the same slots act together again and again."""

    def __init__(self, interface: Interface, answers: Answers) -> None:
        self._width = interface.observation_size or 0
        self._space = interface.action
        self._answers = answers
        self._forms: dict[tuple[int, ...], Form] = {}
        #: Acts of each slot that its forms do not count any more.
        self._steps: dict[int, int] = {}

    def get(self, slots: tuple[int, ...]) -> Form:
        """The form for these slots."""
        found = self._forms.get(slots)
        if found is None:
            if len(self._forms) >= _MAX_FORMS:
                self._settle()
                self._forms.clear()
            found = self._forms[slots] = self._new(slots)
        return found

    def begin(self, slots: Sequence[int]) -> None:
        """Episodes begin in these slots: their acts count from 0."""
        self._settle()
        self._steps.update(dict.fromkeys(slots, 0))

    def steps(self, slot: int) -> int:
        """How often the slot has acted in its episode."""
        self._settle()
        return self._steps.get(slot, 0)

    def _settle(self) -> None:
        for form in self._forms.values():
            for slot in form.slots:
                self._steps[slot] = self._steps.get(slot, 0) + form.acts
            form.acts = 0

    def _new(self, slots: tuple[int, ...]) -> Form:
        count, width, size = len(slots), self._width, self._space.size
        head = ACT_HEAD.pack(count, 0) + np.asarray(slots, np.int64).tobytes()
        message = frames.message(head + bytes(8 * count * width))
        table = np.frombuffer(message, np.float64, -1, HEADER.size + len(head))
        reply = bytearray(HEADER.size + 8 * count * size + 1)
        flat = np.frombuffer(reply, np.float64, count * size, HEADER.size)
        actions = flat.reshape(count, size)
        return Form(
            slots,
            self._answers.to(Kind.ACT, actions.nbytes, slots),
            message,
            table.reshape(count, width),
            reply,
            actions,
            check(self._space, actions, reply, HEADER.size),
        )
