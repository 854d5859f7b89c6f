"""One transition, its numbers side by side, for who looks for a mistake in the reward."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from promptpo.checks.play import Played, Transition, observation_class
from promptpo.spec import EnvSpec, layout

#: An array shows so many of its numbers.
_MOST_NUMBERS = 6

#: Where the reward reads no field, so many are shown.
_MOST_FIELDS = 8


def whence(played: Played, number: int) -> str:
    """Where a transition comes from: step (from 1), seed and what chose the actions."""
    for episode in played.episodes:
        if number < episode.length:
            break
        number -= episode.length
    who = "the expert" if episode.mode == "expert" else f"{episode.mode} actions"
    return f"step {number + 1} of seed {episode.seed}, with {who}"


def ends_of_episodes(played: Played) -> list[int]:
    """The transitions with which an episode terminated (not: was truncated)."""
    lasts = np.cumsum([episode.length for episode in played.episodes]) - 1
    return [int(n) for n, e in zip(lasts, played.episodes, strict=True) if e.terminated]


def fields_read(spec: EnvSpec, step: Transition, hidden: Mapping[str, Any]) -> list[str]:
    """The fields that the reward reads in one transition, through methods too, in their order."""
    read: set[str] = set()
    names = [item.name for item in layout(spec.observation)]
    see: Any = observation_class(spec)

    class Watched(see):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - whatever the field holds
            read.add(name)
            return super().__getattribute__(name)

    try:
        with np.errstate(all="ignore"):
            spec.reward(Watched(step.before), step.action, Watched(step.after), **hidden)
    except Exception:  # noqa: S110 - what it raises is told elsewhere
        pass
    return [name for name in names if name in read]


def table(
    spec: EnvSpec, step: Transition, fields: Collection[str], hidden: Mapping[str, Any]
) -> list[str]:
    """Lines: the fields before and after, the action, and what only the reward function gets.

    Where ``fields`` is empty, the first ones are shown.
    """
    items = [item for item in layout(spec.observation) if item.name in fields]
    items = items or list(layout(spec.observation)[:_MOST_FIELDS])
    see = observation_class(spec)
    before, after = see(step.before), see(step.after)
    rows = [("field", "observation", "next_observation")]
    rows += [(i.name, shown(getattr(before, i.name)), shown(getattr(after, i.name))) for i in items]
    rows += [("action", shown(step.action), "")]
    rows += [(f"{name}=", shown(value), "") for name, value in hidden.items()]
    return columns(rows)


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of texts as aligned lines."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def shown(value: Any) -> str:  # noqa: ANN401 - a field's value, an action, a hidden input
    """A value in few characters."""
    if isinstance(value, np.ndarray):
        first = ", ".join(f"{number:.6g}" for number in value.ravel()[:_MOST_NUMBERS].tolist())
        return f"[{first}{', ...' if value.size > _MOST_NUMBERS else ''}]"
    if isinstance(value, np.generic):
        value = value.item()
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
