"""A program with a ``Policy`` class, acting in several slots; runs inside the sandboxed process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import length_hint
from typing import Any, TypeVar

import numpy as np

from sandbox import actions
from sandbox.errors import ProgramError
from sandbox.interface import FloatArray
from sandbox.language import Randomness
from sandbox.language.facades import Facade
from sandbox.program import Program, Task

_Result = TypeVar("_Result")


@dataclass
class _Slot:
    """One lockstep episode."""

    randomness: Randomness
    policy: Any = None
    steps: int = 0


@dataclass
class _Group:
    """Slots that act together, looked up once; ``acts`` is added to their steps in the end."""

    numbers: Sequence[int]
    slots: Sequence[_Slot]
    policies: Sequence[Any]
    acts: int = 0
    table: FloatArray | None = None
    views: Sequence[FloatArray] = ()

    def owned(self, numbers: FloatArray) -> list[FloatArray]:
        """The observations (k * n numbers) as arrays of their own.

        A view would lead to the observations of the other episodes. All are copied before the
        first is used: a third faster than each when it is needed.
        """
        if self.table is None:
            self.table = np.empty((len(self.numbers), numbers.size // len(self.numbers)))
            self.views = list(self.table)
        np.copyto(self.table, numbers.reshape(self.table.shape))
        return list(map(np.ndarray.copy, self.views))


class PolicyProgram(Program):
    """A program with a ``Policy`` class, acting in several slots."""

    def __init__(self, task: Task, libraries: Mapping[str, Facade]) -> None:
        super().__init__(task, libraries)
        self._convert = actions.converter(task.interface.action)
        self._usual = actions.usual(task.interface.action)
        self._slots: dict[int, _Slot] = {}
        self._groups: dict[bytes, _Group] = {}
        #: The group that acts, and the observations that it has not seen yet.
        self._running: tuple[_Group, Iterator[FloatArray]] | None = None
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
        if self._running is None:
            return None, None
        return self._place(*self._progress(*self._running))

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

    def act(self, slots: bytes, numbers: FloatArray | Sequence[FloatArray]) -> FloatArray:
        """One action per slot, float64 ``(k, action.size)``.

        ``slots`` are int64 numbers as they came. ``numbers`` are all observations in one flat
        array, or a list of arrays that the policies may keep.
        """
        group = self._group(slots)
        rows = iter(group.owned(numbers) if isinstance(numbers, np.ndarray) else numbers)
        observations = rows if self.observe is None else map(self.observe, rows)
        self._running = group, rows
        try:
            found = [
                policy.act(observation)
                for policy, observation in zip(group.policies, observations, strict=True)
            ]
        except BaseException as error:
            raise self.failed(error, *self._place(*self._progress(group, rows))) from None
        self._running = None
        result = self._usual(found)
        if result is None:
            result = self._converted(group, found)
        result = result.reshape(len(found), self.task.interface.action.size)
        bad = actions.first_not_finite(result)
        if bad is not None:
            raise self.failed(actions.not_finite(result[bad]), *self._place(group, bad))
        group.acts += 1
        return result

    @staticmethod
    def _progress(group: _Group, unseen: Iterator[FloatArray]) -> tuple[_Group, int]:
        """The group, and the index of the slot that has seen its observation last."""
        return group, len(group.numbers) - length_hint(unseen) - 1

    def _place(self, group: _Group, index: int) -> tuple[int, int]:
        """Slot and step of one action of a group."""
        number = group.numbers[index]
        acts = sum(g.acts for g in self._groups.values() if number in g.numbers)
        return number, self._slots[number].steps + acts

    def _converted(self, group: _Group, found: Sequence[Any]) -> FloatArray:
        """The numbers of actions, each of a type of its own."""
        numbers = []
        for index, action in enumerate(found):
            try:
                numbers.append(self._convert(action))
            except BaseException as error:
                raise self.failed(error, *self._place(group, index)) from None
        return np.array(numbers, np.float64)
