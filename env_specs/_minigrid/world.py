"""What the MiniGrid specs share: construction, observations, what the reward depends on."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np

from promptpo.spec import Env, Raw


class Outcome(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Tells in ``info`` what a step's reward was for: the mission, or a collision."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """As Gymnasium's; MiniGrid pays more than 0 for the mission only, less for collisions."""
        raw, reward, terminated, truncated, info = self.env.step(action)
        gain = float(reward)
        info = {**info, "success": gain > 0, "collided": gain < 0}
        return raw, gain, terminated, truncated, info


def make_env(env_id: str) -> Env:
    """Build one of MiniGrid's environments."""
    import minigrid  # noqa: F401 - registers its environments

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there is a later version of some
        return Outcome(gymnasium.make(env_id, disable_env_checker=True))


def observe(raw: Raw, env: Env) -> np.ndarray:
    """Codes of objects, colours and states in view, each row by row; direction; steps so far."""
    view = np.moveaxis(raw["image"], 2, 0).transpose(0, 2, 1)  # from [column, row] to [row, column]
    return np.concatenate((view.ravel(), [raw["direction"], env.unwrapped.step_count]))


def observe_mission(raw: Raw, env: Env) -> np.ndarray:
    """As ``observe``, and the words of the mission that differ between episodes, as codes."""
    return np.concatenate((observe(raw, env), mission_codes(env.spec.id)[raw["mission"]]))


def open_places(space: Any) -> list[list[str]]:  # noqa: ANN401 - minigrid's MissionSpace
    """The words that may stand in each place of a mission that differs between episodes."""
    return [list(words) for words in space.ordered_placeholders or () if len(words) > 1]


@lru_cache(maxsize=8)
def mission_codes(env_id: str) -> Mapping[str, tuple[int, ...]]:
    """Every mission of an environment, with the number of its word in each open place."""
    env = make_env(env_id)
    space = env.unwrapped.observation_space["mission"]
    env.close()
    found = {}
    choices = [list(words) for words in space.ordered_placeholders]
    for numbers in itertools.product(*(range(len(words)) for words in choices)):
        text = space.mission_func(*(w[n] for w, n in zip(choices, numbers, strict=True)))
        found[text] = tuple(n for w, n in zip(choices, numbers, strict=True) if len(w) > 1)
    return found


def accomplished(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the reward of a step depends on and the observation does not always tell."""
    return {"accomplished": info["success"]}


def outcome(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """As ``accomplished``, where there are obstacles to collide with."""
    return {**accomplished(info), "collided": info["collided"]}


def success(info: Mapping[str, Any], reward: float, terminated: bool) -> bool:
    """The mission was accomplished."""
    return bool(info["success"])


def is_deterministic(env: Env) -> bool:
    """Whether all episodes begin alike, and nothing moves but the agent."""
    starts = set()
    for seed in range(8):
        env.reset(seed=seed)
        inner = env.unwrapped
        place = (*map(int, inner.agent_pos), int(inner.agent_dir), inner.mission)
        starts.add((inner.grid.encode().tobytes(), *place))
    return len(starts) == 1 and not has_obstacles(env)


def has_obstacles(env: Env) -> bool:
    """Whether things move that the agent must not collide with."""
    return hasattr(env.unwrapped, "obstacles")
