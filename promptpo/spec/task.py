"""A task that runs: the live environment behind a spec, as rollouts step it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from promptpo.errors import SpecError
from promptpo.spec.definition import Env, EnvSpec, Raw
from promptpo.spec.interface import observation_of_reset, require_members, spec_error, step_error
from promptpo.spec.observation import layout, observation_size
from promptpo.spec.spaces import ActionCodec, Flat, UnsupportedSpace, flattener
from promptpo.spec.trouble import line_in

if TYPE_CHECKING:
    from promptpo.spec.spaces import SandboxAction


class Task:
    """One environment instance; lives in a trusted worker, is used by one thread at a time.

    Attributes:
        spec: the spec it runs.
        env: the environment, without Gymnasium's wrappers that only cost time.
        raw: the environment's own latest observation, as a spec's ``expert`` reads it.
        info: the latest step's ``info``.
        observation_size: length of the flat observations.
        horizon: steps after which an episode is truncated.
    """

    def __init__(self, spec: EnvSpec, env: Env) -> None:
        self.spec = spec
        self.env = _without_idle_wrappers(env, spec.horizon)
        self.raw: Raw = None
        self.info: Mapping[str, Any] = {}
        self.observation_size = observation_size(spec.observation)
        self.horizon = spec.horizon
        self._owner = env
        self._codec = ActionCodec(env.action_space)
        self._decode = self._codec.decode
        self._flat = self._flat_function()
        self._step = self.env.step
        self._success = spec.success
        self._steps = 0

    @classmethod
    def open(cls, spec: EnvSpec) -> Task:
        """Build the environment of a loaded spec.

        Raises:
            SpecError: it does not construct, a package or a member of the environment is
                missing, or a space is not supported.
        """
        try:
            env = spec.make()
        except (Exception, SystemExit) as error:
            raise spec_error(spec, "the environment does not construct", error) from error
        require_members(spec, env)
        try:
            return cls(spec, env)
        except UnsupportedSpace as error:
            raise SpecError(f"{spec.where}: {error}") from error

    @property
    def action(self) -> SandboxAction:
        """The action space, as ``Box``, ``Discrete`` or ``MultiDiscrete`` of ``sandbox``."""
        return self._codec.description

    @property
    def action_size(self) -> int:
        """Length of an action row."""
        return self._codec.size

    @property
    def clipped(self) -> int:
        """How many actions so far lay outside the bounds and were clipped."""
        return self._codec.clipped

    def received(self, action: Flat) -> Flat:
        """The action row as the environment receives it: a copy, clipped to the bounds."""
        return self._codec.received(action)

    def reset(self, seed: int) -> Flat:
        """Start the episode of a seed (0 or more); the same seed gives the same episode.

        Returns the first observation, a fresh float64 vector of ``observation_size``.

        Raises:
            SpecError: the environment or ``observe`` raised, its answer has not Gymnasium's form,
                or its size is not the fields'.
        """
        try:
            self.raw = observation_of_reset(self.spec, self.env, seed)
            flat = self._flat(self.raw)
        except SpecError:
            raise
        except Exception as error:
            raise spec_error(self.spec, "the environment cannot be reset", error) from error
        self._steps = 0
        if flat.shape != (self.observation_size,):
            filler = "observe" if self.spec.observe else "the environment"
            raise SpecError(
                f"{self.spec.where}: {filler} gives {flat.size} numbers, but the fields of "
                f"{self.spec.observation.__name__} take {self.observation_size}; "
                "make the fields' shapes those of the observation"
            )
        return flat

    def step(self, action: Flat) -> tuple[Flat, float, bool, bool, bool | None]:
        """Take one step with a row of ``action_size`` finite float64.

        Returns the next observation (a fresh float64 vector), the environment's reward, whether
        it terminated, whether it was truncated (the horizon counts), and whether this step met
        the task's success test (None where the task defines none).

        Raises:
            SpecError: the spec's own code raised, or the environment's answer has not
                Gymnasium's form. What the environment itself raises passes through, for an
                action may have brought it about.
        """
        answer: Any = ...
        try:
            answer = self._step(self._decode(action))
            self.raw, reward, terminated, truncated, self.info = answer
            flat = self._flat(self.raw)
            reward = float(reward)
            success = None
            if self._success is not None:
                success = bool(self._success(self.info, reward, terminated))
        except Exception as error:
            form = None if answer is ... else step_error(self.spec, self.env, answer)
            if form is not None:
                raise form from error
            if self.spec.path is None or line_in(error, self.spec.path) is None:
                raise
            raise spec_error(self.spec, "the spec failed in a step", error) from error
        self._steps += 1
        if self._steps >= self.horizon and not terminated:
            truncated = True
        return flat, reward, bool(terminated), bool(truncated), success

    def close(self) -> None:
        """Release the environment, if it has a ``close``.

        Raises:
            SpecError: the environment raised.
        """
        close = getattr(self._owner, "close", None)
        if close is None:
            return
        try:
            close()
        except Exception as error:
            raise spec_error(self.spec, "the environment cannot be closed", error) from error

    def _flat_function(self) -> Callable[[Raw], Flat]:
        """Return the way from a raw observation to a fresh flat vector."""
        observe = self.spec.observe
        if observe is None:
            return flattener(self.env.observation_space)
        env = self.env
        fields = layout(self.spec.observation)
        size = self.observation_size

        def fill(raw: Raw) -> Flat:
            seen = observe(raw, env)
            if not isinstance(seen, dict):
                return np.array(seen, dtype=np.float64).reshape(-1)
            if seen.keys() != names:
                _name_difference(names, seen.keys())
            flat = np.empty(size)
            for item in fields:
                value = seen[item.name]
                flat[item.start : item.stop] = (
                    np.reshape(value, -1) if item.kind == "array" else value
                )
            return flat

        names = {item.name for item in fields}
        return fill


def _name_difference(names: set[str], given: Iterable[str]) -> None:
    missing, unknown = sorted(names - set(given)), sorted(set(given) - names)
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    parts += [f"has no field for {', '.join(unknown)}"] if unknown else []
    raise ValueError(f"observe's mapping {' and '.join(parts)}")


def _without_idle_wrappers(env: Env, horizon: int) -> Env:
    """Peel Gymnasium's outer wrappers that change nothing: the horizon is counted here."""
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

    while True:
        limit = env._max_episode_steps if type(env) is TimeLimit else 0
        if type(env) in (OrderEnforcing, PassiveEnvChecker) or limit >= horizon:
            env = env.env
        else:
            return env
