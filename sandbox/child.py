"""The serving loop of a locked-down process: requests in, replies out, one program."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import numpy as np

from sandbox import frames, trajectory
from sandbox.errors import REPORTED, PolicyError, ProgramError
from sandbox.frames import HEADER, Kind
from sandbox.interface import Box, FloatArray, Interface, Limits, action_from_dict
from sandbox.language.facades import Facade
from sandbox.policy import PolicyProgram
from sandbox.program import FeedbackProgram, Program, Task
from sandbox.watchdog import Watchdog

#: What a pipe holds.
_CHUNK = 1 << 16
#: Set aside so that running out of memory can still be reported.
_BALLAST = 1 << 20

_NAMES: dict[int, str] = {
    Kind.RESET: "making the policy object",
    Kind.ACT: "act()",
    Kind.SUMMARIZE: "summarize_trajectory()",
    Kind.OUTPUT: "reading the output",
}

EPISODE_HEAD = struct.Struct("<IIIBBbx")
RESET_HEAD = struct.Struct("<II")
ACT_HEAD = struct.Struct("<II")


class Closed(Exception):
    """The host is gone, or done with this process."""


class Pipes:
    """Whole requests in, whole replies out."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._reader, self._writer = read_fd, write_fd
        self._sequence = 0
        self._rest = b""

    def receive(self) -> tuple[int, memoryview]:
        """Kind and payload of the next request.

        Requests may have come together: what follows the first is kept.

        Raises:
            Closed: there is none.
        """
        data = self._read(self._rest, HEADER.size)
        _, kind, self._sequence, length = HEADER.unpack_from(data)
        end = HEADER.size + length
        data = self._read(data, end)
        self._rest = data[end:]
        return kind, memoryview(data)[HEADER.size : end]

    def _read(self, data: bytes, need: int) -> bytes:
        """Read on until there are at least ``need`` bytes."""
        if len(data) >= need:
            return data
        parts, have = [data], len(data)
        while have < need:
            parts.append(os.read(self._reader, max(_CHUNK, need - have)))
            if not parts[-1]:
                raise Closed
            have += len(parts[-1])
        return b"".join(parts)

    def send(self, kind: Kind, payload: bytes = b"") -> None:
        """Write one reply to the last request."""
        data = frames.header(kind, self._sequence, len(payload)) + payload
        sent = os.write(self._writer, data)
        while sent < len(data):
            sent += os.write(self._writer, data[sent:])


def _task(data: Mapping[str, Any]) -> Task:
    shape = data["interface"]
    interface = Interface(**{**shape, "action": action_from_dict(shape["action"])})
    return Task(data["source"], interface, Limits(**data["limits"]), tuple(data["extra_imports"]))


def _reset(program: PolicyProgram, payload: memoryview) -> tuple[Kind, bytes]:
    count, fresh = RESET_HEAD.unpack_from(payload)
    slots = np.frombuffer(payload, np.int64, count, RESET_HEAD.size).tolist()
    seeds = np.frombuffer(payload, np.uint64, count, RESET_HEAD.size + 8 * count).tolist()
    program.reset(slots, seeds, bool(fresh))
    return Kind.DONE, b""


def _act(program: PolicyProgram, payload: memoryview) -> tuple[Kind, bytes]:
    count, ragged = ACT_HEAD.unpack_from(payload)
    start = ACT_HEAD.size
    slots = bytes(payload[start : start + 8 * count])
    start += 8 * count
    numbers: FloatArray | list[FloatArray]
    if ragged:
        lengths = np.frombuffer(payload, np.int64, count, start)
        flat = np.frombuffer(payload, np.float64, -1, start + 8 * count)
        numbers = [row.copy() for row in np.split(flat, np.cumsum(lengths)[:-1])]
    else:
        numbers = np.frombuffer(payload, np.float64, -1, start)
    return Kind.ACTIONS, program.act(slots, numbers).tobytes()


def _summarize(program: FeedbackProgram, payload: memoryview) -> tuple[Kind, bytes]:
    steps, width, size, terminated, truncated, success = EPISODE_HEAD.unpack_from(payload)
    flat = np.frombuffer(payload, np.float64, -1, EPISODE_HEAD.size)
    observations, actions, rewards = np.split(
        flat, [(steps + 1) * width, (steps + 1) * width + steps * size]
    )
    episode = trajectory.build(
        observations.reshape(steps + 1, width),
        actions.reshape(steps, size),
        rewards,
        (bool(terminated), bool(truncated), None if success < 0 else bool(success)),
        program.task.interface.action,
        program.observe,
    )
    return Kind.TEXT, program.summarize(episode).encode("utf-8", "replace")


def _fault(error: ProgramError, printed: str) -> bytes:
    def number(value: int | None) -> int:
        return -1 if value is None else value

    code = REPORTED.index(type(error))
    places = (number(error.line), number(error.slot), number(error.step))
    text = error.message[: frames.MAX_TEXT // 8]
    return frames.pack_fault(frames.Fault(code, *places, text, printed))


def _seconds(program: Program, kind: int, payload: memoryview) -> float:
    """The time that this request may take."""
    limits = program.task.limits
    if kind == Kind.RESET:
        return limits.init_seconds * int(RESET_HEAD.unpack_from(payload)[0])
    if kind == Kind.ACT:
        return limits.act_seconds * int(ACT_HEAD.unpack_from(payload)[0])
    return limits.act_seconds


def serve(read_fd: int, write_fd: int, libraries: Mapping[str, Facade], watchdog: Watchdog) -> None:
    """Answer requests until the host closes the pipe or the program fails."""
    pipes = Pipes(read_fd, write_fd)
    ballast = bytearray(_BALLAST)
    program: Any = None
    handlers: dict[int, Callable[[Any, memoryview], tuple[Kind, bytes]]] = {
        Kind.RESET: _reset,
        Kind.ACT: _act,
        Kind.SUMMARIZE: _summarize,
        Kind.OUTPUT: lambda program, _: (
            Kind.TEXT,
            program.printer.text.encode("utf-8", "replace"),
        ),
    }

    def late(frame: FrameType | None) -> None:
        error = program.late(frame, _NAMES[kind])
        pipes.send(Kind.FAULT, _fault(error, program.printer.text))

    try:
        while True:
            kind, payload = pipes.receive()
            if kind == Kind.START:
                program = _start(json.loads(bytes(payload)), libraries)
                pipes.send(Kind.DONE)
                continue
            watchdog.watch(_seconds(program, kind, payload), late)
            reply = handlers[kind](program, payload)
            watchdog.rest()
            pipes.send(*reply)
    except Closed:
        return
    except ProgramError as error:
        watchdog.rest()
        del ballast
        printed = program.printer.text if isinstance(program, Program) else ""
        pipes.send(Kind.FAULT, _fault(error, printed))
    except MemoryError:
        watchdog.rest()
        del ballast
        pipes.send(Kind.FAULT, _fault(PolicyError("MemoryError"), ""))


_TOUCH = """
import numpy as np
class Policy:
    def __init__(self):
        self._gain = 1.0
    def act(self, obs):
        if obs[0] > 0 and self._gain:
            return [float(x) for x in np.clip(self._gain * obs, -1, 1)]
        return np.zeros(1)
"""


def touch() -> None:
    """Run a program of our own, so that the pages that programs need are this process's own."""
    interface = Interface(1, None, Box((1,)))
    program = PolicyProgram(Task(_TOUCH, interface, Limits()), {})
    program.reset([0], [0], fresh=True)
    program.act(np.zeros(1, np.int64).tobytes(), np.ones(1))


def _start(data: Mapping[str, Any], libraries: Mapping[str, Facade]) -> Program:
    kind = PolicyProgram if data["role"] == "policy" else FeedbackProgram
    return kind(_task(data), libraries)
