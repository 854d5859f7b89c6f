"""The host: warm parent processes, and sandboxed processes for programs."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

from sandbox.errors import (
    Disturbed,
    IsolationUnavailable,
    ProgramError,
    SandboxError,
    SandboxFailed,
)
from sandbox.host.channel import Channel
from sandbox.host.lockstep import Lockstep, keeps_lockstep
from sandbox.host.policy import (
    Policy,
    Preparation,
    Preparing,
    Summarizer,
)
from sandbox.host.session import Program
from sandbox.host.warm_parent import WarmParent
from sandbox.interface import Interface, Limits
from sandbox.isolation import Isolation
from sandbox.libraries import needed_libraries

#: How often a process is asked for, each time of a new warm parent if the last one failed.
_TRIES = 2


class Host:
    """Runs programs in sandboxed processes; a context manager.

    A warm parent that dies or hangs is replaced for the next process; those that it had made end
    with ``SandboxFailed`` and can be made anew. There is one for each set of libraries that
    programs ask for, so that none can tell what others have asked for.

    Use it from one thread. Processes inherit the processor affinity that the caller has when it
    makes the host: pin first to keep both sides on one core.

    Args:
        require: "strict" refuses to work below the full set of protections.

    Raises:
        IsolationUnavailable: the required level cannot be had here.
        SandboxFailed: the warm parent did not start.
    """

    def __init__(self, require: Literal["auto", "strict"] = "auto") -> None:
        if require not in ("auto", "strict"):
            raise ValueError(f'require must be "auto" or "strict", not {require!r}')
        self._strict = require == "strict"
        self._closed = False
        parent = WarmParent()
        self._parents: dict[tuple[str, ...], WarmParent] = {(): parent}
        self.isolation = parent.isolation
        if self._strict and self.isolation.level != "strict":
            self.close()
            raise _missing("strict isolation is not available here", self.isolation.missing)

    @property
    def parent_pid(self) -> int:
        """Process id of the warm parent of programs that need no libraries."""
        return self._parents[()].pid

    def open(self, program: Program) -> Policy:
        """Start a process of a policy program; several are independent of each other.

        Raises:
            CompileError: the source is refused.
            SandboxFailed, Disturbed: the program is not at fault; try once more.
        """
        self._compile(program)
        return Policy(program, self._spawn(program))

    def _compile(self, program: Program) -> None:
        """In a process that plays nothing: memory shows what a process has done before."""
        if not program.code:
            Policy(program, self._spawn(program)).close()

    def lockstep(self, program: Program, count: int) -> Lockstep | None:
        """Start a process that plays so many episodes at a time, each with the time of one.

        Return None where each needs its own (``keeps_lockstep``). Raises as ``open`` does.
        """
        if not keeps_lockstep(program):
            return None
        self._compile(program)
        limits = replace(program.limits, total_seconds=count * program.limits.total_seconds)
        program = replace(program, limits=limits)
        return Lockstep(program, self._spawn(program), count)

    def policy(
        self,
        source: str,
        interface: Interface,
        limits: Limits | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Policy:
        """Start the one process of a policy program; ``options`` are other fields of Program."""
        return self.open(Program(source, interface, limits or Limits(), **options))

    def summarizer(
        self,
        source: str,
        interface: Interface,
        limits: Limits | None = None,
        extra_imports: tuple[str, ...] = (),
    ) -> Summarizer:
        """Start a process of a feedback program.

        Raises:
            CompileError: the source is refused.
            ProgramError: the module fails while it is executed.
            SandboxFailed, Disturbed: the program is not at fault; try once more.
        """
        limits = limits or Limits()
        program = Program(source, interface, limits, extra_imports, role="feedback")
        return Summarizer(program, self._spawn(program))

    def prepare(
        self,
        source: str,
        data: int | None,
        interface: Interface,
        limits: Limits | None = None,
        extra_imports: tuple[str, ...] = (),
        seed_key: bytes = b"",
    ) -> Preparation:
        """Run ``prepare(data)`` of a program once, in a sandboxed process of its own.

        Args:
            source: a program with that function at its top level, and a policy class.
            data: descriptor, open for reading only, of a file that ``sandbox.write_recorded`` has
                written and nobody alters; it stays open. None: there is no episode yet.
            interface: of the policies.
            limits: ``prepare_seconds`` and ``init_seconds`` hold in place of the total.
            extra_imports: as for a policy.
            seed_key: with the program's text, what its generators start from.

        Raises:
            ProgramError: the program failed, or returned what cannot be kept; ``seconds`` of it is
                the processor time that was used.
            SandboxFailed, Disturbed: the program is not at fault; try once more.
            ValueError: the file could be written to, or is empty.
        """
        if data is not None and fcntl.fcntl(data, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
            raise ValueError("the file for prepare must be open for reading only")
        if data is not None and not os.fstat(data).st_size:
            raise ValueError("the file for prepare is empty")
        limits = limits or Limits()
        limits = replace(limits, total_seconds=limits.init_seconds + limits.prepare_seconds)
        program = Program(source, interface, limits, extra_imports, seed_key, role="prepare")
        channel = self._spawn(program, file=data)
        begun = channel.used
        try:
            with Preparing(program, channel) as session:
                return session.run()
        except ProgramError as error:
            error.seconds = channel.used - begun
            raise

    def _spawn(self, program: Program, file: int | None = None) -> Channel:
        if self._closed:
            raise SandboxError("this sandbox host is closed")
        libraries = needed_libraries(program.source, program.extra_imports)
        for tries in range(1, _TRIES + 1):
            try:
                return self._parent(libraries).spawn(program.limits, self._strict, file)
            except SandboxFailed as error:
                if tries == _TRIES:
                    raise SandboxFailed(f"{error.message} (tried {tries} times)") from None
            except Disturbed:
                if tries == _TRIES:
                    raise
        raise AssertionError  # the last try returns or raises

    def _parent(self, libraries: tuple[str, ...]) -> WarmParent:
        """Return the warm parent with these libraries, a new one where there is none alive."""
        parent = self._parents.get(libraries)
        if parent is not None and not parent.lost:
            return parent
        if parent is not None:
            parent.close()
        parent = WarmParent(libraries)
        now, before = parent.isolation.protections, self.isolation.protections
        gone = {k: now.get(k, "not reported") for k, v in before.items() if v == "on"}
        gone = {name: why for name, why in gone.items() if why != "on"}
        if gone:
            parent.close()
            raise _missing("isolation is weaker than it was here", gone)
        self._parents[libraries] = parent
        return parent

    def close(self) -> None:
        """End the warm parents and all their children; calling it twice is harmless."""
        self._closed = True
        for parent in self._parents.values():
            parent.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _missing(what: str, reasons: Mapping[str, str]) -> IsolationUnavailable:
    missing = "; ".join(f"{name}: {why}" for name, why in reasons.items())
    return IsolationUnavailable(f"{what} ({missing})")


def detect() -> Isolation:
    """Lock a process down and report what holds. Takes a fraction of a second."""
    with Host() as host:
        return host.isolation
