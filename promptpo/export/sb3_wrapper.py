"""A policy class under Stable-Baselines3's ``predict``, for one environment or a vector of them.

Needs numpy alone. What evaluates, records or plots a model of Stable-Baselines3 by calling
``predict(observation, state, episode_start, deterministic)`` takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

#: Environments, spaces, observations and actions are whatever the task has.
Env: TypeAlias = Any
Space: TypeAlias = Any
Obs: TypeAlias = Any
Action: TypeAlias = Any
Policy: TypeAlias = Any

#: Wrappers that a policy's ``observe`` does not expect around the environment.
_IDLE = ("Monitor", "TimeLimit", "OrderEnforcing", "PassiveEnvChecker", "SeededReset")


class SB3Policy:
    """Plays a policy class wherever a model of Stable-Baselines3 is expected.

    Args:
        env: the environment, or a VecEnv. Its spaces tell one observation from a batch and bound
            the actions. Where ``observe`` reads the environment itself, not only its observation,
            a VecEnv must be one whose environments live in this process (DummyVecEnv).
        policy: makes a policy, an object with ``act(observation)``.
        observation: makes what ``act`` expects from a flat float64 vector.
        observe: ``observe(raw, env)`` makes that vector from what the environment returns.
        lifetime: "episode": a new policy for each episode; "evaluation": one for all episodes of
            an environment, told of each by its ``reset()`` where it has one.
    """

    def __init__(
        self,
        env: Env,
        policy: Callable[[], Policy],
        observation: Callable[[Any], Any],
        observe: Callable[[Obs, Env], Any],
        lifetime: str = "episode",
    ) -> None:
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self._envs = [_bare(inner) for inner in getattr(env, "envs", [env])]
        self._policy, self._observation, self._observe = policy, observation, observe
        self._lifetime = lifetime
        self._policies: list[Policy] = []

    def predict(
        self,
        observation: Obs,
        state: Sequence[Policy] | None = None,
        episode_start: Sequence[bool] | None = None,
        deterministic: bool = True,
    ) -> tuple[Action, tuple[Policy, ...]]:
        """Actions for one observation or a batch of them, and the state to hand back.

        ``state`` is what the last call returned: one policy object per environment. Without it the
        policies of the last call go on; the first call, or one for another number of environments,
        begins anew. ``episode_start`` (one bool per environment) says which environments have just
        been reset: without it nothing tells that an episode has begun, so that a loop of your own
        gives it, or calls ``reset()``. ``deterministic`` changes nothing: a policy that draws
        random numbers always does.
        """
        rows, batch = self._rows(observation)
        policies = list(self._policies if state is None else state)
        begun = np.zeros(len(rows), dtype=bool)
        if episode_start is not None:
            begun[:] = episode_start
        if len(policies) != len(rows):
            policies = [None] * len(rows)
        envs = self._envs if len(self._envs) == len(rows) else self._envs[:1] * len(rows)
        actions = []
        for i, (raw, env) in enumerate(zip(rows, envs, strict=True)):
            if begun[i] or policies[i] is None:
                policies[i] = self._began(policies[i])
            seen = self._observation(self._observe(raw, env))
            actions.append(self._action(policies[i].act(seen)))
        self._policies = policies
        stacked = np.stack(actions)
        return (stacked if batch else stacked[0]), tuple(policies)

    def reset(self) -> None:
        """Say that the next call begins an episode, where ``episode_start`` is not given."""
        if self._lifetime == "episode":
            self._policies = []
        else:
            self._policies = [self._began(policy) for policy in self._policies]

    def _began(self, policy: Policy) -> Policy:
        """The policy for an episode that begins, given that of the one before (None: none)."""
        if policy is None or self._lifetime == "episode":
            return self._policy()
        if hasattr(policy, "reset"):
            policy.reset()
        return policy

    def _rows(self, observation: Obs) -> tuple[list[Obs], bool]:
        """Observations one by one, and whether they came as a batch."""
        if isinstance(observation, tuple):
            return [observation], False
        if isinstance(observation, dict):
            key, space = next(iter(self.observation_space.spaces.items()))
            if not _is_batch(observation[key], space):
                return [observation], False
            count = len(observation[key])
            return [{k: v[i] for k, v in observation.items()} for i in range(count)], True
        if _is_batch(observation, self.observation_space):
            return list(observation), True
        return [observation], False

    def _action(self, action: Action) -> Action:
        """The action as the environment expects it; continuous ones clipped to their bounds."""
        space = self.action_space
        row = np.asarray(action).reshape(space.shape)
        if hasattr(space, "low"):
            row = np.clip(row, space.low, space.high)
        return row.astype(space.dtype)


def _is_batch(observation: Obs, space: Space) -> bool:
    return np.ndim(observation) > len(space.shape)


def _bare(env: Env) -> Env:
    """The environment without the wrappers that add nothing that a policy sees."""
    while type(env).__name__ in _IDLE:
        env = env.env
    return env
