"""Policies as the host sees them: each process plays one episode at a time.

What a policy's generators start from tells nothing of its environment, whose own is a known
function of its seed, and seeds are small numbers that people choose. Were a program's generators
started from the seed itself, or from a hash of it that anybody can compute, the program could read
their state, try all likely seeds, and foretell every draw of the environment. So the hash has a
key: with one that the program cannot know, there is nothing to try. It is taken here, and the seed
never crosses.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from sandbox import frames, tracing
from sandbox.errors import BadAction, ProgramError, SandboxError
from sandbox.frames import BEGIN_HEAD, HEADER, LINE_HITS, MAGIC, FrameError, Kind
from sandbox.host.channel import MARK, Call, Channel
from sandbox.host.session import Program, Session
from sandbox.interface import ActionSpace, Box, FloatArray, action_bounds, expected_action
from sandbox.tracing import MAX_STEPS, Value

#: One purpose, one function: a number for another purpose is unrelated.
_EPISODE = b"policy slot"
#: The first wait for an answer, which is not counted, in milliseconds.
_FIRST_WAIT = 100


def episode_seed(seed: int, key: bytes) -> int:
    """Return what a policy's generators start from, in 0 .. 2**64 - 1.

    Args:
        seed: of the episode, in 0 .. 2**64 - 1.
        key: at most 64 bytes; the same key and seed give the same number.
    """
    data = int(seed).to_bytes(8, "little")
    digest = hashlib.blake2b(data, digest_size=8, key=key, person=_EPISODE).digest()
    return int.from_bytes(digest, "little")


class Policy(Session):
    """A policy program in a process of its own, which plays one episode at a time.

    After any error it is dead; make a new one.

    Attributes:
        may_trace: its class may name attributes to be traced; only then anything about it is asked.
        acts: how often it has acted in its episode.
        lives: how many policy objects it has made.
    """

    def __init__(self, program: Program, channel: Channel) -> None:
        super().__init__(program, channel)
        self.may_trace = tracing.DECLARATION in program.source
        self.acts = self.lives = self._acts_before = 0

    def begin(
        self,
        seed: int,
        *,
        fresh: bool = True,
        traced: bool = False,
        constants: Sequence[float] = (),
    ) -> None:
        """Begin an episode.

        Args:
            seed: below 2**64, not negative; ``np.random`` and ``random`` start from a keyed hash
                of it (``Host.policy``: ``seed_key``).
            fresh: execute the module anew and make a new object of its policy class, with all of
                ``Limits.total_seconds``. Otherwise keep the object and call its ``reset()`` if it
                has one.
            traced: ``trace`` will be asked for.
            constants: the values at the program's places, all finite.

        Raises:
            ProgramError: the program failed.
            ValueError: another number of constants, or some are not finite.
        """
        values = np.asarray(constants, np.float64)
        if values.shape != (len(self.program.places),) or not np.isfinite(values).all():
            raise ValueError(f"{len(self.program.places)} finite constants are needed")
        if fresh and self.channel.alive:
            self.channel.renew()
        number = episode_seed(seed, self.program.seed_key)
        payload = BEGIN_HEAD.pack(number, fresh, traced) + values.tobytes()
        self.ask(
            Kind.BEGIN,
            payload,
            0,
            self.program.limits.init_seconds,
            "making the policy object",
        )
        self.lives += bool(fresh)
        self._acts_before += self.acts
        self.acts = 0

    def act(self, observation: FloatArray) -> NDArray[np.float64]:
        """Return the action, float64 ``(action.size,)``, for an observation ``(n,)``.

        It is finite, and of integers in range for discrete spaces; a Box is not clipped.

        Raises:
            ProgramError: the program failed.
        """
        actions, errors = self._alone.act([observation])
        for error in errors.values():
            raise error
        action: NDArray[np.float64] = actions[0]
        return action

    @cached_property
    def _alone(self) -> Together:
        return Together([self])

    def trace(self) -> dict[str, tuple[Value, ...]]:
        """Return what the attributes that ``TRACE`` names were after each act of the episode.

        By name, as many values as there were acts; empty where nothing is named, or the episode
        was not to be traced. None stands for what is no number and no short string.

        Raises:
            ProgramError: the program failed, or its process answers with something else.
        """
        if not self.may_trace:
            return {}
        steps = min(self.acts, MAX_STEPS)
        seconds = self.program.limits.act_seconds
        reply = self.ask(Kind.TRACE, b"", tracing.longest(steps), seconds, "reading the trace")
        found = self.parsed(lambda: tracing.parse(reply, steps))
        missing = (None,) * (self.acts - steps)
        return {name: (*values, *missing) for name, values in found.items()}

    def line_hits(self) -> tuple[tuple[int, int], ...]:
        """Return each line that has run, in order, and in how many acts; 0: only outside of them.

        For programs of the role "counting". The process is not believed beyond what can be:
        some lines of the program, each once and in no more acts than there were.

        Raises:
            ProgramError: the program failed, or its process answers with something else.
        """
        reply = self.ask(Kind.LINES, b"", 0, 1.0, "reading the counts of lines")
        lines, acts = self.program.replies.lines, self._acts_before + self.acts
        return self.parsed(lambda: _line_hits(reply, lines, acts))


def _line_hits(reply: memoryview, lines: int, acts: int) -> tuple[tuple[int, int], ...]:
    if len(reply) % LINE_HITS.size:
        raise FrameError("the counts of lines are cut off")
    found: tuple[tuple[int, int], ...] = tuple(LINE_HITS.iter_unpack(reply))
    before = 0
    for line, hits in found:
        if not before < line <= lines or hits > acts:
            raise FrameError(f"line {line} cannot have run in {hits} of {acts} acts")
        before = line
    return found


class Together:
    """Policies of one program that act at the same time, each in its own process.

    All are written to before any is waited for. Requests and replies lie in two tables, a row a
    policy, so that what is done to all rows is done at once. Nothing else may be asked of the
    policies while ``act`` runs.
    """

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.policies = list(policies)
        self._channels = [policy.channel for policy in self.policies]
        program, count = self.policies[0].program, len(self.policies)
        interface = program.interface
        self._width, self._space = interface.observation_size, interface.action
        size, head = interface.action.size, HEADER.size // 8
        self._call = Call(
            "act()", program.limits.act_seconds, program.replies.to(Kind.ACT, 8 * size)
        )
        requests = np.zeros((count, head + (self._width or 0)))
        self._observations = requests[:, head:]
        self._heads = requests.view(np.uint32)
        self._heads[:, :4] = MAGIC, Kind.ACT, 0, 8 * (self._width or 0)
        # Room for more than a reply shows what follows it.
        replies = np.zeros((count, head + size + 1))
        self._actions = replies[:, head:-1]
        self._tops = replies.view(np.uint32)[:, :4]
        self._wanted = np.array([[MAGIC, Kind.ACTIONS, 0, 8 * size]] * count, np.uint32)
        self._size = HEADER.size + 8 * size
        self._rows = [memoryview(row.data).cast("B") for row in requests]
        self._replies = [memoryview(row.data).cast("B") for row in replies]
        self._bad = _bad_rows(self._space)

    def act(
        self, observations: FloatArray | Sequence[FloatArray]
    ) -> tuple[NDArray[np.float64], dict[int, SandboxError]]:
        """Return actions for observations, and the errors of policies that failed, by row.

        Args:
            observations: float64 ``(k, n_obs)``; for ragged observations
                (``observation_size=None``) k vectors of any lengths.

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
                errors[row] = self._bad_action(row)
        for policy in self.policies:
            policy.acts += 1
        for row, error in errors.items():
            self._settle(row, error)
        return actions, errors

    def _send(
        self, observations: FloatArray | Sequence[FloatArray], errors: dict[int, SandboxError]
    ) -> None:
        rows: Sequence[bytes | memoryview] = self._rows
        if self._width is not None:
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
        if self._width is None:
            rows = [_message(n, o) for n, o in zip(numbers, observations, strict=True)]
        write = os.write
        for row, (channel, message) in enumerate(zip(channels, rows, strict=True)):
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
        for row, (channel, reply) in enumerate(zip(self._channels, self._replies, strict=True)):
            if row in errors:
                continue
            got = channel.readinto(reply)
            if got is None and channel.poll.poll(_FIRST_WAIT):
                got = channel.readinto(reply)
            if got != size:
                slow.append((row, got or 0))
        if self._tops.tobytes() != self._wanted.tobytes():
            known = {row for row, _ in slow}
            odd = np.flatnonzero((self._tops != self._wanted).any(axis=1)).tolist()
            slow += [(row, size) for row in odd if row not in known]
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

    def _bad_action(self, row: int) -> BadAction:
        """Return the error for an action; the program's process is not believed to have checked."""
        policy = self.policies[row]
        output = policy.output
        policy.close()
        shown = [float(x) for x in self._actions[row]][:8]
        if isinstance(self._space, Box):
            text = f"act() returned {shown}: every number of an action must be finite"
        else:
            text = f"act() must return {expected_action(self._space)}, not {shown}"
        return BadAction(text, output=output)

    def _settle(self, row: int, error: SandboxError) -> None:
        """Say which act it was in; it does not count."""
        policy = self.policies[row]
        policy.acts -= 1
        if isinstance(error, ProgramError):
            error.step = policy.acts


def _message(sequence: int, observation: FloatArray) -> bytes:
    data = np.asarray(observation, np.float64).tobytes()
    return frames.header(Kind.ACT, sequence, len(data)) + data


def _bad_rows(space: ActionSpace) -> Callable[[FloatArray], Sequence[int]]:
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
