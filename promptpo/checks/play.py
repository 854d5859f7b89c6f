"""Real transitions of a task under random, zero, held and expert actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from promptpo.spec import EnvSpec, Flat, Task, standalone_source
from promptpo.spec.running.references import random_actions, spec_expert, zero_actions

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
