"""Data for ``prepare`` and ``summarize_trajectory``: episodes that were played."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np

from sandbox.interface import ActionSpace, Box, Discrete, FloatArray, Interface
from sandbox.prepared import unpack
from sandbox.tracing import Columns, Value

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """A sequence whose items are made when they are asked for."""

    def __init__(self, length: int, make: Callable[[int], T], noun: str) -> None:
        self.length = length
        self._make = make
        self._noun = noun

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(*index.indices(self.length))]
        if not -self.length <= index < self.length:
            raise IndexError(f"{self._noun} {index} of {self.length}")
        return self._make(int(index) % self.length)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self.length))

    def __repr__(self) -> str:
        return f"<{self.length} {self._noun}s>"


@dataclass(frozen=True)
class Step:
    """One transition."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any


class Trace(dict[str, list[Value]]):
    """Traced values by name; a name that was not traced has None for each step.

    So a Feedback class can ask for what one policy traces in the episodes of another.
    """

    def __init__(self, columns: Columns, steps: int) -> None:
        super().__init__({name: list(values) for name, values in columns.items()})
        self._steps = steps

    def __missing__(self, name: str) -> list[Value]:
        return [None] * self._steps


class Trajectory(LazySequence[Step]):
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
        super().__init__(len(actions), self._step, "step")
        self.observations = observations
        self.actions = actions
        self.rewards = rewards
        self.terminated = terminated
        self.truncated = truncated
        self.success = success
        self.trace = trace
        self.total_reward = float(rewards.sum())

    def _step(self, index: int) -> Step:
        return Step(
            self.observations[index],
            self.actions[index],
            float(self.rewards[index]),
            self.observations[index + 1],
        )


def action_values(rows: FloatArray, space: ActionSpace) -> list[Any]:
    """Raw rows ``(T, m)`` as the program's own kind of action."""
    if isinstance(space, Box):
        return [row.reshape(space.shape).copy() for row in rows]
    if isinstance(space, Discrete):
        return [int(row[0]) for row in rows]
    return [row.astype("int64") for row in rows]


#: Characters of a message about a name that is not there.
_SHOWN = 500


class Named(dict[str, Any]):
    """Values by name, with an error that says which names there are."""

    def __init__(self, values: dict[str, Any], what: str) -> None:
        """``what`` has these values, for messages."""
        super().__init__(values)
        self._what = what

    def __missing__(self, name: object) -> Any:  # noqa: ANN401 - raises
        there = ", ".join(map(str, self)) or "nothing"
        raise KeyError(f"{self._what} no {name!r}, but {there}"[:_SHOWN])

    def __repr__(self) -> str:
        return f"<{', '.join(map(str, self))}>"


def mapped(descriptor: int) -> mmap.mmap:
    """Return a file's pages, to be read only; the descriptor is closed.

    They are mapped before the lock-down: afterwards there are no files, and what is mapped by then
    counts to no limit. Privately: whoever makes them writable writes to a copy of its own.
    """
    try:
        return mmap.mmap(descriptor, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordedEpisode:
    """One episode of T steps.

    Attributes:
        observations: float64 ``(T + 1, n)``, the last one included.
        actions: float64 ``(T, m)``.
        rewards: float64 ``(T,)``.
        terminated: the task ended the episode.
        truncated: the horizon ended the episode.
        success: bool, or None where the task defines no success.
        candidate: who played it.
        round: in which round.
        length: T.
        total_reward: sum of the rewards.
    """

    observations: FloatArray
    actions: FloatArray
    rewards: FloatArray
    terminated: bool
    truncated: bool
    success: bool | None
    candidate: str
    round: int
    length: int
    total_reward: float

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"<episode of {self.candidate}: {self.length} steps, {self.total_reward:g}>"


class RecordedData:
    """E episodes of N transitions together, in the order of time.

    Attributes:
        episodes: a sequence of E ``RecordedEpisode``.
        observations, next_observations: float64 ``(N, n)``.
        actions: float64 ``(N, m)``.
        rewards: float64 ``(N,)``.
        terminals: bool ``(N,)``: the task ended there (truncation is no end of the task).
        episode: int64 ``(N,)``: which episode each transition is of.
        columns: field of an observation -> column of these arrays (an int), or columns (a slice).
    """

    def __init__(self, interface: Interface, pages: mmap.mmap | None) -> None:
        """``pages``: of a file of ``sandbox.write_recorded``; None: there is no episode."""
        values: dict[str, Any] = {}
        if pages is not None:
            values |= unpack(memoryview(pages), len(pages), trusted=True)
        if not len(values.get("ends", ())):
            values |= _nothing(interface)
        self.observations = values["observations"]
        self.actions = values["actions"]
        self.rewards = values["rewards"]
        self.next_observations = values["next_observations"]
        self.terminals = values["terminals"]
        self.episode = values["episode"]
        self.columns = _columns(values)
        self.episodes = LazySequence(len(values["ends"]), _maker(values), "episode")

    def __repr__(self) -> str:
        return f"<{len(self.episodes)} episodes, {len(self.rewards)} transitions>"


def _nothing(interface: Interface) -> dict[str, Any]:
    """Return the arrays of no episode."""
    seen = (0, interface.observation_size)
    return {
        **dict.fromkeys(("observations", "next_observations"), np.zeros(seen)),
        "actions": np.zeros((0, interface.action.size)),
        "rewards": np.zeros(0),
        "terminals": np.zeros(0, bool),
        **dict.fromkeys(("episode", "ends"), np.zeros(0, np.int64)),
    }


def _columns(values: dict[str, Any]) -> Named:
    columns: dict[str, int | slice] = {}
    while (name := values.get(f"field{len(columns)}")) is not None:
        place = values[f"column{len(columns)}"].tolist()
        columns[name] = slice(*place) if len(place) == 2 else place[0]
    return Named(columns, "an observation has")


def _maker(values: dict[str, Any]) -> Callable[[int], RecordedEpisode]:
    """Return a function that makes the episode of a number."""
    ends = [0, *values["ends"].tolist()]

    def make(index: int) -> RecordedEpisode:
        begin, end = ends[index], ends[index + 1]
        success, rewards = int(values["success"][index]), values["rewards"][begin:end]
        return RecordedEpisode(
            observations=np.concatenate(
                [values["observations"][begin:end], values["next_observations"][end - 1 : end]]
            ),
            actions=values["actions"][begin:end],
            rewards=rewards,
            terminated=bool(values["terminated"][index]),
            truncated=bool(values["truncated"][index]),
            success=None if success < 0 else bool(success),
            candidate=values[f"name{values['candidate'][index]}"],
            round=int(values["round"][index]),
            length=end - begin,
            total_reward=float(rewards.sum()),
        )

    return make
