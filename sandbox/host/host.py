"""The host: one warm parent process, and one sandboxed process per program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, Self

from sandbox.errors import (
    Disturbed,
    IsolationUnavailable,
    ProgramError,
    SandboxError,
    SandboxFailed,
)
from sandbox.host.channel import Channel
from sandbox.host.counting import CountingPolicy
from sandbox.host.instances import Instances
from sandbox.host.policy import Policy
from sandbox.host.preparing import Preparation, Preparing, check_file, limits_to_prepare
from sandbox.host.session import Summarizer
from sandbox.host.warm_parent import WarmParent
from sandbox.interface import Interface, Limits, Place
from sandbox.isolation import Isolation
from sandbox.libraries import needed_libraries

#: How often a process is asked for, each time of a new warm parent if the last one failed.
_TRIES = 2


class Host:
    """Runs programs, each in a fresh sandboxed process; a context manager.

    A warm parent that dies or hangs is replaced for the next program; those that it had made end
    with ``SandboxFailed`` and can be made anew.

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
        self._parent = WarmParent()
        self.isolation = self._parent.isolation
        if self._strict and self.isolation.level != "strict":
            self.close()
            raise _missing("strict isolation is not available here", self.isolation.missing)

    @property
    def parent_pid(self) -> int:
        """Process id of the warm parent."""
        return self._parent.pid

    def policy(
        self,
        source: str,
        interface: Interface,
        limits: Limits | None = None,
        extra_imports: tuple[str, ...] = (),
        seed_key: bytes = b"",
        prepared: bytes = b"",
    ) -> Policy:
        """Compile a policy program in a new sandboxed process.

        Its generators start from a hash of the episode's seed under ``seed_key`` (at most 64
        bytes): with a key that its author does not know, they tell nothing of the seed.

        ``prepared``: the values that ``prepare`` returned. With them every object of the policy
        class is made as ``Policy(prepared)``, where it can be made with an argument.

        Raises:
            CompileError: the source is refused.
            ProgramError: the module fails while it is executed.
            SandboxFailed, Disturbed: the program is not at fault; try once more.
        """
        limits = limits or Limits()
        channel = self._spawn(source, limits, extra_imports)
        return Policy(
            channel, source, interface, limits, extra_imports, seed_key, prepared=prepared
        )

    def counting_policy(
        self,
        source: str,
        interface: Interface,
        limits: Limits | None = None,
        extra_imports: tuple[str, ...] = (),
        seed_key: bytes = b"",
        prepared: bytes = b"",
    ) -> CountingPolicy:
        """As ``policy``, of a program whose lines are counted while it acts; slower."""
        limits = limits or Limits()
        channel = self._spawn(source, limits, extra_imports)
        return CountingPolicy(
            channel, source, interface, limits, extra_imports, seed_key, prepared=prepared
        )

    def instances(
        self,
        source: str,
        places: Sequence[Place],
        interface: Interface,
        limits: Limits | None = None,
        extra_imports: tuple[str, ...] = (),
        seed_key: bytes = b"",
        prepared: bytes = b"",
    ) -> Instances:
        """As ``policy``, of a program whose slots have constants of their own at these places."""
        limits = limits or Limits()
        channel = self._spawn(source, limits, extra_imports)
        return Instances(
            channel, source, interface, limits, extra_imports, seed_key, places, prepared
        )

    def summarizer(
        self,
        source: str,
        interface: Interface,
        limits: Limits | None = None,
        extra_imports: tuple[str, ...] = (),
    ) -> Summarizer:
        """Compile a feedback program in a new sandboxed process; raises as ``policy`` does."""
        limits = limits or Limits()
        channel = self._spawn(source, limits, extra_imports)
        return Summarizer(channel, source, interface, limits, extra_imports)

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
        if data is not None:
            check_file(data)
        limits = limits_to_prepare(limits or Limits())
        channel = self._spawn(source, limits, extra_imports, apart=True, file=data)
        begun = channel.used
        try:
            with Preparing(channel, source, interface, limits, extra_imports, seed_key) as program:
                return program.run()
        except ProgramError as error:
            error.seconds = channel.used - begun
            raise

    def _spawn(
        self,
        source: str,
        limits: Limits,
        extra: tuple[str, ...],
        apart: bool = False,
        file: int | None = None,
    ) -> Channel:
        if self._closed:
            raise SandboxError("this sandbox host is closed")
        libraries = list(needed_libraries(source, extra))
        for tries in range(1, _TRIES + 1):
            try:
                if self._parent.lost:
                    self._replace_parent()
                return self._parent.spawn(libraries, limits, self._strict, apart, file)
            except SandboxFailed as error:
                self._parent.close()
                if tries == _TRIES:
                    raise SandboxFailed(f"{error.message} (tried {tries} times)") from None
            except Disturbed:
                if tries == _TRIES:
                    raise
        raise AssertionError  # the last try returns or raises

    def _replace_parent(self) -> None:
        parent = WarmParent()
        now, before = parent.isolation.protections, self.isolation.protections
        gone = {k: now.get(k, "not reported") for k, v in before.items() if v == "on"}
        gone = {name: why for name, why in gone.items() if why != "on"}
        if gone:
            parent.close()
            raise _missing("isolation is weaker than it was here", gone)
        self._parent = parent

    def close(self) -> None:
        """End the warm parent and all its children; calling it twice is harmless."""
        self._closed = True
        self._parent.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _missing(what: str, reasons: Mapping[str, str]) -> IsolationUnavailable:
    missing = "; ".join(f"{name}: {why}" for name, why in reasons.items())
    return IsolationUnavailable(f"{what} ({missing})")


def detect() -> Isolation:
    """Lock a process down and see what holds. Takes a fraction of a second."""
    with Host() as host:
        return host.isolation
