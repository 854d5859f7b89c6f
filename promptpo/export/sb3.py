"""An exported policy under Stable-Baselines3's ``predict``; Stable-Baselines3 is not imported."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from promptpo.export.learned import argument
from promptpo.export.policy_file import PolicyFile
from promptpo.spec import Env, EnvSpec, Raw
from promptpo.spec.environment import flat_function

Policy: TypeAlias = Any
Action: TypeAlias = Any

#: Wrappers that a policy's ``observe`` does not expect around the environment.
_WRAPPERS = ("Monitor", "TimeLimit", "OrderEnforcing", "PassiveEnvChecker")


class SB3Policy:
    """Plays an exported policy wherever a model of Stable-Baselines3 is expected.

    Whatever evaluates or records a model by calling ``predict`` takes it, ``evaluate_policy``
    among them. The first arguments stand in an exported ``policy.py``::

        from policy import Observation, Policy, observe

        model = SB3Policy(env, Policy, Observation, observe)

    Args:
        env: the environment, or a VecEnv. Its spaces tell one observation from a batch and bound
            the actions. Where ``observe`` reads the environment itself, not only its observation,
            a VecEnv must be one whose environments live in this process (DummyVecEnv).
        policy: makes a policy, an object with ``act(observation)``.
        observation: makes what ``act`` expects from a flat float64 vector.
        observe: ``observe(raw, env)`` makes that vector from what the environment returns.
        lifetime: "episode": a new policy for each episode; "evaluation": one for all episodes of
            an environment; its ``reset()``, where it has one, is called between them.
    """

    def __init__(
        self,
        env: Env,
        policy: Callable[[], Policy],
        observation: Callable[[Any], Any],
        observe: Callable[[Raw, Env], Any],
        lifetime: str = "episode",
    ) -> None:
        self.observation_space = env.observation_space
        self.action_space = env.action_space
        self._envs = [_unwrapped(inner) for inner in getattr(env, "envs", [env])]
        self._policy, self._observation, self._observe = policy, observation, observe
        self._lifetime = lifetime
        self._policies: list[Policy] = []

    @classmethod
    def load(cls, file: str | Path, spec: EnvSpec, env: Env) -> SB3Policy:
        """Return the policy of ``best/policy.py`` of a run, or of its exported copy.

        It is made with what its ``prepare`` returned, if anything, and lives as long as the spec
        says. The file is run without the sandbox: read it first. ``env`` is an environment like
        ``spec.make()``, or a VecEnv of such. Raises UsageError where the file cannot be read.
        """
        read = PolicyFile.read(Path(file))
        names = runpy.run_path(str(file))
        values = argument(read.played, read.learned)
        policy = partial(names["Policy"], names[values]) if values else names["Policy"]
        # Where ``observe`` could not be copied out of the spec, the spec's own is called.
        observe = names.get("observe") or (lambda raw, env: flat_function(spec, env)(raw))
        return cls(env, policy, names["Observation"], observe, spec.policy_lifetime)

    def predict(
        self,
        observation: Raw,
        state: Sequence[Policy] | None = None,
        episode_start: Sequence[bool] | None = None,
        deterministic: bool = True,
    ) -> tuple[Action, tuple[Policy, ...]]:
        """Return actions for one observation or a batch of them, and the state to hand back.

        ``state`` is what the last call returned: one policy object per environment. Without it the
        policies of the last call go on; the first call, or one for another number of environments,
        begins anew. ``episode_start`` (one bool per environment) says which environments have just
        been reset; a loop that does not give it calls ``reset()`` before each episode.
        ``deterministic`` changes nothing: a policy that draws random numbers always does.
        """
        rows, batch = self._rows(observation)
        policies = list(self._policies if state is None else state)
        if len(policies) != len(rows):
            policies = [None] * len(rows)
        begun = np.zeros(len(rows), dtype=bool)
        if episode_start is not None:
            begun[:] = episode_start
        envs = self._envs if len(self._envs) == len(rows) else self._envs[:1] * len(rows)
        actions = []
        for i, (raw, env) in enumerate(zip(rows, envs, strict=True)):
            if begun[i] or policies[i] is None:
                policies[i] = self._start(policies[i])
            seen = self._observation(self._observe(raw, env))
            actions.append(self._action(policies[i].act(seen)))
        self._policies = policies
        stacked = np.stack(actions)
        return (stacked if batch else stacked[0]), tuple(policies)

    def reset(self) -> None:
        """Start an episode with the next call, where ``episode_start`` is not given."""
        if self._lifetime == "episode":
            self._policies = []
        else:
            self._policies = [self._start(policy) for policy in self._policies]

    def _start(self, policy: Policy) -> Policy:
        """Return the policy for a new episode, given that of the one before (None: none)."""
        if policy is None or self._lifetime == "episode":
            return self._policy()
        if hasattr(policy, "reset"):
            policy.reset()
        return policy

    def _rows(self, observation: Raw) -> tuple[list[Raw], bool]:
        """Return observations one by one, and whether they came as a batch."""
        space, part = self.observation_space, observation
        if isinstance(observation, dict):
            key, space = next(iter(space.spaces.items()))
            part = observation[key]
        if isinstance(observation, tuple) or np.ndim(part) <= len(space.shape):
            return [observation], False
        if isinstance(observation, dict):
            return [{k: v[i] for k, v in observation.items()} for i in range(len(part))], True
        return list(observation), True

    def _action(self, action: Action) -> Action:
        """Return the action in the space's shape and dtype; continuous ones clipped to bounds."""
        space = self.action_space
        row = np.asarray(action).reshape(space.shape)
        if hasattr(space, "low"):
            row = np.clip(row, space.low, space.high)
        return row.astype(space.dtype)


def _unwrapped(env: Env) -> Env:
    while type(env).__name__ in _WRAPPERS:
        env = env.env
    return env
