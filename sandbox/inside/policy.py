"""A program with a ``Policy`` class: it plays one episode at a time."""

from __future__ import annotations

import copy
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from sandbox.errors import PolicyError, ProgramError
from sandbox.frames import LINE_HITS, Kind
from sandbox.inside.actions import converter
from sandbox.inside.faults import fault_payload
from sandbox.inside.program import Program, Task
from sandbox.interface import FloatArray
from sandbox.language import FILENAME, Runtime, quoted, readable, shortened
from sandbox.tracing import MAX_STEPS, Column, pack

_MISSING = object()


class PolicyProgram(Program):
    """A program with a ``Policy`` class.

    Attributes:
        seats: this, and one like it for each further episode that is played at the same time.
        failure: the payload of the fault for which its episode ended; empty while it goes on.
    """

    def __init__(self, task: Task, runtime: Runtime) -> None:
        super().__init__(task, runtime)
        self._convert = converter(task.interface.action)
        self._policy: Any = None
        self._act: Callable[[Any], Any]
        self._samples: _Samples | None = None
        self.seats = [self]
        self.failure = b""

    def seat(self, number: int) -> PolicyProgram:
        """Return what plays a seat's episode; seats share nothing but the compiled code."""
        while number >= len(self.seats):
            self.seats.append(copy.copy(self))
        return self.seats[number]

    def begin(self, seed: int, fresh: bool, traced: bool, constants: Sequence[float]) -> None:
        """Begin an episode: with a new object in a new namespace, or with the one that there is."""
        self.failure = b""
        try:
            self.runtime.randomness.seed(seed)
            if fresh or self._policy is None:
                self._policy = None  # the old namespace can go
                self.printer.clear()
                cls = self.load(self.task.interface.policy_class, "act", constants)
                prepared = self.task.prepared
                takes = prepared is not None and _takes_one(cls)
                self._policy = cls(prepared) if takes else cls()
            elif callable(restart := getattr(self._policy, "reset", None)):
                restart()
            self._act = self._policy.act
            self._check_traced()
        except ProgramError:
            raise
        except BaseException as error:
            raise self.failed(error) from None
        names = self.compiled.traced
        self._samples = _Samples(self._policy, names) if traced and names else None

    def _check_traced(self) -> None:
        """Check that what ``TRACE`` names can be looked up in the object.

        Raises:
            PolicyError: it is a slot of another class.
        """
        cls = type(self._policy)
        for written, attribute in self.compiled.traced.items():
            member = inspect.getattr_static(cls, attribute, None)
            if not isinstance(member, types.MemberDescriptorType):
                continue
            if member.__objclass__ not in cls.__mro__:
                line, owner = self.compiled.line, readable(member.__objclass__.__name__)
                raise PolicyError(
                    f"line {line}: `{written}` in `TRACE` is a slot of class {shortened(owner)};"
                    f" name attributes of self{quoted(self.task.source, line)}",
                    line=line,
                )

    def act(self, row: FloatArray, action: FloatArray) -> None:
        """Write the action for an observation, an array of its own, into ``(action.size,)``."""
        observe = self.observe
        try:
            action[:] = self._convert(self._act(row if observe is None else observe(row)))
        except BaseException as error:
            raise self.failed(error) from None
        if self._samples is not None:
            self._samples.take()

    def fail(self, error: ProgramError, action: FloatArray) -> None:
        """End the episode alone: keep the fault, and write NaN for the action."""
        self.failure = fault_payload(error, Kind.ACT, "")
        action.fill(np.nan)

    def samples(self) -> bytes:
        """Return the trace of the episode so far."""
        return pack(self._samples.columns if self._samples is not None else {})


def _takes_one(cls: type[Any]) -> bool:
    """Tell whether objects of the class are made with an argument."""
    try:
        inspect.signature(cls).bind(None)
    except (TypeError, ValueError):
        return False
    return True


class _Samples:
    """Values of the attributes that a policy's class names, sampled after each act.

    Sampling looks an attribute up where objects keep them and runs no code of the program: a
    property is not called, so that a program behaves the same whether it is traced or not.
    """

    def __init__(self, policy: object, names: dict[str, str]) -> None:
        self.columns = {name: Column() for name in names}
        self._policy = policy
        self._held: dict[str, Any] = getattr(policy, "__dict__", {})
        self._pairs = [(self.columns[name], attribute) for name, attribute in names.items()]
        self._left = MAX_STEPS

    def take(self) -> None:
        """Sample once more, up to the limit."""
        if not self._left:
            return
        self._left -= 1
        for column, attribute in self._pairs:
            value = self._held.get(attribute, _MISSING)
            column.add(self._of_class(attribute) if value is _MISSING else value)

    def _of_class(self, attribute: str) -> object:
        """Return a constant of the class, or what a slot of the object holds."""
        for kind in type(self._policy).__mro__:
            value = vars(kind).get(attribute, _MISSING)
            if isinstance(value, types.MemberDescriptorType):
                try:
                    return value.__get__(self._policy)
                except (AttributeError, TypeError):  # empty, or by now of another class
                    return None
            if value is not _MISSING:
                return value
        return None


class CountingProgram(PolicyProgram):
    """A policy program that counts in how many acts each of its lines runs.

    The interpreter's own trace function does it. It takes several times as long as running the
    program, so it is for episodes that are played again to be looked at.
    """

    def __init__(self, task: Task, runtime: Runtime) -> None:
        super().__init__(task, runtime)
        self._hits: dict[int, int] = {}
        self._seen: set[int] = set()

    def begin(self, seed: int, fresh: bool, traced: bool, constants: Sequence[float]) -> None:
        """Begin as any policy does; lines that run meanwhile count as reached, in no act."""
        self._count()
        super().begin(seed, fresh, traced, constants)
        self._settle(0)

    def act(self, row: FloatArray, action: FloatArray) -> None:
        """Act as any policy does; the lines that run count once."""
        self._count()
        super().act(row, action)
        self._settle(1)

    def lines(self) -> bytes:
        """Return each line that has run, in order, and in how many acts."""
        return b"".join(LINE_HITS.pack(*pair) for pair in sorted(self._hits.items()))

    def _count(self) -> None:
        """Count from here on.

        A recursion that is too deep for the trace function ends it, for the rest of that act.
        """
        if sys.gettrace() is not None:
            return
        seen = self._seen.add

        def line(frame: FrameType, event: str, _: object) -> object:
            if event == "line":
                seen(frame.f_lineno)
            return line

        def enter(frame: FrameType, event: str, _: object) -> object:
            return line if frame.f_code.co_filename == FILENAME else None

        sys.settrace(enter)  # type: ignore[arg-type]

    def _settle(self, acts: int) -> None:
        for number in self._seen:
            self._hits[number] = self._hits.get(number, 0) + acts
        self._seen.clear()
