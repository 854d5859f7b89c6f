"""Requests to a process and the replies that they may have; all else breaks the protocol."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox import frames
from sandbox.errors import REPORTED, ProgramError
from sandbox.frames import (
    FAULT_HEAD,
    LINE_HITS,
    MAX_MESSAGE,
    REQUESTS,
    FrameError,
    Kind,
    possible_faults,
)
from sandbox.interface import Limits

#: Characters of the note where a text was cut.
_NOTE = 100
#: Bytes of one character in UTF-8, at most.
_WIDEST = 4


@dataclass(frozen=True)
class Call:
    """A request: the time that it may take, and the one kind of reply that it has besides a fault.

    Attributes:
        what: the call, for messages.
        seconds: processor time that it may take.
        kind: of the reply.
        min_bytes, max_bytes: of the reply's payload.
        max_fault_bytes: of the payload of a fault.
        faults: what may be reported instead.
        lines: of the program; a fault may name one of them.
        output_chars: that a fault may bring along.
    """

    what: str
    seconds: float
    kind: Kind
    min_bytes: int = 0
    max_bytes: int = 0
    max_fault_bytes: int = 0
    faults: tuple[type[ProgramError], ...] = ()
    lines: int = 0
    output_chars: int = 0

    def check(self, kind: Kind, length: int) -> None:
        """Check that a frame with such a header may come.

        Raises:
            FrameError: it may not.
        """
        if kind == self.kind:
            shortest, longest = self.min_bytes, self.max_bytes
        elif kind == Kind.FAULT and self.faults:
            shortest, longest = FAULT_HEAD.size, self.max_fault_bytes
        else:
            raise FrameError(f"{kind.name} is no answer here")
        if not shortest <= length <= longest:
            wanted = f"{longest}" if shortest == longest else f"{shortest} to {longest}"
            raise FrameError(f"a reply of {length} bytes where {wanted} were asked for")

    def error(self, payload: memoryview) -> ProgramError:
        """Return the exception for a fault that is reported instead.

        Raises:
            FrameError: this fault cannot be.
        """
        fault = frames.parse_fault(payload)
        kind = REPORTED[fault.code]
        if kind not in self.faults:
            raise FrameError(f"{kind.__name__} cannot happen here")
        return kind(
            fault.message[:MAX_MESSAGE],
            line=fault.line if 1 <= fault.line <= self.lines else None,
            output=fault.output[: self.output_chars],
        )


#: What a process says when it is locked down, before it is given a program.
READY = Call("being locked down", 5.0, Kind.READY)


class Calls:
    """The requests to one program.

    Attributes:
        text_chars, output_chars: characters of a summary, and of all that is printed, with the note
            where it was cut.
        lines: of the program, at most.
    """

    def __init__(self, source: str, limits: Limits) -> None:
        self._limits = limits
        self.text_chars = limits.text_chars + _NOTE
        self.output_chars = limits.output_chars + _NOTE
        self.lines = 2 + sum(map(source.count, "\n\r"))

    def to(self, request: Kind, size: int = 0) -> Call:
        """Return the call of a kind; ``size``: bytes of the actions, or most of data."""
        longest = {
            Kind.SUMMARIZE: _WIDEST * self.text_chars,
            Kind.OUTPUT: _WIDEST * self.output_chars,
            Kind.LINES: LINE_HITS.size * self.lines,
        }.get(request, size)
        what, reply, limit, _ = REQUESTS[request]
        return Call(
            what,
            self._limits.seconds(limit),
            reply,
            min_bytes=size if request == Kind.ACT else 0,
            max_bytes=longest,
            max_fault_bytes=FAULT_HEAD.size + _WIDEST * (MAX_MESSAGE + self.output_chars),
            faults=possible_faults(request),
            lines=self.lines,
            output_chars=self.output_chars,
        )
