"""The serving loop of a locked-down process: requests in, replies out, one program."""

from __future__ import annotations

import json
import mmap
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import numpy as np

from sandbox import tracing
from sandbox.errors import MemoryLimit, ProgramError
from sandbox.frames import EPISODE_HEAD, RESET_HEAD, SEED_HEAD, SLOT_HEAD, Kind
from sandbox.inside import trajectory
from sandbox.inside.acting import Acting
from sandbox.inside.counting import CountingProgram
from sandbox.inside.faults import fault_payload, late
from sandbox.inside.given import prepared
from sandbox.inside.instances import InstancesProgram
from sandbox.inside.pipes import Closed, Pipes
from sandbox.inside.policy import PolicyProgram
from sandbox.inside.preparing import PrepareProgram
from sandbox.inside.program import FeedbackProgram, Program, Task
from sandbox.inside.sealed import read_only_pages
from sandbox.inside.traced import TracedProgram
from sandbox.inside.watchdog import Watchdog
from sandbox.interface import Box, Interface, Limits, Place, action_from_dict
from sandbox.language.declared import TRACE
from sandbox.language.formatting import Stream
from sandbox.language.library import Loaded

#: Set aside so that running out of memory can still be reported.
_BALLAST = 1 << 20

_NAMES: dict[int, str] = {
    Kind.START: "loading the program",
    Kind.RESET: "making the policy object",
    Kind.ACT: "act()",
    Kind.SUMMARIZE: "summarize_trajectory()",
    Kind.OUTPUT: "reading the output",
    Kind.TRACE: "reading the trace",
    Kind.LINES: "reading the counts of lines",
    Kind.ERROR: "reading an error",
    Kind.GIVE: "taking what was prepared",
    Kind.PREPARE: "prepare()",
}


def _task(data: Mapping[str, Any], given: mmap.mmap | None) -> Task:
    shape = data["interface"]
    interface = Interface(**{**shape, "action": action_from_dict(shape["action"])})
    places = tuple(Place(*numbers) for numbers in data["places"])
    limits = Limits(**data["limits"])
    values = prepared(given) if given is not None else None
    return Task(data["source"], interface, limits, tuple(data["extra_imports"]), places, values)


def _reset(program: PolicyProgram, payload: memoryview) -> tuple[Kind, bytes]:
    count, fresh, watched = RESET_HEAD.unpack_from(payload)
    start = RESET_HEAD.size
    slots = np.frombuffer(payload, np.int64, count, start).tolist()
    seeds = np.frombuffer(payload, np.uint64, count, start + 8 * count).tolist()
    if isinstance(program, InstancesProgram):
        numbers = np.frombuffer(payload, np.float64, -1, start + 16 * count)
        program.choose(slots, numbers.reshape(count, -1).tolist())
    program.reset(slots, seeds, bool(fresh))
    if isinstance(program, TracedProgram):
        traced = np.frombuffer(payload, np.int64, watched, start + 16 * count).tolist()
        program.trace(slots, traced)
    return Kind.DONE, b""


def _summarize(program: FeedbackProgram, payload: memoryview) -> tuple[Kind, bytes]:
    steps, width, size, terminated, truncated, success = EPISODE_HEAD.unpack_from(payload)
    seen, done = (steps + 1) * width, (steps + 1) * width + steps * size
    flat = np.frombuffer(payload, np.float64, done + steps, EPISODE_HEAD.size)
    observations, actions, rewards = np.split(flat, [seen, done])
    trace = payload[EPISODE_HEAD.size + flat.nbytes :]
    episode = trajectory.build(
        observations.reshape(steps + 1, width),
        actions.reshape(steps, size),
        rewards,
        (bool(terminated), bool(truncated), None if success < 0 else bool(success)),
        program.task.interface.action,
        program.observe,
        tracing.parse(trace, steps),
    )
    return Kind.TEXT, _bytes(program.summarize(episode))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _seconds(program: Program, kind: int, payload: memoryview) -> float:
    limits = program.task.limits
    if kind == Kind.PREPARE:
        return limits.prepare_seconds
    if kind == Kind.RESET:
        return limits.init_seconds * int(RESET_HEAD.unpack_from(payload)[0])
    return limits.act_seconds


_HANDLERS: dict[int, Callable[[Any, memoryview], tuple[Kind, bytes]]] = {
    Kind.RESET: _reset,
    Kind.SUMMARIZE: _summarize,
    Kind.OUTPUT: lambda program, _: (Kind.TEXT, _bytes(program.printer.text)),
    Kind.TRACE: lambda program, slot: (Kind.DATA, program.samples(*SLOT_HEAD.unpack(slot))),
    Kind.LINES: lambda program, _: (Kind.DATA, program.lines()),
    Kind.ERROR: lambda program, slot: (Kind.TEXT, _bytes(program.error(*SLOT_HEAD.unpack(slot)))),
    Kind.PREPARE: lambda program, seed: (Kind.DATA, program.prepare(*SEED_HEAD.unpack(seed))),
}
#: What becomes of a program, by what it is for.
_PROGRAMS: dict[str, type[PolicyProgram]] = {
    "policy": PolicyProgram,
    "counting": CountingProgram,
    "instances": InstancesProgram,
}
_START, _ACT, _GIVE = int(Kind.START), int(Kind.ACT), int(Kind.GIVE)


class _Server:
    """One process: a program is loaded, then asked again and again."""

    def __init__(
        self, pipes: Pipes, libraries: Loaded, watchdog: Watchdog, recorded: mmap.mmap | None
    ) -> None:
        self._pipes = pipes
        self._libraries = libraries
        self._watchdog = watchdog
        self._ballast = bytearray(_BALLAST)
        self._recorded = recorded
        self._given: mmap.mmap | None = None
        self._kind = 0
        self._source = ""
        self._program: Program | None = None
        self._acting: Acting | None = None

    def run(self) -> None:
        """Answer requests until the host closes the pipe or the program fails."""
        self._pipes.reply(Kind.READY)
        try:
            while True:
                self._answer()
        except Closed:
            return
        except ProgramError as error:
            self._fail(error)
        except MemoryError:
            self._fail(MemoryLimit("MemoryError"))

    def _answer(self) -> None:
        pipes = self._pipes
        self._kind = kind = pipes.receive()
        if kind == _ACT and self._acting is not None:
            reply = self._acting.answer()
            self._watchdog.rest()
            pipes.write(reply)
            return
        if kind == _START:
            self._start(json.loads(bytes(pipes.payload)))
            self._watchdog.rest()
            pipes.reply(Kind.DONE)
            return
        if kind == _GIVE:
            self._given = read_only_pages(pipes.payload)
            pipes.reply(Kind.DONE)
            return
        if self._program is None:
            raise Closed
        if self._acting is not None and kind == Kind.RESET:
            self._acting.forget()
        self._watch(_seconds(self._program, kind, pipes.payload))
        answer = _HANDLERS[kind](self._program, pipes.payload)
        self._watchdog.rest()
        pipes.reply(*answer)

    def _start(self, data: Mapping[str, Any]) -> None:
        task = _task(data, self._given)
        self._source = task.source
        self._watch(task.limits.init_seconds)
        if data["role"] == "prepare":
            self._program = PrepareProgram(task, self._libraries, self._recorded)
        elif data["role"] != "feedback":
            kind = _PROGRAMS[data["role"]]
            if kind is PolicyProgram and TRACE in task.source:
                kind = TracedProgram
            self._program = program = kind(task, self._libraries)
            self._acting = Acting(program, self._pipes, self._watch)
        else:
            self._program = FeedbackProgram(task, self._libraries)
        sys.stdout = sys.stderr = Stream(self._program.printer)

    def _watch(self, seconds: float) -> None:
        self._watchdog.watch(seconds, self._late)

    def _late(self, frame: FrameType | None) -> None:
        slot = self._program.current_slot() if self._program is not None else None
        self._tell(late(frame, self._source, _NAMES[self._kind], slot))

    def _fail(self, error: ProgramError) -> None:
        self._watchdog.rest()
        del self._ballast
        self._tell(error)

    def _tell(self, error: ProgramError) -> None:
        printed = self._program.printer.text if self._program is not None else ""
        self._pipes.reply(Kind.FAULT, fault_payload(error, self._kind, printed))


def serve(
    read_fd: int,
    write_fd: int,
    libraries: Loaded,
    watchdog: Watchdog,
    recorded: mmap.mmap | None = None,
) -> None:
    """Answer requests until the host closes the pipe or the program fails.

    ``recorded``: pages of the data for ``prepare``.
    """
    _Server(Pipes(read_fd, write_fd), libraries, watchdog, recorded).run()


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
    program.act(program.group(bytes(8)), [np.ones(1)], np.zeros(1))
