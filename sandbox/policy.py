"""A program with a ``Policy`` class, acting in several slots; runs inside the sandboxed process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import length_hint
from typing import Any, TypeVar

from sandbox import actions
from sandbox.errors import ProgramError
from sandbox.interface import FloatArray
from sandbox.language import Randomness
from sandbox.language.library import Loaded
from sandbox.program import Program, Task

_Result = TypeVar("_Result")


@dataclass
class _Slot:
    """One lockstep episode."""

    randomness: Randomness
    policy: Any = None


@dataclass(frozen=True)
class Group:
    """Slots that act together, looked up once."""

    slots: Sequence[int]
    policies: Sequence[Any]


class PolicyProgram(Program):
    """A program with a ``Policy`` class, acting in several slots."""

    def __init__(self, task: Task, libraries: Loaded) -> None:
        super().__init__(task, libraries)
        self._convert = actions.converter(task.interface.action)
        self._usual = actions.usual(task.interface.action)
        self._slots: dict[int, _Slot] = {}
        #: The group that acts, and the observations that it has not seen yet.
        self._running: tuple[Group, Iterator[FloatArray]] | None = None
        found = self._guarded(lambda: self._policy_class(Randomness(0)))
        self._shared = found if self.compiled.stateless else None

    def _policy_class(self, randomness: Randomness) -> type[Any]:
        return self.load(randomness, self.task.interface.policy_class, "act")

    def _new_policy(self, randomness: Randomness) -> object:
        if self._shared is not None:
            return self._shared()
        return self._policy_class(randomness)()

    def _guarded(self, run: Callable[[], _Result], slot: int = -1) -> _Result:
        try:
            return run()
        except ProgramError:
            raise
        except BaseException as error:
            raise self.failed(error, slot) from None

    def now(self) -> int | None:
        """The slot whose action is missing."""
        return None if self._running is None else self._slot(*self._running)

    def reset(self, slots: Sequence[int], seeds: Sequence[int], fresh: bool) -> None:
        """Begin an episode in each slot."""
        for number, seed in zip(slots, seeds, strict=True):
            self._reset(number, seed, fresh)

    def _reset(self, number: int, seed: int, fresh: bool) -> None:
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = _Slot(Randomness(seed))
        else:
            slot.randomness.seed(seed)
        if fresh or slot.policy is None:
            slot.policy = self._guarded(partial(self._new_policy, slot.randomness), number)
            return
        restart = getattr(slot.policy, "reset", None)
        if callable(restart):
            self._guarded(restart, number)

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
            found = [policy.act(seen) for policy, seen in zip(group.policies, observations)]  # noqa: B905 - lengths are equal; the check costs a microsecond
        except BaseException as error:
            raise self.failed(error, self._slot(group, unseen)) from None
        self._running = None
        if not self._usual(found, actions):
            self._converted(group, found, actions)

    @staticmethod
    def _slot(group: Group, unseen: Iterator[FloatArray]) -> int:
        """The slot that has seen its observation last."""
        return group.slots[len(group.slots) - length_hint(unseen) - 1]

    def _converted(self, group: Group, found: Sequence[Any], actions: FloatArray) -> None:
        """Actions, each of a type of its own."""
        rows = actions.reshape(len(found), -1)
        for slot, row, action in zip(group.slots, rows, found, strict=True):
            try:
                row[:] = self._convert(action)
            except BaseException as error:
                raise self.failed(error, slot) from None
