"""The observations that a policy is handed, looked at for NaN and infinities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from promptpo.spec.running.faults import EnvironmentFault
from promptpo.spec.running.values import all_finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptpo.spec import Task

#: Rounds that are looked at together, at most, and numbers: one look costs as much as a step of a
#: fast environment.
_ROUNDS, _NUMBERS = 8, 4096


class SlotFault(EnvironmentFault):
    """An environment failed in the episode of a slot.

    Attributes:
        slot: which.
        step: after which step its observation was wrong, if it was that.
    """

    def __init__(
        self, fault: EnvironmentFault, place: str, slot: int, step: int | None = None
    ) -> None:
        super().__init__(fault.where, f"{fault.problem} ({place})", fault.remedy)
        self.slot, self.step = slot, step


class Rows:
    """A row for each of some slots, anew in every round; ``tasks`` in the order of the rows."""

    def __init__(self, tasks: Mapping[int, Task]) -> None:
        self._tasks = tasks
        self.count = len(tasks)
        size = next(iter(tasks.values())).observation_size
        rounds = max(1, min(_ROUNDS, _NUMBERS // (self.count * size)))
        self._block = np.zeros((rounds, self.count, size))
        self._views, self._line = list(self._block), self._block.reshape(-1)
        self._lines = list(self._block.reshape(rounds, -1))
        self._zeros = np.zeros(self._block.size)
        self._turn = -1

    def next(self, observations: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The observations as rows of a table: shape (slots, numbers of an observation)."""
        self._turn += 1
        if self._turn == len(self._views):
            self._turn -= 1
            self.check(since=1)
            self._turn = 0
        np.concatenate(observations, out=self._lines[self._turn])
        return self._views[self._turn]

    def check(self, since: int = 0) -> None:
        """Raise SlotFault unless all rows so far are finite.

        ``since`` is the steps that every slot has taken since the latest round was filled.
        """
        if all_finite(self._line, self._zeros):
            return
        for turn, row in np.argwhere(~np.isfinite(self._block).all(axis=2)).tolist():
            slot, task = list(self._tasks.items())[row]
            step = task.steps - since - (self._turn - turn)
            try:
                task.require_finite(self._block[turn, row], step)
            except EnvironmentFault as fault:
                raise SlotFault(fault, f"in episode slot {slot}", slot, step) from fault
