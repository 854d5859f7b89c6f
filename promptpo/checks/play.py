"""Real transitions of a task under random, zero, held and expert actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType

from promptpo.spec import EnvSpec, Flat, Task, layout
from promptpo.spec.baselines import Controller, random_actions, spec_expert, zero_actions
from promptpo.spec.observation import observation_class
from promptpo.spec.writing import table

#: An array shows so many of its numbers.
_MOST_NUMBERS = 6

#: Where the reward reads no field, so many are shown.
_MOST_FIELDS = 8


class Transition(NamedTuple):
    """One step: observations and action as a policy sees them, the environment's reward."""

    before: Flat
    action: Any
    after: Flat
    reward: float
    info: Mapping[str, Any]


class Episode(NamedTuple):
    """Outcome of one episode; ``mode`` is what chose its actions."""

    mode: str
    seed: int
    length: int
    terminated: bool
    success: bool | None
    metrics: Mapping[str, float] | UnsetType = UNSET


@dataclass
class Played:
    """All that was played, and the seconds that its steps took."""

    spec: EnvSpec
    transitions: list[Transition] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    firsts: list[Flat] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def observations(self) -> Flat:
        """Every observation met, first ones included: shape (observations, size)."""
        return np.array([*self.firsts, *(step.after for step in self.transitions)])

    @property
    def last_steps(self) -> list[int]:
        """The transitions with which an episode terminated (not: was truncated)."""
        lasts = np.cumsum([episode.length for episode in self.episodes]) - 1
        return [int(n) for n, e in zip(lasts, self.episodes, strict=True) if e.terminated]

    def origin(self, number: int) -> str:
        """Return a transition's step (from 1), its seed and what chose the actions, in words."""
        for episode in self.episodes:
            if number < episode.length:
                break
            number -= episode.length
        who = "the expert" if episode.mode == "expert" else f"{episode.mode} actions"
        return f"step {number + 1} of seed {episode.seed}, with {who}"


def held_actions(task: Task, seed: int) -> Callable[[Any], Any]:
    """Keep random actions for 1 to 40 steps each; at times beyond the bounds of a Box."""
    space = task.env.action_space
    space.seed(seed)
    rng = np.random.default_rng(seed)
    left, row = 0, np.zeros(task.action_size)

    def act(raw: Any) -> Flat:  # noqa: ANN401 - the environment's own observation
        nonlocal left, row
        if left == 0:
            left = int(rng.integers(1, 41))
            row = np.asarray(space.sample(), dtype=np.float64).reshape(-1)
            if hasattr(space, "low") and rng.random() < 0.5:
                row = row * 3.0
        left -= 1
        return row

    return act


_CONTROLLERS: Mapping[str, Controller] = {
    "random": random_actions,
    "zero": zero_actions,
    "held": held_actions,
    "expert": spec_expert,
}


def play(task: Task, transitions: int) -> Played:
    """Play whole episodes, their modes in turn, until there are so many transitions."""
    played = Played(task.spec)
    modes = [mode for mode in _CONTROLLERS if mode != "expert" or task.spec.expert]
    while len(played.transitions) < transitions or len(played.episodes) < len(modes):
        seed = len(played.episodes)
        play_episode(task, modes[seed % len(modes)], seed, played)
    return played


def play_episode(task: Task, mode: str, seed: int, played: Played) -> None:
    """Play one whole episode in a mode, and add it to what was played."""
    before = task.reset(seed)
    played.firsts.append(before)
    act = _CONTROLLERS[mode](task, seed)
    space = task.env.action_space
    length, met, terminated, truncated = 0, False, False, False
    while not (terminated or truncated):
        row = np.asarray(act(task.raw), dtype=np.float64).reshape(-1)
        began = time.perf_counter()
        after, reward, terminated, truncated, success = task.step(row)
        played.seconds += time.perf_counter() - began
        # As the reward function of the prompt gets it: clipped to the bounds.
        action: Any = task.received(row)
        discrete = hasattr(space, "n") and not space.shape
        action = int(action[0]) if discrete else action.reshape(space.shape)
        played.transitions.append(Transition(before, action, after, reward, dict(task.info)))
        before, length, met = after, length + 1, met or bool(success)
    played.episodes.append(Episode(mode, seed, length, terminated, *task.outcome(met)))


def transition_table(spec: EnvSpec, step: Transition, hidden: Mapping[str, Any]) -> str:
    """Return lines with the fields before and after, the action, and the reward's hidden inputs.

    The fields are those that the reward reads; where it reads none, the first ones.
    """
    read = _fields_read(spec, step, hidden)
    items = [item for item in layout(spec.observation) if item.name in read]
    items = items or list(layout(spec.observation)[:_MOST_FIELDS])
    see = observation_class(spec.observation)
    before, after = see(step.before), see(step.after)
    rows = [("field", "observation", "next_observation")]
    rows += [(i.name, _short(getattr(before, i.name)), _short(getattr(after, i.name)))
             for i in items]  # fmt: skip
    rows += [("action", _short(step.action), "")]
    rows += [(f"{name}=", _short(value), "") for name, value in hidden.items()]
    return table(rows)


def _fields_read(spec: EnvSpec, step: Transition, hidden: Mapping[str, Any]) -> Collection[str]:
    """Return the names that the reward reads in one transition, also through methods."""
    read: set[str] = set()
    see: Any = observation_class(spec.observation)

    class Watched(see):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - whatever the field holds
            read.add(name)
            return super().__getattribute__(name)

    try:
        with np.errstate(all="ignore"):
            spec.reward(Watched(step.before), step.action, Watched(step.after), **hidden)
    except Exception:  # noqa: S110 - the check of the reward reports it
        pass
    return read


def _short(value: Any) -> str:  # noqa: ANN401 - a field's value, an action, a hidden input
    """Return a value in few characters."""
    if isinstance(value, np.ndarray):
        first = ", ".join(f"{number:.6g}" for number in value.ravel()[:_MOST_NUMBERS].tolist())
        return f"[{first}{', ...' if value.size > _MOST_NUMBERS else ''}]"
    if isinstance(value, np.generic):
        value = value.item()
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
