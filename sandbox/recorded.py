"""Episodes that were played, written to a file for ``prepare``.

The file is in the form of ``sandbox.prepared``, so that a process maps it and reads it in place.
Of N transitions in E episodes, in the order of time:

    observations, next_observations     (N, n)
    actions, rewards, terminals, episode    (N, m), (N,), (N,) bool, (N,) int64
    ends, terminated, truncated, success, round, candidate    (E,) each: the row after its last
                                        transition, bool, bool, -1: unknown, int64, n of ``name<n>``
    name<n>, field<n>, column<n>        who played; a field, and where it is: [i] or [start, stop]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.interface import Episode
from sandbox.prepared import Entry, layout

#: Transitions that are kept where nobody says how many.
TRANSITIONS = 200_000


Columns = Mapping[str, int | slice]


class _Outline(NamedTuple):
    """An episode without its numbers."""

    steps: int
    width: int
    action_size: int
    facts: tuple[bool, bool, int, int]
    candidate: str

    @classmethod
    def of(cls, episode: Episode) -> _Outline:
        success = -1 if episode.success is None else int(episode.success)
        facts = (bool(episode.terminated), bool(episode.truncated), success, int(episode.round))
        steps = len(episode.rewards)
        seen, done = np.size(episode.observations), np.size(episode.actions)
        return cls(steps, seen // (steps + 1), done // max(1, steps), facts, episode.candidate)


def write_recorded(
    file: BinaryIO,
    episodes: Sequence[Episode],
    columns: Columns | None = None,
    transitions: int = TRANSITIONS,
) -> int:
    """Write the newest whole episodes that have at most so many transitions together.

    Args:
        file: a real file, empty and open for writing; ``Host.prepare`` wants another descriptor of
            it, which is open for reading only.
        episodes: in the order of time. Each is asked for twice at most, and not kept, so that they
            may be read from elsewhere one by one.
        columns: where each field of an observation is in its vector.
        transitions: at most so many.

    Returns:
        How many transitions were written.

    Raises:
        ValueError: episodes of different widths.
    """
    outlines = _newest(episodes, transitions)
    entries, small = _small(outlines, columns or {})
    large = _large(outlines)
    arrays = {name: _entry(name, array) for name, array in small.items()}
    plan = layout([*entries, *arrays.values(), *large])
    file.truncate(plan.size)
    file.seek(0)
    file.write(plan.head)
    places = dict(plan.offsets)
    _put(file, places, small)
    for index in range(len(episodes) - len(outlines), len(episodes)):
        _put(file, places, _numbers(episodes[index]))
    file.flush()
    return sum(outline.steps for outline in outlines)


def _newest(episodes: Sequence[Episode], transitions: int) -> Sequence[_Outline]:
    newest: deque[_Outline] = deque()
    for index in reversed(range(len(episodes))):
        outline = _Outline.of(episodes[index])
        transitions -= outline.steps
        if transitions < 0:
            break
        newest.appendleft(outline)
    return newest


def _small(
    outlines: Sequence[_Outline], columns: Columns
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
    entries = [Entry(f"name{n}", "str", name) for n, name in enumerate(players)]
    for n, (name, place) in enumerate(columns.items()):
        entries.append(Entry(f"field{n}", "str", name))
        where = [place.start, place.stop] if isinstance(place, slice) else [place]
        small[f"column{n}"] = np.array(where, np.int64)
    return entries, small


def _large(outlines: Sequence[_Outline]) -> list[Entry]:
    """Return the arrays that are written episode by episode."""
    count = sum(outline.steps for outline in outlines)
    acting = {outline.action_size for outline in outlines if outline.steps}
    seeing = {outline.width for outline in outlines}
    if len(acting) > 1 or len(seeing) > 1:
        raise ValueError("the episodes have observations or actions of different sizes")
    shapes: dict[str, list[int]] = {"actions": [count, *(acting or {0})], "rewards": [count]}
    shapes["observations"] = shapes["next_observations"] = [count, *(seeing or {0})]
    return [Entry(name, "float64", shape) for name, shape in shapes.items()]


def _numbers(episode: Episode) -> dict[str, NDArray[Any]]:
    seen = episode.observations
    numbers = {"actions": episode.actions, "rewards": episode.rewards}
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
