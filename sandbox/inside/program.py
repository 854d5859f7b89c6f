"""Loading and running one program."""

from __future__ import annotations

import math
import mmap
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from sandbox.errors import BadAction, CompileError, MemoryLimit, PolicyError, ProgramError
from sandbox.inside.actions import ActionError, shown
from sandbox.inside.data import Named, RecordedData, Trajectory
from sandbox.inside.faults import describe
from sandbox.interface import FloatArray, Interface, Limits, Place
from sandbox.language import (
    Compiled,
    Runtime,
    compile_source,
    importable,
    readable,
    shortened,
)
from sandbox.prepared import pack


@dataclass(frozen=True)
class Task:
    """A program and all that its process needs; the host sends it first."""

    source: str
    interface: Interface
    limits: Limits
    role: str = "policy"
    extra_imports: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    compiled: bytes = b""
    observation: types.CodeType | None = None
    prepared: Named | None = None


def observation_class(code: types.CodeType | None) -> Callable[[FloatArray], Any] | None:
    """Return the class ``Observation``, or None where observations are plain vectors."""
    if code is None:
        return None
    namespace: dict[str, Any] = {"np": np, "math": math, "__name__": "observation"}
    exec(code, namespace)  # noqa: S102 - trusted: it comes with the task
    observation: Callable[[FloatArray], Any] = namespace["Observation"]
    return observation


class Program:
    """A compiled program and what its namespaces are made of."""

    def __init__(self, task: Task, runtime: Runtime) -> None:
        """Check and compile, unless an earlier process has done it.

        Raises:
            CompileError: the source is refused.
        """
        if len(task.source) > task.limits.source_chars:
            raise CompileError(f"the source is longer than {task.limits.source_chars} characters")
        self.task = task
        self.runtime = runtime
        self.printer = runtime.printer
        self.printer.limit = task.limits.output_chars
        if task.compiled:
            self.compiled = Compiled.unpacked(task.compiled)
        else:
            offer = importable(task.extra_imports)
            policy_class = task.interface.policy_class
            self.compiled = compile_source(task.source, offer, policy_class, task.places)
        self.observe = observation_class(task.observation)

    def observed(self, row: FloatArray) -> Any:  # noqa: ANN401 - the vector, or an object of the task's class
        """Return the observation that a vector of numbers is."""
        return row if self.observe is None else self.observe(row)

    def load(self, class_name: str, method: str, constants: Sequence[float] = ()) -> type[Any]:
        """Execute the module in a new namespace and return the class ``class_name``.

        Raises:
            CompileError: there is no such class, or it has no such method.
        """
        return self.find(self.execute(constants), class_name, method)

    def execute(self, constants: Sequence[float] = ()) -> dict[str, Any]:
        """Return a new namespace in which the module was executed.

        ``constants`` are other values for numbers of the text (``Task.places``).
        """
        namespace = self.runtime.namespace()
        if self.observe is not None:
            namespace["Observation"] = self.observe
        namespace |= self.compiled.numbers(self.task.places, constants)
        exec(self.compiled.code, namespace)  # noqa: S102 - this is what the sandbox is for
        return namespace

    @staticmethod
    def find(namespace: Mapping[str, Any], class_name: str, method: str) -> type[Any]:
        """Return the class ``class_name``.

        Raises:
            CompileError: there is none, or it has no such method.
        """
        cls = namespace.get(class_name)
        if not isinstance(cls, type):
            raise CompileError(f"the program must define `class {class_name}` at its top level")
        if not callable(getattr(cls, method, None)):
            raise CompileError(f"class {class_name} must define a method `{method}`")
        return cls

    def failed(self, error: BaseException) -> ProgramError:
        """Return the report about an exception that left the program."""
        if isinstance(error, ProgramError):
            return error
        text, line = describe(error, self.task.source)
        kind: type[ProgramError] = PolicyError
        if isinstance(error, MemoryError):
            kind = MemoryLimit
            text += f"\nthe limit is {self.task.limits.memory_mb} MB"
        elif isinstance(error, ActionError):
            kind, text = BadAction, str(error)
        return kind(text, line=line if line >= 0 else None)


class FeedbackProgram(Program):
    """A program with a ``Feedback`` class; one object serves all episodes."""

    def __init__(self, task: Task, runtime: Runtime) -> None:
        super().__init__(task, runtime)
        try:
            cls = self.load(task.interface.feedback_class, "summarize_trajectory")
            self._feedback = cls()
        except BaseException as error:
            raise self.failed(error) from None

    def summarize(self, episode: Trajectory) -> str:
        """Return the summary, cut to the limit with a note where it was."""
        try:
            text = self._feedback.summarize_trajectory(episode)
        except BaseException as error:
            raise self.failed(error) from None
        if not isinstance(text, str):
            name = shortened(readable(type(text).__name__))
            raise PolicyError(f"summarize_trajectory() must return a string, not {name}")
        text = readable(str.__str__(text))
        limit = self.task.limits.text_chars
        if len(text) <= limit:
            return text
        return f"{text[:limit]}\n[summary cut here: {len(text) - limit} more characters]"


_PREPARE = "prepare"
_WANTED = "prepare() must return a dict of numbers, arrays of numbers and short strings, by name"


class PrepareProgram(Program):
    """A program with a function ``prepare`` at its top level, which runs once."""

    def __init__(self, task: Task, runtime: Runtime, recorded: mmap.mmap | None) -> None:
        """``recorded``: pages of a file of ``sandbox.write_recorded``; None: no episode."""
        super().__init__(task, runtime)
        self._recorded = recorded

    def prepare(self, seed: int) -> bytes:
        """Return what it returns, packed; its generators start from ``seed``.

        Raises:
            ProgramError: it fails, or returns something else.
        """
        try:
            self.runtime.randomness.seed(seed)
            namespace = self.execute()
            self.find(namespace, self.task.interface.policy_class, "act")
            function = _prepare(namespace)
            data = RecordedData(self.task.interface, self._recorded)
            return _packed(function(data))
        except BaseException as error:
            raise self.failed(error) from None


def _prepare(namespace: Mapping[str, Any]) -> Callable[[RecordedData], object]:
    function: Any = namespace.get(_PREPARE)
    if not callable(function):
        raise CompileError("the program must define `def prepare(data):` at its top level")
    found: Callable[[RecordedData], object] = function
    return found


def _packed(returned: object) -> bytes:
    """Pack what ``prepare`` returned; lists of real numbers become arrays."""
    if type(returned) is not dict:
        raise PolicyError(f"{_WANTED}; not {shown(returned, 'prepare()')}")
    values: dict[str, Any] = {}
    for name, value in returned.items():
        if type(name) is not str:
            raise PolicyError(f"{_WANTED}; a name in it is {shown(name, 'prepare()')}")
        values[readable(name)] = _plain(name, value)
    try:
        return pack(values)
    except ValueError as error:
        raise PolicyError(f"prepare() returned what cannot be kept: {error}") from None


def _plain(name: str, value: object) -> object:
    """Return ``value`` if it can be packed, or the array of what it lists."""
    if isinstance(value, np.str_):
        return str.__str__(value)
    if type(value) in (float, int, bool, str, np.ndarray) or isinstance(value, np.generic):
        return value
    hint = (
        "cannot be kept; make it a number, an array of real numbers or a short string (of a dict,"
        " give each entry a name of its own)"
    )
    if type(value) in (list, tuple):
        with suppress(Exception):  # ragged, or hostile
            array = np.asarray(value)
            if type(array) is np.ndarray and array.dtype.kind in "fiub":
                return array
        hint = (
            "that is no array of real numbers; give texts, and rows of different lengths, names of"
            " their own"
        )
    raise PolicyError(f"prepare() returned {shortened(name)!r}: {shown(value, 'prepare()')} {hint}")
