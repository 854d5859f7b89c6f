"""The host's end of one sandboxed process: requests, their limits, and their answers."""

from __future__ import annotations

import math
from collections import deque
from itertools import islice
from time import monotonic
from typing import NamedTuple, NoReturn

from sandbox import frames
from sandbox.errors import (
    ProcessDied,
    ProgramError,
    ProtocolError,
    SandboxError,
    SandboxFailed,
    TimeLimit,
)
from sandbox.frames import HEADER, FrameError, Kind
from sandbox.host.clock import Exhausted, Patience, Stalled
from sandbox.host.process import Process
from sandbox.host.replies import READY, ExpectedReply
from sandbox.host.wire import Wire
from sandbox.interface import Limits

#: Processor time that being locked down may take, in seconds.
_READY_SECONDS = 5.0
#: So many times its limit of processor time, and Limits.wall_seconds, may a call take in wall time.
_WALL = 10
#: How much more processor time than its limit a call may take, in seconds: for the process to
#: report the line that was running (``inside.watchdog``).
_GRACE = 0.25
#: How often the clock of a process is read while it answers quickly, in seconds.
_MARK = 0.1
#: The first wait for an answer, which is not counted, in milliseconds.
_FIRST_WAIT = 100

_FAILURES = (Exhausted, Stalled, FrameError, EOFError)


class _Request(NamedTuple):
    """A request under way; ``allowed`` is processor time in seconds."""

    sequence: int
    what: str
    allowed: float
    expected: ExpectedReply


class Channel:
    """Owns one sandboxed process and the pipes to it."""

    def __init__(self, process: Process, pipes: tuple[int, int], limits: Limits) -> None:
        """``pipes``: the descriptors to read from and to write to."""
        self._process = process
        self._wire = Wire(*pipes)
        self._limits = limits
        self._sequence = 0
        self._pending: deque[_Request] = deque()
        #: The clock of the process was read at ``_marked`` and showed ``_shown``; the process may
        #: have worked on the oldest request since ``_since``; ``_end`` is where its total ends.
        self._clock = process.clock
        self._marked = self._since = monotonic()
        self._shown = self._clock.begun
        self._end = self._shown + limits.total_seconds
        self._gone: SandboxError = ProcessDied("the process of this program has ended already")
        self.alive = True

    @property
    def pid(self) -> int:
        """Process id of the sandboxed process."""
        return self._process.pid

    @property
    def used(self) -> float:
        """Processor time in seconds that the process has used."""
        return self._clock.read()

    def await_ready(self) -> None:
        """Wait until the process is locked down; its program's time begins then.

        Raises:
            IsolationUnavailable: it cannot be locked down as strictly as asked.
            SandboxFailed, Disturbed: it ended, or does not answer.
        """
        self._end = math.inf
        self._pending.append(_Request(0, "being locked down", _READY_SECONDS, READY))
        try:
            self.receive()
        except ProgramError as error:
            raise SandboxFailed(f"the sandbox could not make a process: {error.message}") from None
        self._mark(monotonic())
        self._end = self._shown + self._limits.total_seconds

    def request(
        self,
        kind: Kind,
        payload: bytes | bytearray,
        expected: ExpectedReply,
        seconds: float,
        what: str,
    ) -> memoryview:
        """Send one request and wait for its answer.

        Args:
            kind: of the request.
            payload: of the request.
            expected: what may come back.
            seconds: of processor time; the program's total caps it.
            what: the call that is made, for messages, e.g. "act()".

        Returns:
            The payload of the answer.

        Raises:
            ProgramError: the program is at fault; its process is dead then.
            SandboxFailed, Disturbed: it is not, and its process is dead likewise.
        """
        self.send(kind, frames.message(payload), expected, seconds, what)
        return self.receive()

    def send(
        self, kind: Kind, message: bytearray, expected: ExpectedReply, seconds: float, what: str
    ) -> None:
        """First half of ``request``: the process works on it while the caller does other things.

        ``message`` is the payload with room for the header before it (``frames.message``).
        Several requests may be under way; their replies come in the same order. The time of each
        runs from when it is sent, or from when the reply before it was read.
        """
        if not self.alive:
            raise self._gone
        now = monotonic()
        if now - self._marked > _MARK:
            self._mark(now)
            if self._shown > self._end:
                self._exhausted(what, seconds)
        replies = 0
        if self._pending:
            replies = sum(HEADER.size + request.expected.longest for request in self._pending)
        else:
            self._since = now
        self._sequence += 1
        request = _Request(self._sequence, what, seconds, expected)
        self._pending.append(request)
        frames.put_header(message, kind, self._sequence)
        try:
            self._wire.write(message, lambda: self._patience(len(self._pending)), replies)
        except BrokenPipeError:
            return  # why it has ended stands in its reply, or in its death
        except _FAILURES as failure:
            self._fail(failure, request)

    def receive(self) -> memoryview:
        """Second half of ``request``, for the oldest one that is under way."""
        return self._receive(b"")

    def receive_into(self, reply: bytearray) -> None:
        """As ``receive``, of a reply that fills ``reply`` but for its last byte, header included.

        The usual reply comes in one piece, and is often there already: then this is one system
        call and one comparison.
        """
        size = len(reply) - 1
        got = None
        wire = self._wire
        if self.alive and not wire.early:
            request = self._pending[0]
            room = reply if len(self._pending) == 1 else memoryview(reply)[:size]
            got = wire.readinto(room)
            if got is None and wire.poll.poll(_FIRST_WAIT):
                got = wire.readinto(room)
            if got == size and reply.startswith(
                frames.header(request.expected.kind, request.sequence, size - HEADER.size)
            ):
                self._done()
                return
        reply[HEADER.size : size] = self._receive(bytes(reply[: got or 0]))

    def _receive(self, data: bytes) -> memoryview:
        """``data``: what of the reply was read already."""
        if not self.alive:
            raise self._gone
        request = self._pending[0]
        alone = len(self._pending) == 1
        error = None
        try:
            kind, body = self._wire.read(
                request.sequence, request.expected, self._patience(), data, alone
            )
            if kind == Kind.FAULT:
                error = request.expected.error(body)
        except _FAILURES as failure:
            self._fail(failure, request)
        if error is not None:
            self.kill()
            raise error
        self._done()
        return body

    def _mark(self, now: float) -> None:
        self._marked, self._shown = now, self._clock.read()

    def _done(self) -> None:
        """The oldest request is answered: the process works on the next one."""
        self._pending.popleft()
        if self._pending:
            self._since = monotonic()
            if self._since - self._marked > _MARK:
                self._mark(self._since)

    def _patience(self, requests: int = 1) -> Patience:
        """The time that is left for so many of the oldest requests.

        The clock showed at most ``begun`` when the process began them: never less time than due,
        and no more than _MARK beyond it.
        """
        allowed = sum(request.allowed for request in islice(self._pending, requests))
        begun = self._shown + max(0.0, self._since - self._marked)
        until = min(begun + allowed, self._end) + _GRACE
        extra, total = self._limits.wall_seconds, self._limits.total_seconds
        wall = min(_WALL * allowed, _WALL * total - self._clock.waited) + extra
        return Patience(self._clock, until, wall)

    def _fail(self, failure: Exception, request: _Request) -> NoReturn:
        """End the process and raise what went wrong."""
        if isinstance(failure, Exhausted):
            self._exhausted(request.what, request.allowed)
        if isinstance(failure, Stalled):
            error = self._process.silent(request.what, request.allowed)
        elif isinstance(failure, EOFError):
            self._close()
            error = self._process.died(request.what, has_program=request.expected is not READY)
        else:
            error = ProtocolError(f"the program broke the protocol: {failure}")
        if not isinstance(error, ProgramError):
            self._gone = error
        self.kill()
        raise error from None

    def _exhausted(self, what: str, allowed: float) -> NoReturn:
        over = self._clock.read() > self._end
        self.kill()
        if over:
            total = f"{self._limits.total_seconds:g} s of processor time in all"
            raise TimeLimit(f"the program used up its {total}, last in {what}") from None
        raise TimeLimit(
            f"{what} did not return within {allowed:g} s of processor time; make it do less per"
            " call"
        ) from None

    def kill(self) -> None:
        """End the process; calling it twice is harmless."""
        self._close()
        self._process.kill()

    def _close(self) -> None:
        if self.alive:
            self.alive = False
            self._wire.close()
