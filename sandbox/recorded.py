"""Episodes that were played, written to a file for ``prepare``.

The file is in the form of ``sandbox.prepared``, so that a process maps it and reads it in place.
Of N transitions in E episodes, in the order of time:

    observations, next_observations     (N, n)     where all observations have n numbers
    numbers, lengths                    (...,), (N + E,) int64     where they have not: of all
                                        observations, one after the other, the last ones included
    actions, rewards, terminals, episode    (N, m), (N,), (N,) bool, (N,) int64
    ends, terminated, truncated, success, round, candidate    (E,) each: the row after its last
                                        transition, bool, bool, -1: unknown, int64, n of ``name<n>``
    name<n>, field<n>, column<n>        who played; a field, and where it is: [i] or [start, stop]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.interface import FloatArray
from sandbox.prepared import Entry, layout

#: Transitions that are kept where nobody says how many.
TRANSITIONS = 200_000


@dataclass(frozen=True, eq=False)
class RecordedEpisode:
    """One episode of T steps as ``prepare`` will see it.

    Args:
        observations: float64 ``(T + 1, n)``, the last one included; or T + 1 vectors of any length.
        actions: float64 ``(T, m)``.
        rewards: float64 ``(T,)``.
        terminated: the task ended the episode.
        truncated: the horizon ended the episode.
        success: None where the task defines no success.
        candidate: who played it.
        round: in which round of the search.
    """

    observations: FloatArray | Sequence[FloatArray]
    actions: FloatArray
    rewards: FloatArray
    terminated: bool
    truncated: bool
    success: bool | None
    candidate: str
    round: int

    def __post_init__(self) -> None:
        steps = len(self.rewards)
        if len(self.observations) != steps + 1 or len(self.actions) != steps:
            raise ValueError(
                f"RecordedEpisode: {steps} rewards need {steps + 1} observations and {steps}"
                f" actions, not {len(self.observations)} and {len(self.actions)}"
            )


Columns = Mapping[str, int | slice]


class _Outline(NamedTuple):
    """An episode without its numbers; ``lengths``: of its observations, (T + 1,)."""

    steps: int
    lengths: NDArray[np.int64]
    action_size: int
    ragged: bool
    facts: tuple[bool, bool, int, int]
    candidate: str

    @classmethod
    def of(cls, episode: RecordedEpisode) -> _Outline:
        success = -1 if episode.success is None else int(episode.success)
        facts = (bool(episode.terminated), bool(episode.truncated), success, int(episode.round))
        seen = episode.observations
        return cls(
            len(episode.rewards),
            np.array([np.size(row) for row in seen], np.int64),
            np.size(episode.actions) // max(1, len(episode.rewards)),
            not isinstance(seen, np.ndarray),
            facts,
            episode.candidate,
        )


def write_recorded(
    file: BinaryIO,
    episodes: Sequence[RecordedEpisode],
    columns: Columns | None = None,
    transitions: int = TRANSITIONS,
) -> int:
    """Write the newest whole episodes that have at most so many transitions together.

    Args:
        file: a real file, empty and open for writing; ``Host.prepare`` wants another descriptor of
            it, which is open for reading only.
        episodes: in the order of time. Each is asked for twice at most, and not kept, so that they
            may be read from elsewhere one by one. Either all their observations are arrays of as
            many columns, or those of some are sequences of vectors (ragged).
        columns: where each field of an observation is in its vector.
        transitions: at most so many.

    Returns:
        How many transitions were written.

    Raises:
        ValueError: episodes of different widths.
    """
    outlines = _newest(episodes, transitions)
    ragged = any(outline.ragged for outline in outlines)
    entries, small = _small(outlines, columns or {}, ragged)
    large = _large(outlines, ragged)
    arrays = {name: _entry(name, array) for name, array in small.items()}
    plan = layout([*entries, *arrays.values(), *large])
    file.truncate(plan.size)
    file.seek(0)
    file.write(plan.head)
    places = dict(plan.offsets)
    _put(file, places, small)
    for index in range(len(episodes) - len(outlines), len(episodes)):
        _put(file, places, _numbers(episodes[index], ragged))
    file.flush()
    return sum(outline.steps for outline in outlines)


def _newest(episodes: Sequence[RecordedEpisode], transitions: int) -> Sequence[_Outline]:
    newest: deque[_Outline] = deque()
    for index in reversed(range(len(episodes))):
        outline = _Outline.of(episodes[index])
        transitions -= outline.steps
        if transitions < 0:
            break
        newest.appendleft(outline)
    return newest


def _small(
    outlines: Sequence[_Outline], columns: Columns, ragged: bool
) -> tuple[list[Entry], dict[str, NDArray[Any]]]:
    """Return the names, and the arrays with one number for each episode or transition."""
    steps = np.array([outline.steps for outline in outlines], np.int64)
    ends = np.cumsum(steps)
    facts = np.array([o.facts for o in outlines], np.int64).reshape(-1, 4)
    players = list(dict.fromkeys(outline.candidate for outline in outlines))
    numbers = {name: number for number, name in enumerate(players)}
    small: dict[str, NDArray[Any]] = {
        "ends": ends,
        "terminated": facts[:, 0] > 0,
        "truncated": facts[:, 1] > 0,
        "success": facts[:, 2],
        "round": facts[:, 3],
        "candidate": np.array([numbers[o.candidate] for o in outlines], np.int64),
        "episode": np.repeat(np.arange(len(outlines)), steps),
        "terminals": np.zeros(int(steps.sum()), bool),
    }
    small["terminals"][ends[small["terminated"] & (steps > 0)] - 1] = True
    if ragged:
        small["lengths"] = np.concatenate([outline.lengths for outline in outlines])
    entries = [Entry(f"name{n}", "str", name) for n, name in enumerate(players)]
    for n, (name, place) in enumerate(columns.items()):
        entries.append(Entry(f"field{n}", "str", name))
        where = [place.start, place.stop] if isinstance(place, slice) else [place]
        small[f"column{n}"] = np.array(where, np.int64)
    return entries, small


def _large(outlines: Sequence[_Outline], ragged: bool) -> list[Entry]:
    """Return the arrays that are written episode by episode."""
    count = sum(outline.steps for outline in outlines)
    acting = {outline.action_size for outline in outlines if outline.steps}
    seeing = {int(n) for outline in outlines for n in set(outline.lengths.tolist())}
    if len(acting) > 1 or (len(seeing) > 1 and not ragged):
        raise ValueError("the episodes have observations or actions of different sizes")
    shapes: dict[str, list[int]] = {"actions": [count, *(acting or {0})], "rewards": [count]}
    if ragged:
        shapes["numbers"] = [sum(int(outline.lengths.sum()) for outline in outlines)]
    else:
        shapes["observations"] = shapes["next_observations"] = [count, *(seeing or {0})]
    return [Entry(name, "float64", shape) for name, shape in shapes.items()]


def _numbers(episode: RecordedEpisode, ragged: bool) -> dict[str, NDArray[Any]]:
    numbers = {"actions": episode.actions, "rewards": episode.rewards}
    if ragged:
        rows = [np.ravel(row) for row in episode.observations]
        numbers["numbers"] = np.concatenate(rows)
    else:
        seen = np.asarray(episode.observations, np.float64)
        numbers |= {"observations": seen[:-1], "next_observations": seen[1:]}
    return {name: np.ascontiguousarray(array, np.float64) for name, array in numbers.items()}


def _entry(name: str, array: NDArray[Any]) -> Entry:
    return Entry(name, "bool8" if array.dtype == bool else "int64", list(array.shape))


def _put(file: BinaryIO, places: dict[str, int], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each where its place is, and move the place behind it."""
    for name, array in arrays.items():
        if array.nbytes:
            file.seek(places[name])
            file.write(array.tobytes())
            places[name] += array.nbytes
