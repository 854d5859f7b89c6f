"""Loading and running one program.

Each slot (one lockstep episode) has a namespace of its own: the module is executed anew for every
fresh policy object, with its own random generators, so that episodes cannot influence each other
and results do not depend on how many of them run together. Only a module without any state
(``language.stateless``) is executed once for all.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from sandbox.errors import BadAction, CompileError, MemoryLimit, PolicyError, ProgramError
from sandbox.inside.actions import ActionError
from sandbox.inside.faults import describe
from sandbox.inside.trajectory import Trajectory
from sandbox.interface import FloatArray, Interface, Limits, Place
from sandbox.language import (
    MODULE,
    Library,
    Printer,
    Randomness,
    compile_source,
    import_hook,
    importable,
    make_builtins,
    readable,
    roots,
    shortened,
)
from sandbox.language.hardening import harden
from sandbox.language.library import Loaded, library_facades
from sandbox.language.mappings import Named
from sandbox.language.ownership import fleeting

#: No constants beside those in the text.
NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Task:
    """What the host sends first."""

    source: str
    interface: Interface
    limits: Limits
    extra_imports: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    prepared: Named | None = None


def observation_class(source: str | None) -> Callable[[FloatArray], Any] | None:
    """The class ``Observation``, or None where observations are plain vectors.

    Objects of it, and of the other classes in the source, live for a step, and a program may write
    to them; the classes serve all episodes, and what they hold is made immutable.
    """
    if source is None:
        return None
    namespace: dict[str, Any] = {"np": np, "math": math, "__name__": "observation"}
    exec(compile(source, "<observation>", "exec", dont_inherit=True), namespace)  # noqa: S102 - trusted: it comes with the task
    for value in list(namespace.values()):
        if isinstance(value, type) and value.__module__ == "observation":
            fleeting(value)
            # The initializer runs for each step; it cannot be taken off its class (``attributes``).
            harden([value], "__init__")
    observation: Callable[[FloatArray], Any] = namespace["Observation"]
    return observation


class Program:
    """A compiled program and what its namespaces are made of."""

    def __init__(self, task: Task, libraries: Loaded) -> None:
        """Check and compile.

        Raises:
            CompileError: the source is refused.
        """
        if len(task.source) > task.limits.source_chars:
            raise CompileError(f"the source is longer than {task.limits.source_chars} characters")
        self.task = task
        self.printer = Printer(task.limits.output_chars)
        self._libraries = library_facades(libraries, task.extra_imports)
        offer = importable(task.extra_imports)
        policy_class = task.interface.policy_class
        self.compiled = compile_source(task.source, offer, policy_class, task.places)
        self.observe = observation_class(task.interface.observation_source)
        # dataclasses look their module up by name.
        sys.modules[MODULE] = types.ModuleType(MODULE)

    def load(
        self,
        randomness: Randomness,
        class_name: str,
        method: str,
        constants: Mapping[str, float] = NONE,
    ) -> type[Any]:
        """Execute the module in a new namespace and return the class ``class_name``.

        Raises:
            CompileError: there is no such class, or it has no such method.
        """
        return self.find(self.execute(randomness, constants), class_name, method)

    def execute(
        self, randomness: Randomness, constants: Mapping[str, float] = NONE
    ) -> dict[str, Any]:
        """A new namespace in which the module was executed.

        ``constants`` are other values for numbers of the text (``language.places``).
        """
        library = Library(randomness, self._libraries)
        namespace: dict[str, Any] = {
            "__builtins__": make_builtins(self.printer, library.find, import_hook),
            "__name__": MODULE,
            "np": library.numpy,
            "math": library.find("math"),
        }
        if "random" in self.task.source:
            namespace["random"] = library.find("random")
        if self.observe is not None:
            namespace["Observation"] = self.observe
        namespace |= {**self.compiled.numbers, **constants}
        exec(self.compiled.code, namespace)  # noqa: S102 - this is what the sandbox is for
        return namespace

    @staticmethod
    def find(namespace: Mapping[str, Any], class_name: str, method: str) -> type[Any]:
        """The class ``class_name``.

        Raises:
            CompileError: there is none, or it has no such method.
        """
        cls = namespace.get(class_name)
        if not isinstance(cls, type):
            raise CompileError(f"the program must define `class {class_name}` at its top level")
        if not callable(getattr(cls, method, None)):
            raise CompileError(f"class {class_name} must define a method `{method}`")
        return cls

    def current_slot(self) -> int | None:
        """The slot whose code runs, where there is such."""
        return None

    def failed(self, error: BaseException, slot: int = -1) -> ProgramError:
        """The report about an exception that left the program."""
        text, line = describe(error, self.task.source)
        kind: type[ProgramError] = PolicyError
        if isinstance(error, MemoryError):
            kind = MemoryLimit
            text += f"\nthe limit is {self.task.limits.memory_mb} MB"
        elif isinstance(error, ActionError):
            kind, text = BadAction, str(error)
        return kind(
            text,
            line=line if line >= 0 else None,
            slot=slot if slot >= 0 else None,
        )


class FeedbackProgram(Program):
    """A program with a ``Feedback`` class; one object serves all episodes."""

    def __init__(self, task: Task, libraries: Loaded) -> None:
        super().__init__(task, libraries)
        try:
            randomness = Randomness(0)
            roots.provide(lambda: randomness)
            cls = self.load(randomness, task.interface.feedback_class, "summarize_trajectory")
            self._feedback = cls()
        except ProgramError:
            raise
        except BaseException as error:
            raise self.failed(error) from None

    def summarize(self, episode: Trajectory) -> str:
        """The summary, cut to the limit with a note where it was."""
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
