"""Loading and running one program; runs inside the sandboxed process.

Each slot (one lockstep episode) has a namespace of its own: the module is executed anew for every
fresh policy object, with its own random generators, so that episodes cannot influence each other
and results do not depend on how many of them run together.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from sandbox import actions, trajectory
from sandbox.errors import (
    BadAction,
    CompileError,
    MemoryLimit,
    PolicyError,
    ProgramError,
    TimeLimit,
)
from sandbox.interface import Box, Discrete, FloatArray, Interface, Limits
from sandbox.language import (
    FILENAME,
    Library,
    Printer,
    Randomness,
    compile_source,
    import_hook,
    importable,
    make_builtins,
    quoted,
    readable,
)
from sandbox.language.facades import Facade
from sandbox.tracebacks import describe

_MODULE = "policy"
_FLOAT64 = np.dtype(np.float64)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Task:
    """What the host sends first."""

    source: str
    interface: Interface
    limits: Limits
    extra_imports: tuple[str, ...] = ()


@dataclass
class _Slot:
    """One lockstep episode."""

    randomness: Randomness
    policy: Any = None
    steps: int = 0


class Program:
    """A compiled program and what its namespaces are made of."""

    def __init__(self, task: Task, libraries: Mapping[str, Facade]) -> None:
        """Check and compile.

        Raises:
            CompileError: the source is refused.
        """
        if len(task.source) > task.limits.source_chars:
            raise CompileError(f"the source is longer than {task.limits.source_chars} characters")
        self.task = task
        self.printer = Printer(task.limits.output_chars)
        self._libraries = libraries
        self._code = compile_source(task.source, importable(task.extra_imports))
        self.observe = _observation_class(task.interface.observation_source)
        # dataclasses look their module up by name.
        sys.modules[_MODULE] = types.ModuleType(_MODULE)

    def load(self, randomness: Randomness, class_name: str, method: str) -> type[Any]:
        """Execute the module in a new namespace and return the class ``class_name``.

        Raises:
            CompileError: there is no such class, or it has no such method.
        """
        library = Library(randomness, self._libraries)
        namespace: dict[str, Any] = {
            "__builtins__": make_builtins(self.printer, library.find, import_hook),
            "__name__": _MODULE,
            "np": library.numpy,
            "math": library.find("math"),
        }
        if "random" in self.task.source:
            namespace["random"] = library.find("random")
        if self.observe is not None:
            namespace["Observation"] = self.observe
        exec(self._code, namespace)  # noqa: S102 - this is what the sandbox is for
        found = namespace.get(class_name)
        if not isinstance(found, type):
            raise CompileError(f"the program must define `class {class_name}` at its top level")
        if not callable(getattr(found, method, None)):
            raise CompileError(f"class {class_name} must define a method `{method}`")
        return found

    def late(self, frame: FrameType | None, what: str) -> TimeLimit:
        """The report about a call that takes too long; ``frame`` is where it is now."""
        slot, step = self.now()
        lines = []
        while frame is not None:
            if frame.f_code.co_filename == FILENAME:
                lines.append((frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        text = f"{what} did not return in time; make it do less per call"
        if not lines:
            return TimeLimit(text, slot=slot, step=step)
        line, function = lines[0]
        place = f"\nit was at line {line}, in {readable(function)}"
        return TimeLimit(
            text + place + quoted(self.task.source, line), line=line, slot=slot, step=step
        )

    def now(self) -> tuple[int | None, int | None]:
        """The slot and the step that run now, where there are such."""
        return None, None

    def failed(self, error: BaseException, slot: int = -1, step: int = -1) -> ProgramError:
        """The report about an exception that left the program."""
        where = f"in act() number {step} of episode slot {slot}:\n" if step >= 0 else ""
        text, line = describe(error, self.task.source)
        kind: type[ProgramError] = PolicyError
        if isinstance(error, MemoryError):
            kind = MemoryLimit
            text += f"\nthe limit is {self.task.limits.memory_mb} MB"
        elif isinstance(error, actions.ActionError):
            kind, text = BadAction, str(error)
        return kind(
            where + text,
            line=line if line >= 0 else None,
            slot=slot if slot >= 0 else None,
            step=step if step >= 0 else None,
        )


def _observation_class(source: str | None) -> Callable[[FloatArray], Any] | None:
    """The class from trusted source text."""
    if source is None:
        return None
    namespace: dict[str, Any] = {"np": np, "math": math, "__name__": "observation"}
    exec(compile(source, "<observation>", "exec", dont_inherit=True), namespace)  # noqa: S102 - trusted: it comes with the task
    found: Callable[[FloatArray], Any] = namespace["Observation"]
    return found


@dataclass
class _Group:
    """Slots that act together, looked up once; ``acts`` is added to their steps in the end."""

    numbers: Sequence[int]
    slots: Sequence[_Slot]
    policies: Sequence[Any]
    acts: int = 0


class PolicyProgram(Program):
    """A program with a ``Policy`` class, acting in several slots."""

    def __init__(self, task: Task, libraries: Mapping[str, Facade]) -> None:
        super().__init__(task, libraries)
        self._convert = actions.converter(task.interface.action)
        self._slots: dict[int, _Slot] = {}
        self._groups: dict[bytes, _Group] = {}
        self._running: tuple[_Group, list[Any]] = (_Group((), (), ()), [])
        self._guarded(lambda: self._policy_class(Randomness(0)))

    def _policy_class(self, randomness: Randomness) -> type[Any]:
        return self.load(randomness, self.task.interface.policy_class, "act")

    def _new_policy(self, randomness: Randomness) -> object:
        return self._policy_class(randomness)()

    def _guarded(self, run: Callable[[], _Result], slot: int = -1) -> _Result:
        try:
            return run()
        except ProgramError:
            raise
        except BaseException as error:
            raise self.failed(error, slot) from None

    def now(self) -> tuple[int | None, int | None]:
        """The slot and the step whose action is missing."""
        group, found = self._running
        if len(found) >= len(group.numbers):
            return None, None
        return self._place(len(found))

    def reset(self, slots: Sequence[int], seeds: Sequence[int], fresh: bool) -> None:
        """Begin an episode in each slot."""
        for group in self._groups.values():
            for slot in group.slots:
                slot.steps += group.acts
        self._groups.clear()
        for number, seed in zip(slots, seeds, strict=True):
            self._reset(number, seed, fresh)

    def _reset(self, number: int, seed: int, fresh: bool) -> None:
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = _Slot(Randomness(seed))
        else:
            slot.randomness.seed(seed)
        slot.steps = 0
        if fresh or slot.policy is None:
            slot.policy = self._guarded(partial(self._new_policy, slot.randomness), number)
            return
        restart = getattr(slot.policy, "reset", None)
        if callable(restart):
            self._guarded(restart, number)

    def _group(self, slots: bytes) -> _Group:
        group = self._groups.get(slots)
        if group is None:
            numbers = memoryview(slots).cast("q").tolist()
            found = [self._slots[number] for number in numbers]
            group = self._groups[slots] = _Group(numbers, found, [slot.policy for slot in found])
        return group

    def act(self, slots: bytes, rows: Iterable[FloatArray]) -> FloatArray:
        """One action per slot, float64 ``(k, action.size)``.

        ``slots`` are int64 numbers as they came; ``rows`` are owned by the policies.
        """
        group = self._group(slots)
        found: list[Any] = []
        self._running = group, found
        observe = self.observe
        observations = rows if observe is None else map(observe, rows)
        space = self.task.interface.action
        try:
            if isinstance(space, Discrete):
                self._act_discrete(group, observations, found.append, space)
                result = np.array(found, np.float64)
            else:
                self._act_continuous(group, observations, found.append, space.size)
                result = np.concatenate(found)
        except BaseException as error:
            raise self.failed(error, *self._place(len(found))) from None
        result = result.reshape(len(found), space.size)
        bad = actions.first_not_finite(result)
        if bad is not None:
            raise self.failed(actions.not_finite(result[bad]), *self._place(bad))
        group.acts += 1
        return result

    def _place(self, index: int) -> tuple[int, int]:
        """Slot and step of one action of the running group."""
        number = self._running[0].numbers[index]
        acts = sum(g.acts for g in self._groups.values() if number in g.numbers)
        return number, self._slots[number].steps + acts

    def _act_discrete(
        self,
        group: _Group,
        observations: Iterable[Any],
        keep: Callable[[Any], None],
        space: Discrete,
    ) -> None:
        # The usual int in range costs no call.
        convert, low, high = self._convert, space.start, space.start + space.n
        for policy, observation in zip(group.policies, observations, strict=True):
            action = policy.act(observation)
            keep(action if type(action) is int and low <= action < high else convert(action))

    def _act_continuous(
        self, group: _Group, observations: Iterable[Any], keep: Callable[[Any], None], size: int
    ) -> None:
        # The usual float64 vector of the right length costs no call. Box only: the numbers of
        # other spaces are always checked.
        convert, shape = self._convert, (size,)
        expected = _FLOAT64 if self.task.interface.action == Box(shape) else None
        for policy, observation in zip(group.policies, observations, strict=True):
            action = policy.act(observation)
            usual = type(action) is np.ndarray and action.dtype is expected
            keep(action if usual and action.shape == shape else convert(action))


class FeedbackProgram(Program):
    """A program with a ``Feedback`` class; one object serves all episodes."""

    def __init__(self, task: Task, libraries: Mapping[str, Facade]) -> None:
        super().__init__(task, libraries)
        try:
            found = self.load(Randomness(0), task.interface.feedback_class, "summarize_trajectory")
            self._feedback = found()
        except ProgramError:
            raise
        except BaseException as error:
            raise self.failed(error) from None

    def summarize(self, episode: trajectory.Trajectory) -> str:
        """The summary, cut to the limit with a note where it was."""
        try:
            text = self._feedback.summarize_trajectory(episode)
        except BaseException as error:
            raise self.failed(error) from None
        if not isinstance(text, str):
            name = type(text).__name__
            raise PolicyError(f"summarize_trajectory() must return a string, not {name}")
        text = str.__str__(text)
        limit = self.task.limits.text_chars
        if len(text) <= limit:
            return text
        return f"{text[:limit]}\n[summary cut here: {len(text) - limit} more characters]"
