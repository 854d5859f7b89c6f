"""An episode step by step, as a Critic reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptpo.types import Trajectory

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


def episode_text(spec: EnvSpec, episode: Trajectory, most: int) -> str:
    """A line a step: what was observed, the action, its reward; three digits each.

    Of more than ``most`` steps the middle ones are left out. What is the same in all lines stands
    once, above them.
    """
    names = observed_names(spec)
    seen = [[_shown(x) for x in row] for row in episode.observations.tolist()]
    moving = [i for i, column in enumerate(zip(*seen, strict=True)) if len(set(column)) > 1]
    still = [f"{names[i]} {seen[0][i]}" for i in range(len(names)) if i not in set(moving)]
    rows = [", ".join(row[i] for i in moving) for row in seen]
    acts = [", ".join(map(_shown, row)) for row in episode.actions.tolist()]
    gains = [_shown(x) for x in episode.rewards.tolist()]
    steps = [f"{t} | {rows[t]} | {acts[t]} | {gains[t]}" for t in range(len(gains))]
    if len(steps) > most:
        first = most // 2
        left = len(steps) - most
        cut = f"... ({left} steps are left out)"
        steps = [*steps[:first], cut, *steps[len(steps) - (most - first) :]]
    head = f"step | {', '.join(names[i] for i in moving)} | action | reward"
    same = [f"The same in every step: {', '.join(still)}."] if still else []
    return "\n".join([*same, head, *steps, f"{len(gains)} | {rows[-1]} | {_end(episode)}"])


def observed_names(spec: EnvSpec) -> list[str]:
    """A name for each number of an observation: ``speed``, ``position[0]``."""
    from promptpo.spec import layout

    return [
        f"{item.name}[{i}]" if item.kind == "array" else item.name
        for item in layout(spec.observation)
        for i in range(item.stop - item.start)
    ]


def _end(episode: Trajectory) -> str:
    how = "terminated" if episode.terminated else "the step limit"
    success = {True: ", a success", False: ", no success", None: ""}[episode.success]
    return f"the end: {how}{success}"


def _shown(x: float) -> str:
    return f"{x + 0.0:.3g}"
