"""Programs as the host sees them: a policy that acts, a summarizer that writes."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sandbox import frames
from sandbox.actions import first_not_finite
from sandbox.channel import Buffer, Channel
from sandbox.child import ACT_HEAD, EPISODE_HEAD, RESET_HEAD
from sandbox.errors import ProgramError, ProtocolError
from sandbox.frames import Kind
from sandbox.interface import Episode, FloatArray, Interface, Limits, action_as_dict

_OUTPUT_SECONDS = 1.0
_MAX_PREFIXES = 64


class _Session:
    """What both kinds of program share."""

    def __init__(
        self,
        role: str,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...],
    ) -> None:
        self._channel = channel
        self._interface = interface
        self._limits = limits
        self._output = ""
        task = {
            "role": role,
            "source": source,
            "interface": {**asdict(interface), "action": action_as_dict(interface.action)},
            "limits": asdict(limits),
            "extra_imports": extra_imports,
        }
        data = json.dumps(task).encode()
        self._request(Kind.START, data, Kind.DONE, limits.init_seconds, "loading the program", 0)

    def _request(
        self, kind: Kind, payload: bytes, expect: Kind, seconds: float, what: str, size: int | None
    ) -> memoryview:
        self._send(kind, (payload,), seconds, what)
        return self._receive(expect, size)

    def _send(self, kind: Kind, parts: Sequence[Buffer], seconds: float, what: str) -> None:
        self._channel.send(kind, parts, seconds, what)

    def _receive(self, expect: Kind, size: int | None) -> memoryview:
        try:
            return self._channel.receive(expect, size)
        except ProgramError as error:
            self._output = error.output or self._output
            raise

    @property
    def output(self) -> str:
        """What the program has printed, capped, with a note where it was cut."""
        if self._channel.alive:
            try:
                reply = self._request(
                    Kind.OUTPUT, b"", Kind.TEXT, _OUTPUT_SECONDS, "reading the output", None
                )
            except ProgramError:
                return self._output
            self._output = frames.clean(bytes(reply))
        return self._output

    def close(self) -> None:
        """End the process; calling it twice is harmless."""
        self._channel.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Policy(_Session):
    """A policy program in its own process. After any error it is dead; make a new one."""

    def __init__(
        self,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...] = (),
    ) -> None:
        super().__init__("policy", channel, source, interface, limits, extra_imports)
        self._size = interface.action.size
        self._asked: deque[int] = deque()
        self._prefixes: dict[tuple[int, ...], bytes] = {}

    def reset(self, slots: Sequence[int], seeds: Sequence[int], fresh: bool = True) -> None:
        """Begin an episode in each slot.

        Args:
            slots: numbers of lockstep episodes, chosen by the caller.
            seeds: one non-negative integer below 2**64 per slot; ``np.random`` and ``random`` of
                that slot start from it.
            fresh: make a new object of the policy class. Otherwise keep the slot's object and call
                its ``reset()`` if it has one.

        Raises:
            ProgramError: the program failed.
        """
        if len(slots) != len(seeds):
            raise ValueError(f"{len(slots)} slots and {len(seeds)} seeds")
        payload = b"".join(
            (
                RESET_HEAD.pack(len(slots), fresh),
                np.asarray(slots, np.int64).tobytes(),
                np.asarray(seeds, np.uint64).tobytes(),
            )
        )
        seconds = self._limits.init_seconds * max(1, len(slots))
        self._request(Kind.RESET, payload, Kind.DONE, seconds, "making the policy object", 0)

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
        count = len(slots)
        key = tuple(slots)
        if self._interface.observation_size is None:
            parts = self._ragged(key, observations)
        else:
            table = np.ascontiguousarray(observations, np.float64)
            if table.shape != (count, self._interface.observation_size):
                expected = (count, self._interface.observation_size)
                raise ValueError(f"observations have shape {table.shape}, not {expected}")
            parts = [self._prefix(key), table.data.cast("B") if table.size else b""]
        self._send(Kind.ACT, parts, self._limits.act_seconds * count, "act()")
        self._asked.append(count)

    def finish(self) -> NDArray[np.float64]:
        """Second half of ``act``: waits for the actions of the oldest ``begin``."""
        count = self._asked.popleft()
        reply = self._receive(Kind.ACTIONS, 8 * count * self._size)
        actions = np.frombuffer(reply, np.float64).reshape(count, self._size).copy()
        if first_not_finite(actions) is not None:
            self.close()
            raise ProtocolError("the program broke the protocol: an action is not finite")
        return actions

    def _prefix(self, slots: tuple[int, ...]) -> bytes:
        """What precedes the numbers; the same slots come again and again."""
        found = self._prefixes.get(slots)
        if found is None:
            if len(self._prefixes) >= _MAX_PREFIXES:
                self._prefixes.clear()
            found = ACT_HEAD.pack(len(slots), 0) + np.asarray(slots, np.int64).tobytes()
            self._prefixes[slots] = found
        return found

    @staticmethod
    def _ragged(
        slots: tuple[int, ...], observations: FloatArray | Sequence[FloatArray]
    ) -> list[bytes | memoryview]:
        rows = [np.asarray(row, np.float64).ravel() for row in observations]
        if len(rows) != len(slots):
            raise ValueError(f"{len(slots)} slots and {len(rows)} observations")
        return [
            ACT_HEAD.pack(len(slots), 1),
            np.asarray(slots, np.int64).tobytes(),
            np.array([row.size for row in rows], np.int64).tobytes(),
            np.concatenate(rows).tobytes(),
        ]


class Summarizer(_Session):
    """A feedback program in its own process; one ``Feedback`` object serves all its episodes."""

    def __init__(
        self,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...] = (),
    ) -> None:
        super().__init__("feedback", channel, source, interface, limits, extra_imports)

    def summarize(self, episode: Episode) -> str:
        """The program's text about one episode, capped at ``limits.text_chars``.

        Raises:
            ProgramError: the program failed.
        """
        success = -1 if episode.success is None else int(episode.success)
        head = EPISODE_HEAD.pack(
            len(episode.rewards),
            episode.observations.shape[1],
            episode.actions.shape[1],
            episode.terminated,
            episode.truncated,
            success,
        )
        arrays = (episode.observations, episode.actions, episode.rewards)
        payload = head + b"".join(array.tobytes() for array in arrays)
        reply = self._request(
            Kind.SUMMARIZE,
            payload,
            Kind.TEXT,
            self._limits.act_seconds,
            "summarize_trajectory()",
            None,
        )
        return frames.clean(bytes(reply))
