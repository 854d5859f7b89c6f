"""Policies that act at the same time, each in its own process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from sandbox.errors import BadAction, ProgramError, SandboxError
from sandbox.frames import HEADER, MAGIC, Kind
from sandbox.host.channel import MARK, Channel
from sandbox.host.session import Program, Session
from sandbox.interface import ActionSpace, Box, FloatArray, action_bounds, expected_action

#: The first wait for an answer, which is not counted, in milliseconds.
_FIRST_WAIT = 100


class Acting(Session):
    """A process of a policy program.

    Attributes:
        acts: how often it has acted in its episode.
    """

    def __init__(self, program: Program, channel: Channel, start: bool = True) -> None:
        super().__init__(program, channel, start)
        self.acts = 0


class Together:
    """Policies of one program that act at the same time, each in its own process.

    All are written to before any is waited for. Requests and replies lie in two tables, a row a
    policy, so that what is done to all rows is done at once. Nothing else may be asked of the
    policies while ``act`` runs.

    ``seats``: of each process; rows hold an observation and an action for each, side by side.
    """

    def __init__(self, policies: Sequence[Acting], seats: int = 1) -> None:
        self.policies = list(policies)
        self._channels = [policy.channel for policy in self.policies]
        program, count = self.policies[0].program, len(self.policies)
        interface = program.interface
        self._space = interface.action
        width = interface.observation_size * seats
        size, head = interface.action.size * seats, HEADER.size // 8
        call = program.calls.to(Kind.ACT, 8 * size)
        self._call = replace(call, seconds=call.seconds * seats)
        requests = np.zeros((count, head + width))
        self._observations = requests[:, head:]
        self._heads = requests.view(np.uint32)
        self._heads[:, :4] = MAGIC, Kind.ACT, 0, 8 * width
        # Room for more than a reply shows what follows it.
        replies = np.zeros((count, head + size + 1))
        self._actions = replies[:, head:-1]
        self._tops = replies.view(np.uint32)[:, :4]
        self._wanted = np.array([[MAGIC, Kind.ACTIONS, 0, 8 * size]] * count, np.uint32)
        self._size = HEADER.size + 8 * size
        self._rows = [memoryview(row.data).cast("B") for row in requests]
        self._replies = [memoryview(row.data).cast("B") for row in replies]
        self._bad = bad_rows(self._space) if seats == 1 else lambda _: ()

    def act(self, observations: FloatArray) -> tuple[NDArray[np.float64], dict[int, SandboxError]]:
        """Return actions for observations ``(k, n_obs)``, and errors of policies by row.

        Returns:
            Actions, float64 ``(k, action.size)``: finite, integers in range for discrete spaces; a
            Box is not clipped. Rows of policies that failed mean nothing.
        """
        errors: dict[int, SandboxError] = {}
        self._send(observations, errors)
        self._collect(errors)
        actions = self._actions.copy()
        for row in self._bad(actions):
            if row not in errors:
                # The program's process is not believed to have checked.
                output = self.policies[row].output
                self.policies[row].close()
                errors[row] = bad_action(self._space, actions[row], output)
        for policy in self.policies:
            policy.acts += 1
        for row, error in errors.items():
            self.policies[row].acts -= 1
            if isinstance(error, ProgramError):
                error.step = self.policies[row].acts
        return actions, errors

    def _send(self, observations: FloatArray, errors: dict[int, SandboxError]) -> None:
        self._observations[:] = observations
        channels, now = self._channels, monotonic()
        numbers = []
        for row, channel in enumerate(channels):
            channel.since = now
            channel.sequence = number = channel.sequence + 1 & 0xFFFFFFFF
            numbers.append(number)
            if now - channel.marked > MARK or not channel.alive:
                try:
                    channel.look(self._call)
                except SandboxError as error:
                    errors[row] = error
        self._heads[:, 2] = self._wanted[:, 2] = numbers
        write = os.write
        for row, (channel, message) in enumerate(zip(channels, self._rows, strict=True)):
            if row in errors:
                continue
            try:
                sent = write(channel.writer, message)
            except OSError:
                sent = 0
            if sent < len(message):
                try:
                    channel.write(memoryview(message)[sent:], self._call)
                except SandboxError as error:
                    errors[row] = error

    def _collect(self, errors: dict[int, SandboxError]) -> None:
        size = self._size
        slow = []
        # The last that was written to is mostly the last to answer: one wait, not one a row.
        for row in range(len(self._channels) - 1, -1, -1):
            if row in errors:
                continue
            channel, reply = self._channels[row], self._replies[row]
            got = channel.readinto(reply)
            if got is None and channel.poll.poll(_FIRST_WAIT):
                got = channel.readinto(reply)
            if got != size:
                slow.append((row, got or 0))
        if self._tops.tobytes() != self._wanted.tobytes():
            late = {row for row, _ in slow}
            odd = np.flatnonzero((self._tops != self._wanted).any(axis=1)).tolist()
            slow += [(row, size) for row in odd if row not in late]
        for row, got in slow:
            if row not in errors:
                self._receive(row, got, errors)

    def _receive(self, row: int, got: int, errors: dict[int, SandboxError]) -> None:
        """Take the usual way for a reply that came late, in pieces, or is none."""
        channel, data = self.policies[row].channel, bytes(self._replies[row][:got])
        try:
            body = channel.receive(self._call, data)
        except SandboxError as error:
            errors[row] = error
        else:
            self._replies[row][HEADER.size : self._size] = body


def bad_action(space: ActionSpace, action: FloatArray, output: str = "") -> BadAction:
    """Return the error for numbers ``(size,)`` that are no action."""
    numbers = action[:8].tolist()
    if isinstance(space, Box):
        text = f"act() returned {numbers}: every number of an action must be finite"
    else:
        text = f"act() must return {expected_action(space)}, not {numbers}"
    return BadAction(text, output=output)


def bad_rows(space: ActionSpace) -> Callable[[FloatArray], Sequence[int]]:
    """Return what finds the rows of actions ``(k, size)`` that are no actions."""
    if isinstance(space, Box):

        def not_finite(actions: FloatArray) -> Sequence[int]:
            finite = np.isfinite(actions)
            if np.logical_and.reduce(finite, axis=None):
                return ()
            rows: list[int] = np.flatnonzero(~finite.all(axis=1)).tolist()
            return rows

        return not_finite
    low, high = action_bounds(space)

    def not_legal(actions: FloatArray) -> Sequence[int]:
        # The legal action nearest to each: a whole number in range even for a NaN.
        nearest = np.rint(np.fmin(np.fmax(actions, low), high))
        wrong = actions != nearest
        if not np.logical_or.reduce(wrong, axis=None):
            return ()
        rows: list[int] = np.flatnonzero(wrong.any(axis=1)).tolist()
        return rows

    return not_legal
