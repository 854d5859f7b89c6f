"""A program as the host sees it, and the kind of it that writes summaries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Self

from sandbox import frames, tracing
from sandbox.errors import ProgramError
from sandbox.frames import EPISODE_HEAD, Kind
from sandbox.host.channel import Channel
from sandbox.host.replies import ExpectedReplies, ExpectedReply
from sandbox.interface import Episode, Interface, Limits, Place, action_as_dict

_OUTPUT_SECONDS = 0.1


class Session:
    """What policies and summarizers share: a program in a process, and what it prints."""

    def __init__(
        self,
        role: str,
        channel: Channel,
        source: str,
        interface: Interface,
        limits: Limits,
        extra_imports: tuple[str, ...],
        places: Sequence[Place] = (),
        prepared: bytes = b"",
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
            "places": places,
        }
        data = json.dumps(task).encode()
        self._replies = ExpectedReplies(source, limits)
        expected = self._replies.to(Kind.START)
        try:
            if prepared:
                self._give(prepared)
            self._request(Kind.START, data, expected, limits.init_seconds, "loading the program")
        except BaseException:
            channel.kill()
            raise

    def _give(self, prepared: bytes) -> None:
        seconds, what = self._limits.init_seconds, "taking what was prepared"
        self._request(Kind.GIVE, prepared, self._replies.to(Kind.GIVE), seconds, what)

    def _request(
        self, kind: Kind, payload: bytes, expected: ExpectedReply, seconds: float, what: str
    ) -> memoryview:
        try:
            return self._channel.request(kind, payload, expected, seconds, what)
        except ProgramError as error:
            self._output = error.output or self._output
            raise

    @property
    def pid(self) -> int:
        """Process id of the program's process."""
        return self._channel.pid

    @property
    def output(self) -> str:
        """What the program has printed, capped, with a note where it was cut."""
        if self._channel.alive:
            try:
                expected = self._replies.to(Kind.OUTPUT)
                what = "reading the output"
                reply = self._request(Kind.OUTPUT, b"", expected, _OUTPUT_SECONDS, what)
            except ProgramError:
                return self._output
            self._output = frames.clean(reply, self._replies.output_chars)
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


class Summarizer(Session):
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
        trace = tracing.pack({n: tracing.Column(v) for n, v in episode.trace.items()})
        payload = b"".join([head, *(array.tobytes() for array in arrays), trace])
        reply = self._request(
            Kind.SUMMARIZE,
            payload,
            self._replies.to(Kind.SUMMARIZE),
            self._limits.act_seconds,
            "summarize_trajectory()",
        )
        return frames.clean(reply, self._replies.text_chars)
