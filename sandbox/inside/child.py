"""The serving loop of a locked-down process: requests in, replies out, one program."""

from __future__ import annotations

import io
import marshal
import mmap
import os
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from sandbox import frames, tracing
from sandbox.errors import MemoryLimit, ProgramError
from sandbox.frames import (
    BEGIN_HEAD,
    EPISODE_HEAD,
    HEADER,
    MAGIC,
    REQUESTS,
    SEAT,
    SEED_HEAD,
    Kind,
)
from sandbox.inside.data import Named, Trace, Trajectory, action_values
from sandbox.inside.faults import Interrupted, Watchdog, fault_payload, late
from sandbox.inside.policy import CountingProgram, PolicyProgram
from sandbox.inside.program import FeedbackProgram, PrepareProgram, Program, Task
from sandbox.interface import ACTION_SPACES, FloatArray, Interface, Limits, Place
from sandbox.language import Runtime
from sandbox.prepared import unpack

#: What most requests fit into. A process touches all of it: more would cost every start.
_CHUNK = 1 << 12


class Closed(Exception):
    """The host is gone, or done with this process."""


class Pipes:
    """One request at a time, at the beginning of ``buffer`` until the next is received.

    Attributes:
        readinto: reads what comes into a buffer.
        buffer: the request, header first; another object once a request has needed a longer one.
        end: of the request.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.readinto = io.FileIO(read_fd, closefd=False).readinto
        self._writer = write_fd
        self.buffer = bytearray(_CHUNK)
        self.end = 0

    def receive(self, have: int = 0) -> int:
        """Return the kind of the next request, of which ``have`` bytes are read already.

        Raises:
            Closed: there is none.
        """
        have = self._read(have, HEADER.size)
        kind: int
        _, kind, _, length = HEADER.unpack_from(self.buffer)
        self.end = HEADER.size + length
        if have < self.end:
            self._read(have, self.end)
        return kind

    @property
    def sequence(self) -> int:
        """Number of the request."""
        number: int = HEADER.unpack_from(self.buffer)[2]
        return number

    @property
    def payload(self) -> memoryview:
        """Bytes that follow the header of the request."""
        return memoryview(self.buffer)[HEADER.size : self.end]

    def _read(self, have: int, need: int) -> int:
        """Read on until there are ``need`` bytes; return how many there are."""
        if need > len(self.buffer):
            self.buffer = self.buffer[:have] + bytes(need - have)
        while have < need:
            got = self.readinto(memoryview(self.buffer)[have:])
            if not got:
                raise Closed
            have += got
        return have

    def reply(self, kind: Kind, payload: bytes = b"") -> None:
        """Write one reply to the request."""
        self.write(frames.header(kind, self.sequence, len(payload)) + payload)

    def write(self, data: bytes | bytearray) -> None:
        """Write one whole frame."""
        sent = os.write(self._writer, data)
        while sent < len(data):
            sent += os.write(self._writer, memoryview(data)[sent:])


#: Address space set aside so that running out of memory can still be reported; never touched.
_BALLAST = 1 << 20


def _task(payload: memoryview) -> Task:
    data = marshal.loads(payload)  # noqa: S302 - the host's
    name, space = data.pop("action")
    data["interface"] = Interface(**data["interface"], action=ACTION_SPACES[name](**space))
    data["limits"] = Limits(**data["limits"])
    data["places"] = tuple(Place(*numbers) for numbers in data["places"])
    values = data["prepared"]
    data["prepared"] = Named(unpack(values), "prepare() returned") if values else None
    return Task(**data)


def _begin(program: PolicyProgram, payload: memoryview) -> tuple[Kind, bytes]:
    seed, fresh, traced, seat = BEGIN_HEAD.unpack_from(payload)
    constants = np.frombuffer(payload, np.float64, -1, BEGIN_HEAD.size).tolist()
    program.seat(seat).begin(seed, bool(fresh), bool(traced), constants)
    return Kind.DONE, b""


def _summarize(program: FeedbackProgram, payload: memoryview) -> tuple[Kind, bytes]:
    steps, width, size, terminated, truncated, success = EPISODE_HEAD.unpack_from(payload)
    seen, done = (steps + 1) * width, (steps + 1) * width + steps * size
    flat = np.frombuffer(payload, np.float64, done + steps, EPISODE_HEAD.size)
    observations, actions, rewards = np.split(flat, [seen, done])
    trace = tracing.parse(payload[EPISODE_HEAD.size + flat.nbytes :], steps)
    trajectory = Trajectory(
        [program.observed(row.copy()) for row in observations.reshape(steps + 1, width)],
        action_values(actions.reshape(steps, size), program.task.interface.action),
        rewards.copy(),
        bool(terminated),
        bool(truncated),
        None if success < 0 else bool(success),
        Trace(trace, steps),
    )
    return Kind.TEXT, _bytes(program.summarize(trajectory))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


_HANDLERS: dict[int, Callable[[Any, memoryview], tuple[Kind, bytes]]] = {
    Kind.BEGIN: _begin,
    Kind.SUMMARIZE: _summarize,
    Kind.OUTPUT: lambda program, _: (Kind.TEXT, _bytes(program.printer.text)),
    Kind.TRACE: lambda program, seat: (Kind.DATA, program.seat(*SEAT.unpack(seat)).samples()),
    Kind.FAILURE: lambda program, seat: (Kind.DATA, program.seat(*SEAT.unpack(seat)).failure),
    Kind.LINES: lambda program, _: (Kind.DATA, program.lines()),
    Kind.PREPARE: lambda program, seed: (Kind.DATA, program.prepare(*SEED_HEAD.unpack(seed))),
}
_START, _ACT = int(Kind.START), int(Kind.ACT)


class _Server:
    """One process: a program is loaded, then asked again and again."""

    def __init__(
        self, pipes: Pipes, runtime: Runtime, watchdog: Watchdog, recorded: mmap.mmap | None
    ) -> None:
        self._pipes = pipes
        self._runtime = runtime
        self._watchdog = watchdog
        self._ballast = mmap.mmap(-1, _BALLAST, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._recorded = recorded
        self._kind = 0
        self._source = ""
        self._program: Program | None = None
        self._seats = 1
        #: Why the seat that acts was interrupted: whatever it makes of that.
        self._lateness: ProgramError | None = None

    def run(self) -> None:
        """Answer requests until the host closes the pipe or the program fails."""
        pipes, watchdog = self._pipes, self._watchdog
        watchdog.report = self._late
        pipes.reply(Kind.READY)
        have = 0
        try:
            while True:
                self._kind = kind = pipes.receive(have)
                watchdog.seconds, watchdog.call = self._seconds(kind), pipes.sequence
                if kind == _ACT:
                    have = self._act()
                    continue
                have = 0
                if kind == _START:
                    answer = Kind.DATA, self._start(_task(pipes.payload))
                else:
                    answer = _HANDLERS[kind](self._program, pipes.payload)
                watchdog.call = None
                pipes.reply(*answer)
        except Closed:
            return
        except ProgramError as error:
            self._fail(error)
        except MemoryError:
            self._fail(MemoryLimit("MemoryError"))

    def _act(self) -> int:
        """Answer the request to act at hand, and all that follow.

        One holds an observation, or one for each of so many seats, with NaN where nobody sits.
        Returns how many bytes of another request have been read then. Observations are read where
        they arrive and actions are written where they leave, so that a hand-over runs little code
        and touches little memory: between two of them other processes have filled the caches.
        """
        pipes, watchdog, program = self._pipes, self._watchdog, self._program
        assert isinstance(program, PolicyProgram)  # noqa: S101 - the host asks no other
        act, write, readinto = program.act, pipes.write, pipes.readinto
        buffer, end, number = pipes.buffer, pipes.end, pipes.sequence
        observation = np.frombuffer(buffer, np.float64, (end - HEADER.size) // 8, HEADER.size)
        interface = program.task.interface
        self._seats = seats = observation.size // (interface.observation_size or 1 << 62) or 1
        reply = bytearray(HEADER.size + 8 * interface.action.size * seats)
        action = np.frombuffer(reply, np.float64, -1, HEADER.size)
        HEADER.pack_into(reply, 0, MAGIC, Kind.ACTIONS, number, action.nbytes)
        asked, length = bytes(buffer[:8]), bytes(buffer[12:16])
        rows = list(zip(observation.reshape(seats, -1), action.reshape(seats, -1), strict=True))
        while True:
            if seats == 1:
                act(observation.copy(), action)
            else:
                self._act_seats(program, number * seats, rows)
            watchdog.call = None
            write(reply)
            have = readinto(buffer)
            # Of a longer request just so much may have come.
            if have != end or not buffer.startswith(asked) or buffer[12:16] != length:
                return int(have or 0)
            reply[8:12] = buffer[8:12]
            number += 1
            watchdog.call = number

    def _act_seats(
        self, program: PolicyProgram, call: int, rows: Sequence[tuple[FloatArray, FloatArray]]
    ) -> None:
        """Let each seat act that has an observation; where one fails the others go on.

        Raises:
            MemoryLimit: the process is out of memory, which need not be that seat's doing.
        """
        watchdog = self._watchdog
        for seat, (observation, action) in zip(program.seats, rows, strict=False):
            if observation[0] != observation[0]:
                continue
            watchdog.call = call = call + 1
            self._lateness = None
            try:
                seat.act(observation.copy(), action)
                error = self._lateness
            except MemoryLimit:
                raise
            except ProgramError as fault:
                error = self._lateness or fault
            if error is not None:
                seat.fail(error, action)

    def _start(self, task: Task) -> bytes:
        """Load a program; return its code if it was compiled here."""
        self._source = task.source
        self._watchdog.seconds = task.limits.init_seconds
        if task.role == "prepare":
            self._program = PrepareProgram(task, self._runtime, self._recorded)
        elif task.role == "feedback":
            self._program = FeedbackProgram(task, self._runtime)
        else:
            kind = CountingProgram if task.role == "counting" else PolicyProgram
            self._program = kind(task, self._runtime)
        return b"" if task.compiled else self._program.compiled.packed()

    def _seconds(self, kind: int) -> float:
        """Return the processor time that a call may take; to start, the usual."""
        limits = Limits() if self._program is None else self._program.task.limits
        return limits.seconds(REQUESTS[kind].limit)

    def _late(self, frame: FrameType | None) -> None:
        error = late(frame, self._source, REQUESTS[self._kind].what)
        if self._kind == _ACT and self._seats > 1:
            self._lateness = error
            raise Interrupted
        try:
            self._tell(error)
        finally:
            os._exit(0)

    def _fail(self, error: ProgramError) -> None:
        self._watchdog.call = None
        self._ballast.close()
        self._tell(error)

    def _tell(self, error: ProgramError) -> None:
        printed = self._program.printer.text if self._program is not None else ""
        self._pipes.reply(Kind.FAULT, fault_payload(error, self._kind, printed))


def serve(
    read_fd: int,
    write_fd: int,
    runtime: Runtime,
    watchdog: Watchdog,
    recorded: mmap.mmap | None = None,
) -> None:
    """Answer requests until the host closes the pipe or the program fails.

    ``recorded``: pages of the data for ``prepare``.
    """
    _Server(Pipes(read_fd, write_fd), runtime, watchdog, recorded).run()
