"""Faults of a program: words for its author, bytes for the host; calls that take too long."""

from __future__ import annotations

import signal
from collections.abc import Callable
from time import process_time
from types import FrameType, TracebackType

from sandbox import frames
from sandbox.errors import REPORTED, PolicyError, ProgramError, TimeLimit
from sandbox.frames import MAX_MESSAGE, Fault, possible_faults
from sandbox.language import FILENAME, quoted, readable, shortened

_MAX_FRAMES = 12
_MAX_MESSAGE = 2000


def own_frames(trace: TracebackType | None) -> list[tuple[int, str]]:
    """Line and function of each frame that belongs to the program, outermost first."""
    frames: list[tuple[int, str]] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILENAME:
            frames.append((trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    return frames


def summary(error: BaseException) -> str:
    """Class and message of an exception whose ``__str__`` may be hostile."""
    try:
        text = str.__str__(str(error))  # a subclass of str could lie about its length
    except BaseException:
        text = "<its message could not be read>"
    name = shortened(type(error).__name__)
    return readable(f"{name}: {text[:_MAX_MESSAGE]}" if text else name)


def describe(error: BaseException, source: str) -> tuple[str, int]:
    """Message and innermost line (-1: unknown) for an exception that left the program."""
    frames = own_frames(error.__traceback__)
    lines = ["Traceback (most recent call last):"] if frames else []
    quoted_frames = frames
    if len(frames) > _MAX_FRAMES:
        quoted_frames = frames[: _MAX_FRAMES // 2] + frames[-_MAX_FRAMES // 2 :]
    for index, (line, function) in enumerate(quoted_frames):
        if len(frames) > _MAX_FRAMES and index == _MAX_FRAMES // 2:
            lines.append(f"  [{len(frames) - _MAX_FRAMES} more calls]")
        lines.append(f"  line {line}, in {shortened(readable(function))}{quoted(source, line)}")
    line = frames[-1][0] if frames else -1
    if not frames and isinstance(error, TypeError):
        lines.append("(in the call of the method itself: check its parameters)")
    lines.append(summary(error))
    return "\n".join(lines), line


def late(frame: FrameType | None, source: str, what: str) -> TimeLimit:
    """The report about the call ``what`` that takes too long; ``frame`` is where it is now."""
    text = f"{what} did not return in time (processor time counts); make it do less per call"
    while frame is not None and frame.f_code.co_filename != FILENAME:
        frame = frame.f_back
    if frame is None:
        return TimeLimit(text)
    line = frame.f_lineno
    place = f"\nit was at line {line}, in {shortened(readable(frame.f_code.co_name))}"
    return TimeLimit(text + place + quoted(source, line), line=line)


def fault_payload(error: ProgramError, request: int, printed: str) -> bytes:
    """The payload of a FAULT frame in reply to a ``request``; ``printed``: the program's output.

    What is no fault of a kind that this request may have is reported as an exception of the
    program.
    """
    kind = type(error) if type(error) in possible_faults(request) else PolicyError
    line = -1 if error.line is None else error.line
    message = error.message[:MAX_MESSAGE]
    return frames.pack_fault(Fault(REPORTED.index(kind), line, message, printed))


class Interrupted(BaseException):
    """Raised in a call that takes too long, where the process goes on after it."""


#: Processor time between two looks, in seconds.
_TICK = 0.02


class Watchdog:
    """A timer that runs from before the lock-down to the end of the process.

    It runs on processor time, and nothing reads a clock but the timer itself: a call costs two
    assignments, and its time counts from the timer's first look at it.

    Attributes:
        call: number of the call that runs; None between calls.
        seconds: processor time that it may take.
        report: called with the running frame when it takes longer; ends the process, or raises.
    """

    def __init__(self) -> None:
        self.call: int | None = None
        self.seconds = 0.0
        self.report: Callable[[FrameType | None], None] | None = None
        self._seen: int | None = None
        self._until = 0.0
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        now, call = process_time(), self.call
        if call is None or call != self._seen:
            self._seen, self._until = call, now + self.seconds
            return
        if now < self._until or self.report is None:
            return
        self.call = None
        self.report(frame)
