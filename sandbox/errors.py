"""Everything that can go wrong, as one exception tree.

    SandboxError
    ├── IsolationUnavailable      the level that was asked for cannot be had on this machine
    ├── SandboxFailed             "sandbox"     the warm parent died, hangs, or cannot fork
    ├── Disturbed                 "disturbed"   something outside killed or stopped the process
    └── ProgramError              the program is at fault; its process is dead
        ├── CompileError          "compile"     refused, or not Python
        ├── PolicyError           "exception"   raised while it ran
        │   └── BadAction         "bad_action"  act() returned something that is no action
        ├── TimeLimit             "timeout"
        ├── MemoryLimit           "memory"
        ├── ProtocolError         "protocol"    the process wrote something that is no reply
        └── ProcessDied           "died"        it crashed, or ended itself

After SandboxFailed and Disturbed the same program may be tried once more: it is not at fault.
The ``message`` of a ProgramError is written for the author of the program: it names lines of that
program and what to write instead, never a path of the host.
"""

from __future__ import annotations

from typing import ClassVar


class SandboxError(Exception):
    """Base of the tree. ``message`` says what is wrong; ``kind`` is a short slug."""

    kind: ClassVar[str] = "sandbox"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class IsolationUnavailable(SandboxError):
    """The isolation level that was asked for is not available here; one line."""

    kind = "isolation"


class SandboxFailed(SandboxError):
    """The sandbox's own processes failed. All programs of that warm parent are gone."""

    kind = "sandbox"


class Disturbed(SandboxError):
    """Something outside ended a program's process, or kept it from running."""

    kind = "disturbed"


class ProgramError(SandboxError):
    """A fault of the sandboxed program.

    ``line`` is a line of the program (from 1) where known; ``step`` is the number of the ``act``
    call in its episode (from 0) where it was one. ``output`` is what the program had printed;
    ``seconds`` is the processor time that ``prepare`` had used.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        step: int | None = None,
        output: str = "",
    ) -> None:
        super().__init__(message)
        self.line = line
        self.step = step
        self.output = output
        self.seconds = 0.0


class CompileError(ProgramError):
    """The source is not Python, uses a construct that is refused, or lacks the expected class."""

    kind = "compile"


class PolicyError(ProgramError):
    """The program raised an exception (of any kind, ``SystemExit`` included)."""

    kind = "exception"


class BadAction(PolicyError):
    """``act`` returned something that is not an action of the task."""

    kind = "bad_action"


class TimeLimit(ProgramError):
    """The program did not answer in time."""

    kind = "timeout"


class MemoryLimit(ProgramError):
    """The program needed more memory than it may use."""

    kind = "memory"


class ProtocolError(ProgramError):
    """The sandboxed process wrote something that is not a reply to what it was asked."""

    kind = "protocol"


class ProcessDied(ProgramError):
    """The sandboxed process ended without a reply."""

    kind = "died"


#: The faults that the sandboxed process reports itself; the position is the code on the wire.
REPORTED: tuple[type[ProgramError], ...] = (
    CompileError,
    PolicyError,
    BadAction,
    MemoryLimit,
    TimeLimit,
)
