"""A policy as the host sees it: it acts in lockstep episodes.

What its generators start from tells nothing of its environment, whose own is a known function of
its seed, and seeds are small numbers that people choose. Were a program's generators started from
the seed itself, or from a hash of it that anybody can compute, the program could read their state,
try all likely seeds, and foretell every draw of the environment. So the hash has a key: with one
that the program cannot know, there is nothing to try. It is taken here, and the seed never crosses.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sandbox import frames, tracing
from sandbox.errors import BadAction, ProgramError, ProtocolError
from sandbox.frames import ACT_HEAD, RESET_HEAD, SLOT_HEAD, FrameError, Kind
from sandbox.host.act_requests import ActRequest, ActRequests, bad_action
from sandbox.host.channel import Channel
from sandbox.host.session import Session
from sandbox.interface import FloatArray, Interface, Limits, Place
from sandbox.tracing import MAX_STEPS, Value

#: One purpose, one function: a number for another purpose is unrelated.
_SLOT = b"policy slot"


def slot_seed(seed: int, key: bytes) -> int:
    """What a slot's generators start from, in 0 .. 2**64 - 1.

    Args:
        seed: of the episode, in 0 .. 2**64 - 1.
        key: at most 64 bytes; the same key and seed give the same number.
    """
    data = int(seed).to_bytes(8, "little")
    digest = hashlib.blake2b(data, digest_size=8, key=key, person=_SLOT).digest()
    return int.from_bytes(digest, "little")


class Policy(Session):
    """A policy program in its own process. After any error it is dead; make a new one.

    Attributes:
        may_trace: its class may name attributes to be traced; only then anything about it is asked.
    """

    role = "policy"

    def __init__(
        self,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...] = (),
        seed_key: bytes = b"",
        places: Sequence[Place] = (),
        prepared: bytes = b"",
    ) -> None:
        super().__init__(
            self.role, channel, source, interface, limits, extra_imports, places, prepared
        )
        self._seed_key = seed_key
        self._pending: deque[ActRequest] = deque()
        self._requests = ActRequests(interface, self._replies)
        self.may_trace = tracing.DECLARATION in source

    def reset(
        self,
        slots: Sequence[int],
        seeds: Sequence[int],
        fresh: bool = True,
        traced: Sequence[int] = (),
    ) -> None:
        """Begin an episode in each slot.

        Args:
            slots: numbers of lockstep episodes, chosen by the caller.
            seeds: one non-negative integer below 2**64 per slot; ``np.random`` and ``random`` of
                that slot start from a keyed hash of it (``Host.policy``: ``seed_key``).
            fresh: make a new object of the policy class. Otherwise keep the slot's object and call
                its ``reset()`` if it has one.
            traced: those of the slots whose ``trace`` will be asked for.

        Raises:
            ProgramError: the program failed.
        """
        if len(slots) != len(seeds):
            raise ValueError(f"{len(slots)} slots and {len(seeds)} seeds")
        hashes = [slot_seed(seed, self._seed_key) for seed in seeds]
        payload = b"".join(
            (
                RESET_HEAD.pack(len(slots), fresh, len(traced)),
                np.asarray(slots, np.int64).tobytes(),
                np.asarray(hashes, np.uint64).tobytes(),
                np.asarray(traced, np.int64).tobytes(),
            )
        )
        self._begin(slots, payload)

    def _begin(self, slots: Sequence[int], payload: bytes) -> None:
        seconds = self._limits.init_seconds * max(1, len(slots))
        expected = self._replies.to(Kind.RESET, slots=slots)
        self._request(Kind.RESET, payload, expected, seconds, "making the policy object")
        self._requests.begin(slots)

    def trace(self, slot: int) -> dict[str, tuple[Value, ...]]:
        """What the attributes that the program's ``TRACE`` names were after each act of an episode.

        Returns:
            By name, as many values as the slot has acted; empty where nothing is named, or the slot
            was not to be traced. None stands for what is no number and no short string.

        Raises:
            ProgramError: the program failed, or its process answers with something else.
        """
        if not self.may_trace:
            return {}
        acts = self._requests.steps(slot)
        steps = min(acts, MAX_STEPS)
        expected = self._replies.to(Kind.TRACE, tracing.longest(steps))
        payload, seconds = SLOT_HEAD.pack(slot), self._limits.act_seconds
        reply = self._request(Kind.TRACE, payload, expected, seconds, "reading the trace")
        try:
            found = tracing.parse(reply, steps)
        except FrameError as error:
            self.close()
            raise ProtocolError(f"the program broke the protocol: {error}") from None
        return {name: (*values, *(None,) * (acts - steps)) for name, values in found.items()}

    def act(
        self, slots: Sequence[int], observations: FloatArray | Sequence[FloatArray]
    ) -> NDArray[np.float64]:
        """Actions for k lockstep episodes, in one hand-over.

        Args:
            slots: the k episodes, each reset before.
            observations: float64 ``(k, n_obs)``; for ragged observations
                (``observation_size=None``) k vectors of any lengths.

        Returns:
            float64 ``(k, action.size)``, finite, integers in range for discrete spaces; a Box is
            not clipped.

        Raises:
            ProgramError: the program failed.
        """
        self.begin(slots, observations)
        return self.finish()

    def begin(self, slots: Sequence[int], observations: FloatArray | Sequence[FloatArray]) -> None:
        """First half of ``act``: returns at once, so that the caller can step other episodes.

        A second ``begin``, for other slots, may come before the first ``finish``: then the process
        never waits for work. Nothing else may be asked of this policy in between.
        """
        request = self._requests.get(tuple(slots))
        message = request.message
        if self._interface.observation_size is None:
            message = self._ragged(slots, observations)
        else:
            table = np.asarray(observations, np.float64)
            if table.shape != request.table.shape:
                raise ValueError(
                    f"observations have shape {table.shape}, not {request.table.shape}"
                )
            request.table[:] = table
        seconds = self._limits.act_seconds * len(slots)
        self._channel.send(Kind.ACT, message, request.expected, seconds, "act()")
        self._pending.append(request)

    def finish(self) -> NDArray[np.float64]:
        """Second half of ``act``: waits for the actions of the oldest ``begin``."""
        request = self._receive()
        bad = request.check()
        if bad is not None:
            raise self._bad_action(request, bad)
        request.acts += 1
        return request.actions.copy()

    def _receive(self) -> ActRequest:
        """The oldest ``begin``, with the numbers that came in reply, not looked at yet."""
        request = self._pending.popleft()
        try:
            self._channel.receive_into(request.reply)
        except ProgramError as error:
            self._output = error.output or self._output
            self._locate(error, request)
            raise
        return request

    def _bad_action(self, request: ActRequest, row: int) -> BadAction:
        """Found here and not by the program's process, which is not believed in any case."""
        if not self._pending:
            _ = self.output
        self.close()
        text = bad_action(request.actions[row], self._interface.action)
        error = BadAction(text, slot=request.slots[row], output=self._output)
        self._locate(error, request)
        return error

    def _locate(self, error: ProgramError, request: ActRequest) -> None:
        """Add the number of the act, where the process has named a slot that it was asked for."""
        if error.slot is not None and error.slot in request.slots:
            error.place(self._requests.steps(error.slot))

    @staticmethod
    def _ragged(slots: Sequence[int], observations: FloatArray | Sequence[FloatArray]) -> bytearray:
        rows = [np.asarray(row, np.float64).ravel() for row in observations]
        if len(rows) != len(slots):
            raise ValueError(f"{len(slots)} slots and {len(rows)} observations")
        parts = (
            ACT_HEAD.pack(len(slots), 1),
            np.asarray(slots, np.int64).tobytes(),
            np.array([row.size for row in rows], np.int64).tobytes(),
            np.concatenate(rows).tobytes(),
        )
        return frames.message(b"".join(parts))
