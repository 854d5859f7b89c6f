"""A program with a ``Policy`` class, acting in several slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from operator import length_hint
from typing import Any, TypeVar

from sandbox.errors import ProgramError
from sandbox.inside.actions import bulk_writer, converter
from sandbox.inside.given import takes_one
from sandbox.inside.program import Program, Task
from sandbox.interface import FloatArray
from sandbox.language import Randomness, roots
from sandbox.language.library import Loaded

_Result = TypeVar("_Result")


@dataclass
class Slot:
    """One lockstep episode."""

    randomness: Randomness
    context: Context | None
    policy: Any = None


class _InContext:
    """A policy whose settings (``language.compiler``) are its own."""

    __slots__ = ("_context", "_policy")

    def __init__(self, policy: object, context: Context) -> None:
        self._policy = policy
        self._context = context

    def act(self, observation: object) -> object:
        return self._context.run(_act, self._policy, observation)

    def reset(self) -> None:
        self._context.run(_restart, self._policy)

    @property
    def inner(self) -> object:
        return self._policy


def _act(policy: Any, observation: object) -> object:  # noqa: ANN401 - whatever the program made
    return policy.act(observation)


def _restart(policy: object) -> None:
    restart = getattr(policy, "reset", None)
    if callable(restart):
        restart()


@dataclass(frozen=True)
class Group:
    """Slots that act together, looked up once."""

    slots: Sequence[int]
    policies: Sequence[Any]


class PolicyProgram(Program):
    """A program with a ``Policy`` class, acting in several slots."""

    def __init__(self, task: Task, libraries: Loaded) -> None:
        super().__init__(task, libraries)
        self._convert = converter(task.interface.action)
        self._write_all = bulk_writer(task.interface.action)
        self._slots: dict[int, Slot] = {}
        #: The group that acts, and the observations that it has not seen yet.
        self._running: tuple[Group, Iterator[FloatArray]] | None = None
        #: Whose random numbers code draws that runs in no act.
        self._beginning = Randomness(0)
        self._own_settings = self.compiled.settings or bool(task.extra_imports)
        roots.provide(self._randomness)
        load = partial(self._policy_class, self._beginning)
        policy_class = self._guarded(partial(Context().run, load))
        self._shared = policy_class if self.compiled.stateless else None
        given = task.prepared is not None and takes_one(policy_class)
        self._arguments = (task.prepared,) if given else ()

    def _randomness(self) -> Randomness:
        number = self.current_slot()
        return self._beginning if number is None else self._slots[number].randomness

    def _policy_class(self, randomness: Randomness) -> type[Any]:
        return self.load(randomness, self.task.interface.policy_class, "act")

    def policy_class(self, number: int, randomness: Randomness) -> type[Any]:
        """The class of a slot's policy, whose module draws from ``randomness`` while it runs."""
        return self._shared or self._policy_class(randomness)

    def _new_policy(self, number: int, slot: Slot) -> object:
        if slot.context is None:
            return self._made(number, slot)
        return _InContext(slot.context.run(self._made, number, slot), slot.context)

    def _made(self, number: int, slot: Slot) -> object:
        return self.policy_class(number, slot.randomness)(*self._arguments)

    def _guarded(self, run: Callable[[], _Result], slot: int = -1) -> _Result:
        try:
            return run()
        except ProgramError:
            raise
        except BaseException as error:
            raise self.failed(error, slot) from None

    def current_slot(self) -> int | None:
        """The slot whose action is missing."""
        return None if self._running is None else self._slot(*self._running)

    def reset(self, slots: Sequence[int], seeds: Sequence[int], fresh: bool) -> None:
        """Begin an episode in each slot."""
        for number, seed in zip(slots, seeds, strict=True):
            self._reset(number, seed, fresh)

    def _reset(self, number: int, seed: int, fresh: bool) -> None:
        slot = self._slots.get(number)
        if fresh or slot is None:
            context = Context() if self._own_settings else None
            slot = self._slots[number] = Slot(Randomness(seed), context)
        else:
            slot.randomness.seed(seed)
        self._beginning = slot.randomness
        self.begin(number, slot)

    def begin(self, number: int, slot: Slot) -> None:
        """Make the slot's object, or tell the one that it has of a new episode."""
        if slot.policy is None:
            slot.policy = self._guarded(partial(self._new_policy, number, slot), number)
        else:
            self._guarded(partial(_restart, slot.policy), number)

    def policy(self, slot: int) -> object:
        """The object of the program's class that acts in a slot."""
        policy = self._slots[slot].policy
        return policy.inner if isinstance(policy, _InContext) else policy

    def group(self, slots: bytes) -> Group:
        """The slots of these numbers (int64) with their policies, until the next reset."""
        numbers = memoryview(slots).cast("q").tolist()
        return Group(numbers, [self._slots[number].policy for number in numbers])

    def act(self, group: Group, rows: Sequence[FloatArray], actions: FloatArray) -> None:
        """One action per slot of the group into ``actions``, float64 ``(k * action.size,)``.

        ``rows`` are the observations: arrays of their own, which the policies may keep.
        """
        unseen = iter(rows)
        observations = unseen if self.observe is None else map(self.observe, unseen)
        self._running = group, unseen
        try:
            returned = [policy.act(seen) for policy, seen in zip(group.policies, observations)]  # noqa: B905 - lengths are equal; the check costs a microsecond
        except BaseException as error:
            raise self.failed(error, self._slot(group, unseen)) from None
        self._running = None
        if not self._write_all(returned, actions):
            self._convert_each(group, returned, actions)

    @staticmethod
    def _slot(group: Group, unseen: Iterator[FloatArray]) -> int:
        """The slot that has seen its observation last."""
        return group.slots[len(group.slots) - length_hint(unseen) - 1]

    def _convert_each(self, group: Group, returned: Sequence[Any], actions: FloatArray) -> None:
        """Where not all actions are of the type that needs no conversion."""
        rows = actions.reshape(len(returned), -1)
        for slot, row, action in zip(group.slots, rows, returned, strict=True):
            try:
                row[:] = self._convert(action)
            except BaseException as error:
                raise self.failed(error, slot) from None
