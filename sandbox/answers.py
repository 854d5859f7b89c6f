"""What may answer a request: one table, kept by the process and checked by the host."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sandbox import frames
from sandbox.errors import (
    REPORTED,
    BadAction,
    CompileError,
    MemoryLimit,
    PolicyError,
    ProgramError,
    TimeLimit,
)
from sandbox.frames import FAULT_HEAD, Fault, FrameError, Kind
from sandbox.interface import Limits

#: Characters of an error message that are kept, and of the note where another text was cut.
MAX_MESSAGE = 8000
_NOTE = 100
#: Bytes of one character in UTF-8, at most.
_WIDEST = 4

_RUNNING: tuple[type[ProgramError], ...] = (PolicyError, MemoryLimit, TimeLimit)

#: The faults that a process may report in answer to each request.
FAULTS: dict[int, tuple[type[ProgramError], ...]] = {
    Kind.START: (CompileError, *_RUNNING),
    Kind.RESET: _RUNNING,
    Kind.ACT: (BadAction, *_RUNNING),
    Kind.SUMMARIZE: _RUNNING,
    Kind.OUTPUT: _RUNNING,
}

_REPLIES = {
    Kind.START: Kind.DONE,
    Kind.RESET: Kind.DONE,
    Kind.ACT: Kind.ACTIONS,
    Kind.SUMMARIZE: Kind.TEXT,
    Kind.OUTPUT: Kind.TEXT,
}


@dataclass(frozen=True)
class Answer:
    """The one kind of reply that answers a request, besides a fault.

    Attributes:
        kind: of the reply.
        least: bytes of its payload.
        most: bytes of its payload.
        fault_most: bytes of the payload of a fault.
        faults: what may be reported instead.
        slots: the episodes that a fault may name.
        lines: of the program; a fault may name one of them.
        output_chars: that a fault may bring along.
    """

    kind: Kind
    least: int = 0
    most: int = 0
    fault_most: int = 0
    faults: tuple[type[ProgramError], ...] = ()
    slots: Collection[int] = ()
    lines: int = 0
    output_chars: int = 0

    @property
    def longest(self) -> int:
        """Bytes of the longest payload that may come."""
        return max(self.most, self.fault_most)

    def check(self, kind: Kind, length: int) -> None:
        """Whether a frame with such a header may come.

        Raises:
            FrameError: it may not.
        """
        if kind == self.kind:
            least, most = self.least, self.most
        elif kind == Kind.FAULT and self.faults:
            least, most = FAULT_HEAD.size, self.fault_most
        else:
            raise FrameError(f"{kind.name} is no answer here")
        if not least <= length <= most:
            wanted = f"{most}" if least == most else f"{least} to {most}"
            raise FrameError(f"a reply of {length} bytes where {wanted} were asked for")

    def error(self, payload: memoryview) -> ProgramError:
        """The exception for a fault that is reported instead.

        Raises:
            FrameError: this fault cannot be.
        """
        fault = frames.parse_fault(payload)
        kind = REPORTED[fault.code]
        if kind not in self.faults:
            raise FrameError(f"{kind.__name__} cannot happen here")
        if fault.slot != -1 and fault.slot not in self.slots:
            raise FrameError(f"a fault in slot {fault.slot}, which was not asked")
        return kind(
            fault.message[:MAX_MESSAGE],
            line=fault.line if 1 <= fault.line <= self.lines else None,
            slot=fault.slot if fault.slot != -1 else None,
            output=fault.output[: self.output_chars],
        )


#: What a process says when it is locked down, before it is given a program.
READY = Answer(Kind.READY)


class Answers:
    """The answers of one program."""

    def __init__(self, source: str, limits: Limits) -> None:
        #: Characters of a summary, and of all that was printed, each with its note.
        self.text_chars = limits.text_chars + _NOTE
        self.output_chars = limits.output_chars + _NOTE
        lines = 2 + sum(map(source.count, "\n\r"))
        self._usual = Answer(
            Kind.DONE,
            fault_most=FAULT_HEAD.size + _WIDEST * (MAX_MESSAGE + self.output_chars),
            lines=lines,
            output_chars=self.output_chars,
        )

    def to(self, request: Kind, size: int = 0, slots: Collection[int] = ()) -> Answer:
        """What answers ``request``; ``size``: bytes of the actions asked for."""
        least, most = size, size
        if request == Kind.SUMMARIZE:
            most = _WIDEST * self.text_chars
        elif request == Kind.OUTPUT:
            most = _WIDEST * self.output_chars
        return replace(
            self._usual,
            kind=_REPLIES[request],
            least=least,
            most=most,
            faults=FAULTS[request],
            slots=slots,
        )


def reported(error: ProgramError, request: int, printed: str) -> bytes:
    """The payload of a FAULT frame; runs inside the sandboxed process.

    What is no fault of the kind that may answer the request is told as an exception of the program.
    """

    def number(value: int | None) -> int:
        return -1 if value is None else value

    kind = type(error) if type(error) in FAULTS[request] else PolicyError
    places = (number(error.line), number(error.slot))
    message = error.message[:MAX_MESSAGE]
    return frames.pack_fault(Fault(REPORTED.index(kind), *places, message, printed))
