"""A policy program with other constants in every slot; one that fails leaves the others alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sandbox.errors import MemoryLimit, PolicyError, ProgramError
from sandbox.inside.policy import Group, PolicyProgram, Slot
from sandbox.inside.program import Task
from sandbox.interface import FloatArray
from sandbox.language import Randomness
from sandbox.language.library import Loaded
from sandbox.language.places import values_at

#: Characters of an error that are kept for each slot.
MAX_ERROR = 500


class _Failed:
    """In the place of an object that could not be made."""

    def act(self, observation: object) -> object:
        raise PolicyError("there is no policy")


class InstancesProgram(PolicyProgram):
    """Every slot belongs to an instance of the program, which has constants of its own.

    A slot whose instance fails answers NaN from then on; what went wrong is kept. Memory that is
    used up and limits of time are the process's own, and end it.
    """

    def __init__(self, task: Task, libraries: Loaded) -> None:
        self._constants: dict[int, tuple[float, ...]] = {}
        self._classes: dict[tuple[float, ...], type[Any]] = {}
        self._errors: dict[int, str] = {}
        super().__init__(task, libraries)

    def choose(self, slots: Sequence[int], constants: Sequence[Sequence[float]]) -> None:
        """The constants of the slots, from their next fresh object on."""
        self._constants |= zip(slots, map(tuple, constants), strict=True)

    def error(self, slot: int) -> str:
        """What went wrong in a slot's episode; empty where nothing did."""
        return self._errors.get(slot, "")

    def policy_class(self, number: int, randomness: Randomness) -> type[Any]:
        """The class of the slot's instance; a module without state is executed once for each."""
        constants = self._constants[number]
        found = self._classes.get(constants)
        if found is None:
            names = values_at(self.task.places, constants)
            found = self.load(randomness, self.task.interface.policy_class, "act", names)
            if self.compiled.stateless:
                self._classes[constants] = found
        return found

    def begin(self, number: int, slot: Slot) -> None:
        """As for any policy; one that cannot be made fails in its first act."""
        self._errors.pop(number, None)
        try:
            super().begin(number, slot)
        except MemoryLimit:
            raise
        except ProgramError as error:
            self._note(number, error)
            slot.policy = _Failed()

    def act(self, group: Group, rows: Sequence[FloatArray], actions: FloatArray) -> None:
        """As for any policy; the actions of slots that fail are NaN."""
        unseen = iter(rows)
        observations = unseen if self.observe is None else map(self.observe, unseen)
        self._running = group, unseen
        table = actions.reshape(len(group.slots), -1)
        returned: list[Any] = []
        failed: list[int] = []
        for slot, policy in zip(group.slots, group.policies, strict=True):
            try:
                returned.append(policy.act(next(observations)))
            except BaseException as error:
                self._fail(slot, error)
                failed.append(len(returned))
                returned.append(None)
        if failed or not self._write_all(returned, actions):
            self._convert_some(group, returned, table, failed)
        self._running = None

    def _convert_some(
        self, group: Group, returned: Sequence[Any], table: FloatArray, failed: Sequence[int]
    ) -> None:
        for index, action in enumerate(returned):
            table[index] = np.nan
            if index not in failed:
                try:
                    table[index] = self._convert(action)
                except BaseException as error:
                    self._fail(group.slots[index], error)

    def _fail(self, number: int, error: BaseException) -> None:
        fault = self.failed(error, number)
        if isinstance(fault, MemoryLimit):
            raise fault from None
        self._note(number, fault)

    def _note(self, number: int, error: ProgramError) -> None:
        self._errors.setdefault(number, error.message[-MAX_ERROR:])
