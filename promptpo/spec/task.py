"""The live environment behind a spec, as rollouts step it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import UNSET, UnsetType

from promptpo.common.lives import life_seed
from promptpo.errors import SpecError
from promptpo.outcomes import Gather
from promptpo.spec.calls import (
    CLOSE,
    MAKE,
    RESET,
    STEP,
    EnvironmentFault,
    UnsupportedSpace,
    activity,
    raised,
    raising_faults,
    reraise_interrupt,
)
from promptpo.spec.definition import Env, EnvSpec, Flat, Raw, Space
from promptpo.spec.environment import (
    BadValue,
    all_finite,
    flat_function,
    function_location,
    method_location,
    nonfinite,
    observation_of_reset,
    real,
    require_members,
    step_fault,
    truth,
)
from promptpo.spec.observation import observation_size

if TYPE_CHECKING:
    import sandbox

    SandboxAction: TypeAlias = sandbox.Box | sandbox.Discrete | sandbox.MultiDiscrete


class Meter:
    """Gathers the metrics of a spec over the steps of an episode."""

    def __init__(self, spec: EnvSpec) -> None:
        self._spec, self._metrics = spec, spec.measured
        self.start()

    def start(self) -> None:
        """Begin an episode."""
        self._steps: dict[str, list[float]] = {name: [] for name in self._metrics}

    def add(self, info: Mapping[str, Any], reward: float, terminated: bool) -> None:
        """Take the metrics of a step. Raises EnvironmentFault, which names the metric."""
        for name, values in self._steps.items():
            metric = self._metrics[name]
            try:
                number = real(metric.value(info, reward, terminated), "value")
            except BadValue as error:
                problem = f"metric {name!r} returns {error}"
                raise self._fault(name, problem, error.remedy) from error
            except BaseException as error:
                reraise_interrupt(error)
                raise raised(self._spec, f"metric {name!r} failed", error) from error
            if number - number != 0.0:
                raise self._fault(name, f"metric {name!r} is {number:g}")
            values.append(number)

    def totals(self) -> dict[str, float]:
        """Return the metrics of the episode. Raises EnvironmentFault for what is not finite."""
        totals = {}
        for name, values in self._steps.items():
            totals[name] = total = _GATHER[self._metrics[name].gather](values)
            if total - total != 0.0:
                raise self._fault(name, f"metric {name!r} comes to {total:g} over an episode")
        return totals

    def _fault(
        self, name: str, problem: str, remedy: str = "return a finite number"
    ) -> EnvironmentFault:
        where = function_location(self._spec, self._metrics[name].value)
        return EnvironmentFault(where, problem, remedy)


_GATHER: Mapping[Gather, Callable[[list[float]], float]] = {
    "sum": sum,
    "mean": lambda values: sum(values) / len(values),
    "max": max,
    "min": min,
    "last": lambda values: values[-1],
}


class Task:
    """One environment instance; lives in a trusted worker, is used by one thread at a time.

    Attributes:
        spec: the spec it runs.
        env: the environment, without Gymnasium's wrappers that only cost time.
        raw: the environment's own latest observation, as a spec's ``expert`` reads it.
        info: the latest step's ``info``.
        steps: steps of the episode so far, the one under way included.
        observation_size: length of the flat observations.
        action_size: length of an action row.
        horizon: steps after which an episode is truncated.
    """

    def __init__(self, spec: EnvSpec, env: Env) -> None:
        self.spec = spec
        self.env = _without_idle_wrappers(env, spec.horizon)
        self.raw: Raw = None
        self.info: Mapping[str, Any] = {}
        self.observation_size = observation_size(spec.observation)
        self.action_size = int(np.prod(env.action_space.shape or ()))
        self.horizon = spec.horizon
        self.steps = 0
        self._owner = env
        self._space = env.action_space
        self._is_number, self._low, self._high = _action_bounds(self._space, self.action_size)
        self._flat = flat_function(spec, self.env)
        self._zeros = np.zeros(self.observation_size)
        self._step = self.env.step
        self._success = spec.success
        self._meter = Meter(spec) if spec.measured else None
        activity.add(self)

    @classmethod
    def open(cls, spec: EnvSpec) -> Task:
        """Build the environment of a loaded spec.

        Raises:
            SpecError: it does not construct, a package or a member of the environment is
                missing, or a space is not supported.
        """
        words = "the environment does not construct"
        with activity.call(MAKE), raising_faults(spec, words):
            try:
                env = spec.make()
                require_members(spec, env)
                return cls(spec, env)
            except UnsupportedSpace as error:
                raise SpecError(f"{spec.where}: {error}") from error

    @property
    def action(self) -> SandboxAction:
        """The action space, as ``Box``, ``Discrete`` or ``MultiDiscrete`` of ``sandbox``."""
        from gymnasium import spaces

        import sandbox

        space = self._space
        if isinstance(space, spaces.Discrete):
            return sandbox.Discrete(int(space.n), int(space.start))
        if isinstance(space, spaces.Box):
            return sandbox.Box(tuple(space.shape))
        if isinstance(space, spaces.MultiBinary):
            return sandbox.MultiDiscrete((2,) * self.action_size)
        starts = tuple(int(start) for start in np.ravel(space.start))
        return sandbox.MultiDiscrete(tuple(int(n) for n in np.ravel(space.nvec)), starts)

    def received(self, action: Flat) -> Flat:
        """Return the action row as the environment receives it: a copy, clipped to the bounds."""
        return np.asarray(np.minimum(np.maximum(action, self._low), self._high))

    def decoded(self, actions: Flat) -> tuple[list[Any], list[int]]:
        """Return actions as ``advance`` takes them, of rows of shape ``(k, action_size)``.

        With them come the numbers of the rows that lay outside a Box, and were clipped to it.
        """
        if self._is_number:
            return actions[:, 0].astype(np.int64).tolist(), []
        inside = np.minimum(np.maximum(actions, self._low), self._high)
        clipped = (inside != actions).any(axis=1).nonzero()[0].tolist()
        return list(inside.reshape(-1, *self._space.shape).astype(self._space.dtype)), clipped

    def reset(self, seed: int, life: int | None = None) -> Flat:
        """Start the episode of a seed (0 or more); the same seed gives the same episode.

        ``life`` is how many episodes make a life, for specs that draw something once for each
        (default: what the spec says). Returns the first observation, a fresh float64 vector of
        ``observation_size``.

        Raises:
            EnvironmentFault: the environment or ``observe`` raised, its answer has not
                Gymnasium's form, or its numbers are not the fields'.
        """
        activity.begin(RESET)
        self.steps = 0
        if self._meter is not None:
            self._meter.start()
        with raising_faults(self.spec, "the environment cannot be reset"):
            if self.spec.new_life is not None:
                self.spec.new_life(self.env, life_seed(seed, life or self.spec.life))
            self.raw = observation_of_reset(self.spec, self.env, seed)
            try:
                flat = self._flat(self.raw)
            except BadValue as error:
                raise self._misfilled("reset", error) from error
        activity.begin(STEP)
        if len(flat) != self.observation_size:
            raise self._missized(flat)
        self.require_finite(flat)
        return flat

    def step(self, action: Flat) -> tuple[Flat, float, bool, bool, bool | None]:
        """Take one step with a row of ``action_size`` finite float64.

        Returns the next observation (a fresh float64 vector), the environment's reward, whether
        it terminated, whether it was truncated (the horizon counts), and whether this step met
        the task's success test (None where the task defines none). Whether the observation is
        finite is for the caller to see: ``require_finite``.

        Raises:
            EnvironmentFault: the environment or the spec's own code raised, its answer has not
                Gymnasium's form, or the reward is not finite.
        """
        try:
            (decoded,), _ = self.decoded(np.reshape(action, (1, self.action_size)))
        except ValueError as error:  # a row of another size
            raise raised(self.spec, "step failed", error) from error
        return self.advance(decoded)

    def advance(self, action: object) -> tuple[Flat, float, bool, bool, bool | None]:
        """Take a step, as ``step`` does, with an action of the environment's own type."""
        answer: Any = ...
        success = None
        self.steps += 1
        try:
            answer = self._step(action)
            self.raw, reward, terminated, truncated, self.info = answer
            flat = self._flat(self.raw)
            if type(reward) is not float:
                reward = float(reward) if isinstance(reward, float) else real(reward)
            if terminated is not False and terminated is not True:
                terminated = truth(terminated, "terminated")
            if truncated is not False and truncated is not True:
                truncated = truth(truncated, "truncated")
            if self._success is not None:
                success = self._success(self.info, reward, terminated)
                if success is not False and success is not True:
                    success = truth(success, "success")
            # NaN - NaN and inf - inf are NaN.
            if (
                len(flat) != self.observation_size
                or reward - reward != 0.0
                or type(self.info) is not dict
            ):
                self._require_sound(flat, reward)
            if self._meter is not None:
                self._meter.add(self.info, reward, terminated)
        except BaseException as error:
            reraise_interrupt(error)
            raise self._fault_in_step(answer, error) from error
        if self.steps >= self.horizon and not terminated:
            truncated = True
        return flat, reward, terminated, truncated, success

    def outcome(self, met: bool) -> tuple[bool | None, dict[str, float] | UnsetType]:
        """Return success and metrics of an episode that has ended.

        ``met``: whether any of its steps has met the success test. Raises EnvironmentFault.
        """
        spec, metrics = self.spec, self._meter.totals() if self._meter is not None else UNSET
        if not spec.defines_success:
            return None, metrics
        holds = all(
            not constraint.gauge.breach(metrics[name])
            for name, constraint in spec.constraints.items()
            if metrics
        )
        return (met or spec.success is None) and holds, metrics

    def require_finite(self, flat: Flat, step: int | None = None) -> None:
        """Raise EnvironmentFault for an observation, after a step, that holds NaN or an infinity.

        ``step`` is the episode's latest where it is not stated.
        """
        if all_finite(flat, self._zeros):
            return
        if field := nonfinite(self.spec, flat):
            step = self.steps if step is None else step
            when = f"after step {step}" if step else "after reset"
            filler = self.spec.observe
            where = function_location(self.spec, filler) if filler else self._location("step")
            problem = f"the observation's field {field} {when}"
            raise EnvironmentFault(where, problem, "return finite numbers")

    def close(self) -> None:
        """Release the environment, if it has a ``close``.

        Raises:
            SpecError: the environment raised.
        """
        with activity.call(CLOSE), raising_faults(self.spec, "the environment cannot be closed"):
            close = getattr(self._owner, "close", None)
            if close is not None:
                close()

    def _require_sound(self, flat: Flat, reward: float) -> None:
        if len(flat) != self.observation_size:
            raise self._missized(flat)
        if not np.isfinite(reward):
            problem = f"step returns {reward:g} as the reward"
            raise EnvironmentFault(self._location("step"), problem, "make it a finite number")
        if not isinstance(self.info, Mapping):
            problem = f"step returns {type(self.info).__name__} as info, not a dict"
            raise EnvironmentFault(self._location("step"), problem, "return {}")

    def _fault_in_step(self, answer: object, error: BaseException) -> EnvironmentFault:
        if isinstance(error, EnvironmentFault):
            return error
        fault = None if answer is ... else step_fault(self.spec, self.env, answer)
        if fault is not None:
            return fault
        if isinstance(error, BadValue):
            return self._misfilled("step", error)
        words = "step failed" if answer is ... else "the spec failed in a step"
        return raised(self.spec, words, error)

    def _misfilled(self, call: str, error: BadValue) -> EnvironmentFault:
        """Return the fault for a bad value, with the function that returned it."""
        own = {"observation": ("observe", self.spec.observe), "success": ("success", self._success)}
        who, function = own.get(error.part, (call, None))
        where = function_location(self.spec, function) if function else self._location(call)
        return EnvironmentFault(where, f"{who if function else call} returns {error}", error.remedy)

    def _missized(self, flat: Flat) -> EnvironmentFault:
        filler = "observe" if self.spec.observe else "the environment"
        return EnvironmentFault(
            self.spec.where,
            f"{filler} gives {flat.size} numbers, but the fields of "
            f"{self.spec.observation.__name__} take {self.observation_size}",
            "make the fields' shapes those of the observation",
        )

    def _location(self, method: str) -> str:
        return method_location(self.spec, self.env, method)


def _action_bounds(space: Space, size: int) -> tuple[bool, Flat, Flat]:
    """Return whether actions are numbers, and the bounds of each element of a row.

    Only a Box has any: integers need no clipping, as the sandbox lets no others through.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        low, high = (end.astype(np.float64).reshape(-1) for end in (space.low, space.high))
        return False, low, high
    if not isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
        raise UnsupportedSpace(
            f"action space {type(space).__name__} is not supported; let make() wrap the "
            "environment so that its actions are Discrete, MultiDiscrete or Box"
        )
    discrete = isinstance(space, spaces.Discrete)
    return discrete, np.full(size, -np.inf), np.full(size, np.inf)


def _without_idle_wrappers(env: Env, horizon: int) -> Env:
    """Peel Gymnasium's outer wrappers that change nothing: the horizon is counted here."""
    from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

    while True:
        limit = env._max_episode_steps if type(env) is TimeLimit else 0
        if type(env) in (OrderEnforcing, PassiveEnvChecker) or limit >= horizon:
            env = env.env
        else:
            return env
