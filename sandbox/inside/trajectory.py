"""What ``summarize_trajectory`` receives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

from sandbox.interface import ActionSpace, Box, Discrete, FloatArray
from sandbox.tracing import Columns, Value


@dataclass(frozen=True)
class Step:
    """One transition."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any


class Trace(dict[str, list[Value]]):
    """What was traced, by name; a name that was not traced has None for each step.

    So a Feedback class can ask for what one policy traces in the episodes of another.
    """

    def __init__(self, columns: Columns, steps: int) -> None:
        super().__init__({name: list(values) for name, values in columns.items()})
        self._steps = steps

    def __missing__(self, name: str) -> list[Value]:
        return [None] * self._steps


class Trajectory:
    """One episode of T steps.

    Attributes:
        observations: list of T + 1 observations, the last one included.
        actions: list of T actions: arrays of the action's shape (Box), ints (Discrete).
        rewards: float64 array ``(T,)``.
        terminated: the task ended the episode.
        truncated: the horizon ended the episode.
        success: bool, or None where the task defines no success.
        length: T.
        total_reward: sum of the rewards.
        trace: by name, a list of T values that the policy's ``TRACE`` names, each as it was after
            the step's act; None where there was none, and for names that were not traced. Empty
            where nothing was.
    """

    def __init__(
        self,
        observations: list[Any],
        actions: list[Any],
        rewards: FloatArray,
        terminated: bool,
        truncated: bool,
        success: bool | None,
        trace: Trace,
    ) -> None:
        self.observations = observations
        self.actions = actions
        self.rewards = rewards
        self.terminated = terminated
        self.truncated = truncated
        self.success = success
        self.trace = trace
        self.length = len(actions)
        self.total_reward = float(rewards.sum())

    def __len__(self) -> int:
        return self.length

    def _step(self, index: int) -> Step:
        return Step(
            self.observations[index],
            self.actions[index],
            float(self.rewards[index]),
            self.observations[index + 1],
        )

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        if isinstance(index, slice):
            return [self._step(i) for i in range(*index.indices(self.length))]
        if not -self.length <= index < self.length:
            raise IndexError(f"step {index} of a trajectory with {self.length} steps")
        return self._step(index % self.length)

    def __iter__(self) -> Iterator[Step]:
        return (self._step(index) for index in range(self.length))


def action_values(rows: FloatArray, space: ActionSpace) -> list[Any]:
    """Raw rows ``(T, m)`` as the program's own kind of action."""
    if isinstance(space, Box):
        return [row.reshape(space.shape).copy() for row in rows]
    if isinstance(space, Discrete):
        return [int(row[0]) for row in rows]
    return [row.astype("int64") for row in rows]


def build(
    flat: FloatArray,
    actions: FloatArray,
    rewards: FloatArray,
    flags: tuple[bool, bool, bool | None],
    space: ActionSpace,
    observe: Callable[[FloatArray], Any] | None,
    trace: Columns,
) -> Trajectory:
    """A trajectory from the raw arrays of an episode; ``observe`` makes one observation."""
    rows = [row.copy() for row in flat]
    observations = rows if observe is None else [observe(row) for row in rows]
    traced = Trace(trace, len(actions))
    return Trajectory(observations, action_values(actions, space), rewards.copy(), *flags, traced)
