"""Real transitions of a task under random, zero, held and expert actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from promptpo.spec import EnvSpec, Flat, Task, layout, standalone_source
from promptpo.spec.baselines import random_actions, spec_expert, zero_actions

#: Returns the action row of the next step.
Act = Callable[[], Flat]


class Transition(NamedTuple):
    """One step: observations and action as a policy sees them, the environment's reward."""

    before: Flat
    action: Any
    after: Flat
    reward: float
    info: Mapping[str, Any]


class Episode(NamedTuple):
    """How one episode went; ``mode`` is what chose its actions."""

    mode: str
    seed: int
    length: int
    terminated: bool
    success: bool | None


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


def play(task: Task, transitions: int, first_seed: int = 0) -> Played:
    """Play whole episodes, their modes in turn, until there are so many transitions."""
    played = Played(task.spec)
    modes = modes_of(task)
    while len(played.transitions) < transitions or len(played.episodes) < len(modes):
        number = len(played.episodes)
        play_episode(task, modes[number % len(modes)], first_seed + number, played)
    return played


def modes_of(task: Task) -> Sequence[str]:
    """What chooses actions: random, zero, held, and the spec's expert if it has one."""
    return ("random", "zero", "held", *(("expert",) if task.spec.expert else ()))


def play_episode(task: Task, mode: str, seed: int, played: Played) -> None:
    """Play one whole episode in a mode, and add it to what was played."""
    before = task.reset(seed)
    played.firsts.append(before)
    act = actor(task, mode, seed)
    length, met, over = 0, False, False
    terminated = False
    while not over:
        row = act()
        began = time.perf_counter()
        after, reward, terminated, truncated, success = task.step(row)
        played.seconds += time.perf_counter() - began
        action = seen_action(task, row)
        played.transitions.append(Transition(before, action, after, reward, dict(task.info)))
        before, length, met = after, length + 1, met or bool(success)
        over = terminated or truncated
    success = met if task.spec.success else None
    played.episodes.append(Episode(mode, seed, length, terminated, success))


def actor(task: Task, mode: str, seed: int) -> Act:
    """Return what chooses the actions of one episode, after the task's reset."""
    if mode == "held":
        return _held(task, seed)
    controller = {"random": random_actions, "zero": zero_actions, "expert": spec_expert}[mode]
    choose = controller(task, seed)
    return lambda: np.asarray(choose(task.raw), dtype=np.float64).reshape(-1)


def _held(task: Task, seed: int) -> Act:
    """Random actions that are kept for 1 to 40 steps; at times beyond the bounds of a Box."""
    space = task.env.action_space
    space.seed(seed)
    rng = np.random.default_rng(seed)
    left, row = 0, np.zeros(task.action_size)

    def act() -> Flat:
        nonlocal left, row
        if left == 0:
            left = int(rng.integers(1, 41))
            row = np.asarray(space.sample(), dtype=np.float64).reshape(-1)
            if hasattr(space, "low") and rng.random() < 0.5:
                row = row * 3.0
        left -= 1
        return row

    return act


def seen_action(task: Task, row: Flat) -> Any:  # noqa: ANN401 - an int, or an array
    """The action as the prompt's reward function gets it: as received, clipped to the bounds."""
    space = task.env.action_space
    received = task.received(row)
    discrete = hasattr(space, "n") and not space.shape
    return int(received[0]) if discrete else received.reshape(space.shape)


def observation_class(spec: EnvSpec) -> Callable[[Flat], Any]:
    """The class that policies see, which makes an observation from a flat vector."""
    space: dict[str, Any] = {}
    exec(standalone_source(spec.observation), space)  # noqa: S102 - the author's own class
    made: Callable[[Flat], Any] = space["Observation"]
    return made


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
