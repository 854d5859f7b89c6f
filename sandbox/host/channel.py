"""The host's end of one sandboxed process: one request at a time, its limits, and its answer.

Nothing blocks but ``Patience.wait``, and nothing is read beyond what was asked for.
"""

from __future__ import annotations

import io
import math
import os
import select
from contextlib import suppress
from time import monotonic
from typing import NoReturn

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
from sandbox.host.process import Exhausted, Patience, Process, Stalled
from sandbox.host.replies import READY, Call
from sandbox.interface import Limits

#: So many times its limit of processor time, and Limits.wall_seconds, may a call take in wall time.
_WALL = 10
#: How much more processor time than its limit a call may take, in seconds: for the process to
#: report the line that was running (``inside.faults.Watchdog``).
_GRACE = 0.25
#: How often the clock of a process is read while it answers quickly, in seconds.
MARK = 0.1

_FAILURES = (Exhausted, Stalled, FrameError, EOFError)


class Channel:
    """Owns one sandboxed process and the pipes to it.

    Attributes:
        sequence: number of the latest request.
        since: when the process began to work on it, at the earliest; ``monotonic`` seconds.
        marked: when the clock of the process was read last.
        writer: descriptor that requests are written to.
        readinto: reads what is there into a buffer; None if there is nothing, 0 at the end.
        poll: has an event when there is something to read.
        alive: the process can be asked.
    """

    def __init__(self, process: Process, pipes: tuple[int, int], limits: Limits) -> None:
        """``pipes``: the descriptors to read from and to write to."""
        self._process = process
        self._reader, self.writer = pipes
        for descriptor in pipes:
            os.set_blocking(descriptor, False)
        self.readinto = io.FileIO(self._reader, closefd=False).readinto
        self.poll = select.poll()
        self.poll.register(self._reader, select.POLLIN)
        self._limits = limits
        self.sequence = 0
        #: What the clock showed at ``marked``; ``_end`` is where the program's total ends.
        self._clock = process.clock
        self.marked = self.since = monotonic()
        self._shown = self._clock.begun
        self._end = self._shown + limits.total_seconds
        self._waited = self._clock.waited
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

    def renew(self) -> None:
        """Let the program's total begin anew."""
        self._mark(monotonic())
        self._end = self._shown + self._limits.total_seconds
        self._waited = self._clock.waited

    def await_ready(self) -> None:
        """Wait until the process is locked down; its program's time begins then.

        Raises:
            IsolationUnavailable: it cannot be locked down as strictly as asked.
            SandboxFailed, Disturbed: it ended, or does not answer.
        """
        self._end = math.inf
        try:
            self.receive(READY)
        except ProgramError as error:
            raise SandboxFailed(f"the sandbox could not make a process: {error.message}") from None
        self.renew()

    def request(self, kind: Kind, payload: bytes, call: Call) -> memoryview:
        """Send one request, wait for its answer and return the answer's payload.

        Raises:
            ProgramError: the program is at fault; its process is dead then.
            SandboxFailed, Disturbed: it is not, and its process is dead likewise.
        """
        self.begin(call)
        self.write(frames.header(kind, self.sequence, len(payload)) + payload, call)
        return self.receive(call)

    def begin(self, call: Call) -> None:
        """Number a request that is about to be written; raises as ``request`` does."""
        self.sequence += 1
        self.since = monotonic()
        if not self.alive or self.since - self.marked > MARK:
            self.look(call)

    def look(self, call: Call) -> None:
        """Read the clock of the process, which is to be asked something.

        Raises:
            ProgramError: it has used up its total, or ended.
        """
        if not self.alive:
            raise self._gone
        self._mark(monotonic())
        if self._shown > self._end:
            self._exhausted(call)

    def write(self, message: bytes | memoryview, call: Call) -> None:
        """Write what is left of a request; raises as ``request`` does."""
        try:
            rest = memoryview(message)
            with suppress(BlockingIOError):
                rest = rest[os.write(self.writer, rest) :]
            if rest:
                self._write_slowly(rest, self._patience(call))
        except BrokenPipeError:
            return  # why it has ended stands in its reply, or in its death
        except _FAILURES as failure:
            self._fail(failure, call)

    def _write_slowly(self, rest: memoryview, patience: Patience) -> None:
        poll = select.poll()
        poll.register(self.writer, select.POLLOUT)
        while rest:
            patience.wait(poll)
            with suppress(BlockingIOError):
                rest = rest[os.write(self.writer, rest) :]

    def receive(self, call: Call, data: bytes = b"") -> memoryview:
        """Wait for the answer to a request; ``data`` is what of it was read already."""
        if not self.alive:
            raise self._gone
        error = None
        try:
            kind, body = self._read_frame(call, data)
            if kind == Kind.FAULT:
                error = call.error(body)
        except _FAILURES as failure:
            self._fail(failure, call)
        if error is not None:
            self.kill()
            raise error
        return body

    def _read_frame(self, call: Call, data: bytes) -> tuple[Kind, memoryview]:
        patience = self._patience(call)
        # Room for one byte more than the frame shows what follows it.
        data = self._read(data, HEADER.size, HEADER.size + call.min_bytes + 1, patience)
        kind, length = frames.parse_header(data, self.sequence)
        call.check(kind, length)
        total = HEADER.size + length
        data = self._read(data, total, total + 1, patience)
        if len(data) > total:
            raise FrameError("bytes follow the frame")
        return kind, memoryview(data)[HEADER.size :]

    def _read(self, data: bytes, need: int, most: int, patience: Patience) -> bytes:
        """Read on until there are at least ``need`` bytes, and at most ``most``."""
        parts, have = [data], len(data)
        while have < need:
            patience.wait(self.poll)
            got = os.read(self._reader, most - have)
            if not got:
                raise EOFError
            parts.append(got)
            have += len(got)
        return b"".join(parts)

    def _mark(self, now: float) -> None:
        self.marked, self._shown = now, self._clock.read()

    def _patience(self, call: Call) -> Patience:
        """Return the time that is left for a call.

        The clock showed at most ``begun`` when the process began it: never less time than due,
        and no more than MARK beyond it.
        """
        begun = self._shown + max(0.0, self.since - self.marked)
        until = min(begun + call.seconds, self._end) + _GRACE
        waited = self._clock.waited - self._waited
        wall = min(_WALL * call.seconds, _WALL * self._limits.total_seconds - waited)
        return Patience(self._clock, until, wall + self._limits.wall_seconds)

    def _fail(self, failure: Exception, call: Call) -> NoReturn:
        """End the process and raise what went wrong."""
        if isinstance(failure, Exhausted):
            self._exhausted(call)
        if isinstance(failure, Stalled):
            error = self._process.silent(call.what, call.seconds)
        elif isinstance(failure, EOFError):
            self._close()
            error = self._process.died(call.what, has_program=call is not READY)
        else:
            error = ProtocolError(f"the program broke the protocol: {failure}")
        if not isinstance(error, ProgramError):
            self._gone = error
        self.kill()
        raise error from None

    def _exhausted(self, call: Call) -> NoReturn:
        over = self._clock.read() > self._end
        self.kill()
        if over:
            total = f"{self._limits.total_seconds:g} s of processor time in all"
            raise TimeLimit(f"the program used up its {total}, last in {call.what}") from None
        raise TimeLimit(
            f"{call.what} did not return within {call.seconds:g} s of processor time; make it do"
            " less per call"
        ) from None

    def kill(self) -> None:
        """End the process; calling it twice is harmless."""
        self._close()
        self._process.kill()

    def _close(self) -> None:
        if self.alive:
            self.alive = False
            os.close(self._reader)
            os.close(self.writer)
