"""A program as the host sees it: what it is made of, and the processes that it runs in."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from types import CodeType
from typing import Self, TypeVar

from sandbox import frames
from sandbox.errors import ProgramError, ProtocolError
from sandbox.frames import FrameError, Kind
from sandbox.host.channel import Channel
from sandbox.host.replies import Calls
from sandbox.interface import Interface, Limits, Place

T = TypeVar("T")

#: Bytes of compiled code, at most. The longest source needs less.
_LONGEST_CODE = 32 << 20


@dataclass
class Program:
    """A program, whose processes are all given the same.

    The first process compiles the source, before anything of it runs, and returns the code; the
    others are given that. The host does not look into it: only processes of this program do.

    Attributes:
        source: a module in the sandboxed language.
        interface: how it is spoken to.
        limits: what each of its processes may use.
        extra_imports: modules that it may import besides.
        seed_key: its generators start from a hash of the episode's seed under this key (at most
            64 bytes): with one that its author does not know, they tell nothing of the seed.
        prepared: the values that ``prepare`` returned. With them every object of the policy class
            is made as ``Policy(prepared)``, where it can be made with an argument.
        places: where numbers stand in the text that each episode has values of its own for.
        role: "policy"; "counting", with lines that are counted (``Policy.line_hits``), several
            times slower; "feedback"; "prepare".
        code: compiled; empty until a process has done it.
    """

    source: str
    interface: Interface
    limits: Limits = field(default_factory=Limits)
    extra_imports: tuple[str, ...] = ()
    seed_key: bytes = b""
    prepared: bytes = b""
    places: Sequence[Place] = ()
    role: str = "policy"
    code: bytes = b""

    def __post_init__(self) -> None:
        self.calls = Calls(self.source, self.limits)
        self._tasks: dict[bool, bytes] = {}

    def task(self) -> bytes:
        """Return the payload that starts a process: with the source, or with what it became."""
        compiled = bool(self.code)
        if compiled not in self._tasks:
            self._tasks[compiled] = self._packed()
        return self._tasks[compiled]

    def _packed(self) -> bytes:
        action = self.interface.action
        interface = asdict(replace(self.interface, observation_source=None))
        del interface["action"]
        return marshal.dumps(
            {
                "role": self.role,
                "source": self.source,
                "interface": interface,
                "action": (type(action).__name__, asdict(action)),
                "limits": asdict(self.limits),
                "extra_imports": tuple(self.extra_imports),
                "places": tuple(map(tuple, self.places)),
                "compiled": self.code,
                "observation": _compiled(self.interface.observation_source or ""),
                "prepared": self.prepared,
            }
        )


@lru_cache
def _compiled(trusted: str) -> CodeType | None:
    """Return the code of the task's own source."""
    return compile(trusted, "<observation>", "exec", dont_inherit=True) if trusted else None


class Session:
    """One process of a program. After any error it is dead; make a new one."""

    def __init__(self, program: Program, channel: Channel, start: bool = True) -> None:
        """``start``: give the process the program; otherwise it has it already."""
        self.program = program
        self.channel = channel
        self._output = ""
        if not start:
            return
        try:
            code = self.ask(Kind.START, program.task(), _LONGEST_CODE)
            program.code = program.code or bytes(code)
        except BaseException:
            channel.kill()
            raise

    def ask(self, kind: Kind, payload: bytes = b"", size: int = 0) -> memoryview:
        """Return the answer to one request; where it is data, of at most ``size`` bytes.

        Raises:
            ProgramError: the program failed.
            SandboxFailed, Disturbed: it is not at fault.
        """
        try:
            return self.channel.request(kind, payload, self.program.calls.to(kind, size))
        except ProgramError as error:
            self._output = error.output or self._output
            raise

    def parsed(self, parse: Callable[[], T]) -> T:
        """Return what ``parse`` makes of an answer; where it is none, the program is at fault."""
        try:
            return parse()
        except (FrameError, ValueError) as error:
            self.close()
            raise ProtocolError(f"the program broke the protocol: {error}") from None

    @property
    def pid(self) -> int:
        """Process id of the program's process."""
        return self.channel.pid

    @property
    def alive(self) -> bool:
        """True where the process can be asked something."""
        return self.channel.alive

    @property
    def output(self) -> str:
        """Text that the program has printed, capped, with a note where it was cut."""
        if self.channel.alive:
            try:
                reply = self.ask(Kind.OUTPUT)
            except ProgramError:
                return self._output
            self._output = frames.clean(reply, self.program.calls.output_chars)
        return self._output

    def close(self) -> None:
        """End the process; calling it twice is harmless."""
        self.channel.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
