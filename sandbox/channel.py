"""The host's end of one sandboxed process: requests, deadlines, and its death."""

from __future__ import annotations

import io
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, NoReturn

from sandbox import frames
from sandbox.deaths import death
from sandbox.errors import ProcessDied, ProtocolError, SandboxError, TimeLimit
from sandbox.frames import HEADER, FrameError, Kind
from sandbox.interface import Limits
from sandbox.watchdog import GRACE

_ENDED = "the process of this program has ended already"


class _Asked(NamedTuple):
    """A request under way; times are of the monotonic clock, in seconds."""

    sequence: int
    what: str
    sent: float
    allowed: float
    deadline: float


class Channel:
    """Owns the pipes and the life of one sandboxed process."""

    def __init__(
        self,
        pid: int,
        pidfd: int,
        pipes: tuple[int, int],
        reap: Callable[[int], int],
        limits: Limits,
    ) -> None:
        """``pipes``: the descriptors to read from and to write to; ``pidfd`` may be -1."""
        self._pid = pid
        self._pidfd = pidfd
        self._reader, self._writer = pipes
        self._reap = reap
        self._limits = limits
        self._left = limits.total_seconds
        self._sequence = 0
        self._pending: deque[_Asked] = deque()
        self._last_reply = 0.0
        self._poll = select.poll()
        self._poll.register(self._reader, select.POLLIN)
        self.alive = True
        os.set_blocking(self._writer, False)
        os.set_blocking(self._reader, False)
        self._readinto = io.FileIO(self._reader, closefd=False).readinto

    def request(
        self,
        kind: Kind,
        payload: bytes | bytearray,
        expect: Kind,
        seconds: float,
        what: str,
        size: int | None = None,
    ) -> memoryview:
        """Send one request and wait for its reply.

        Args:
            kind: of the request.
            payload: of the request.
            expect: kind of the reply.
            seconds: until the reply must be there; the program's total caps it.
            what: the call that is made, for messages, e.g. "act()".
            size: bytes that the reply's payload must have (None: any up to the cap on texts).

        Returns:
            The payload.

        Raises:
            ProgramError: whatever went wrong; the process is dead then.
        """
        self.send(kind, frames.message(payload), seconds, what)
        return self.receive(expect, size)

    def send(self, kind: Kind, message: bytearray, seconds: float, what: str) -> None:
        """First half of ``request``: the process works on it while the caller does other things.

        ``message`` is the payload with room for the header before it (``frames.message``).
        Several requests may be under way; their replies come in the same order. The time of each
        runs from when it is sent, or from when the time of the one before it is over.
        """
        if not self.alive:
            raise ProcessDied(_ENDED)
        self._sequence += 1
        now = time.monotonic()
        begin = max(now, self._pending[-1].deadline - GRACE) if self._pending else now
        allowed = min(seconds, self._left)
        asked = _Asked(self._sequence, what, now, allowed, begin + allowed + GRACE)
        self._pending.append(asked)
        frames.put_header(message, kind, self._sequence)
        try:
            self._write(message, asked.deadline)
        except TimeoutError:
            self._time_out(asked)
        except BrokenPipeError:
            self._died(asked)

    def receive(self, expect: Kind, size: int | None = None) -> memoryview:
        """Second half of ``request``, for the oldest one that is under way."""
        return self._receive(expect, size, b"")

    def receive_into(self, reply: bytearray, expect: Kind) -> None:
        """As ``receive``, of a reply that fills ``reply`` but for its last byte, header included.

        The usual reply comes in one piece, and is often there already: then this is one system
        call and one comparison.
        """
        if not self.alive:
            raise ProcessDied(_ENDED)
        asked = self._pending[0]
        size = len(reply) - 1
        room = reply if len(self._pending) == 1 else memoryview(reply)[:size]
        got = self._readinto(room)
        if got is None and self._wait(asked.deadline):
            got = self._readinto(room)
        if got == size and reply.startswith(
            frames.header(expect, asked.sequence, size - HEADER.size)
        ):
            self._done(asked)
            return
        body = self._receive(expect, size - HEADER.size, bytes(reply[: got or 0]))
        reply[HEADER.size : size] = body

    def _receive(self, expect: Kind, size: int | None, data: bytes) -> memoryview:
        if not self.alive:
            raise ProcessDied(_ENDED)
        asked = self._pending[0]
        try:
            reply, body = self._read_frame(asked, size, data)
        except TimeoutError:
            self._time_out(asked)
        except FrameError as error:
            self.kill()
            raise ProtocolError(f"the program broke the protocol: {error}") from None
        except EOFError:
            self._died(asked)
        self._done(asked)
        if reply == Kind.FAULT:
            self._fault(body)
        if reply != expect:
            self.kill()
            raise ProtocolError(f"the program broke the protocol: {reply.name} is no answer here")
        return body

    def _done(self, asked: _Asked) -> None:
        """Its reply is there: what it took comes off the total."""
        self._pending.popleft()
        now = time.monotonic()
        self._left -= now - max(asked.sent, self._last_reply)
        self._last_reply = now

    def _write(self, message: bytearray, deadline: float) -> None:
        try:
            sent = os.write(self._writer, message)
        except BlockingIOError:
            sent = 0
        if sent == len(message):
            return
        view = memoryview(bytes(message))[sent:]
        while view:
            wait = max(0.0, deadline - time.monotonic())
            if not select.select([], [self._writer], [], wait)[1]:
                raise TimeoutError
            with suppress(BlockingIOError):
                view = view[os.write(self._writer, view) :]

    def _read_frame(self, asked: _Asked, size: int | None, data: bytes) -> tuple[Kind, memoryview]:
        """Kind and payload of one whole frame: header, payload, and not a byte more.

        ``data``: what of it was read already.
        """
        # With no other request under way nothing may follow: room for one byte shows what does.
        extra = 1 if len(self._pending) == 1 else 0
        most = HEADER.size + (size or 0) + extra
        data = self._read(data, HEADER.size, most, asked.deadline)
        kind, length = frames.parse_header(data, asked.sequence)
        if size is not None and length != size and kind != Kind.FAULT:
            raise FrameError(f"a reply of {length} bytes where {size} were asked for")
        total = HEADER.size + length
        if len(data) < total:
            data = self._read(data, total, total + extra, asked.deadline)
        if len(data) > total:
            raise FrameError("bytes follow the frame")
        return kind, memoryview(data)[HEADER.size :]

    def _read(self, data: bytes, need: int, most: int, deadline: float) -> bytes:
        """Read on until there are at least ``need`` bytes, and at most ``most``."""
        while len(data) < need:
            if not self._wait(deadline):
                raise TimeoutError
            got = os.read(self._reader, most - len(data))
            if not got:
                raise EOFError
            data += got
        return data

    def _wait(self, deadline: float) -> bool:
        """Whether there is something to read before the deadline."""
        return bool(self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000))

    def _fault(self, body: memoryview) -> NoReturn:
        try:
            fault = frames.parse_fault(body)
        except FrameError as error:
            self.kill()
            raise ProtocolError(f"the program broke the protocol: {error}") from None
        self.kill()
        raise fault.error()

    def _time_out(self, asked: _Asked) -> NoReturn:
        self.kill()
        what, allowed = asked.what, asked.allowed
        if allowed >= self._left:
            total = self._limits.total_seconds
            raise TimeLimit(f"the program used up its {total:g} s in all, last in {what}")
        raise TimeLimit(f"{what} did not return within {allowed:g} s; make it do less per call")

    def _died(self, asked: _Asked) -> NoReturn:
        status = self.kill(wait=True)
        raise death(os.waitstatus_to_exitcode(status) if status is not None else 0, asked.what)

    def kill(self, wait: bool = False) -> int | None:
        """End the process group and reap it; returns the wait status the first time.

        ``wait``: it is ending by itself, let its own status show.
        """
        if not self.alive:
            return None
        self.alive = False
        os.close(self._reader)
        os.close(self._writer)
        if not wait or not self._ended():
            self._signal()
        try:
            return self._reap(self._pid)
        except SandboxError:
            return None
        finally:
            if self._pidfd >= 0:
                os.close(self._pidfd)

    def _ended(self) -> bool:
        """Whether the process ends within a moment of closing its pipe."""
        if self._pidfd < 0:
            time.sleep(0.05)
            return False
        return bool(select.select([self._pidfd], [], [], 1.0)[0])

    def _signal(self) -> None:
        try:
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            else:
                os.kill(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            # Not reaped yet, so the number still names this group.
            os.killpg(self._pid, signal.SIGKILL)
        except OSError:
            return
