"""Classes that authors use: ``EnvSpec``, ``Field``, ``Reference``, ``Metric``; family errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from promptpo.common import lives
from promptpo.outcomes import Gather, Gauge, Objective, Terms

Bound: TypeAlias = float | Sequence[float] | None

#: An environment with Gymnasium's API, and what it returns as an observation: any type at all.
Env: TypeAlias = Any
Raw: TypeAlias = Any

#: A space of Gymnasium, which is not imported before an environment is.
Space: TypeAlias = Any

#: Observations and actions as one row of numbers.
Flat: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Field:
    """Description of one observation field; made by :func:`promptpo.spec.field`.

    ``low`` and ``high`` are inclusive bounds, one number or one per element, in ``unit``;
    None where the environment gives no bound.
    """

    shape: tuple[int, ...] | None = None
    unit: str = ""
    low: Bound = None
    high: Bound = None
    frame: str = ""
    doc: str = ""


def observation_field(
    *,
    shape: tuple[int, ...] | None = None,
    unit: str = "",
    low: Bound = None,
    high: Bound = None,
    frame: str = "",
    doc: str = "",
) -> Any:  # noqa: ANN401 - as a default value it must fit every annotation
    """Describe one field of an observation class; exported as ``promptpo.spec.field``.

    Args:
        shape: the array's shape; required for ``np.ndarray`` fields, absent for numbers.
        unit: physical unit, e.g. ``"m/s"``; empty for a pure number.
        low: smallest value that can occur, a number or one per element; None: no bound.
        high: largest value that can occur, a number or one per element; None: no bound.
        frame: the coordinate frame, e.g. ``"world: x right, y away from the base, z up"``.
        doc: what the number is, where its zero lies, which sign means what.
    """
    return Field(shape=shape, unit=unit, low=low, high=high, frame=frame, doc=doc)


@dataclass(frozen=True)
class Reference:
    """Score of a known behaviour on the task: mean return of an episode, success rate 0..1.

    ``deviation``, the standard deviation of an episode's return, is needed only where rare
    episodes decide the mean: a few episodes cannot tell it, and are then not expected to.
    ``episodes``, given with it, is how many the values were measured on, where those were few.
    ``worst_tenth`` is the mean return of the worst tenth, of a spec with that objective.
    """

    mean_return: float
    success_rate: float | None = None
    deviation: float | None = None
    episodes: int | None = None
    worst_tenth: float | None = None


#: A function of one step: ``(info, reward, terminated)``, as Gymnasium's ``step`` returns them.
OfStep: TypeAlias = Callable[[Mapping[str, Any], float, bool], Any]


@dataclass(frozen=True)
class Metric:
    """A number of an episode beside its return, e.g. the energy that it took.

    Attributes:
        value: ``value(info, reward, terminated) -> float`` of one step.
        gather: how the steps make up the episode: "sum", "mean", "max", "min" or "last".
        unit: physical unit, e.g. ``"kWh"``; empty for a pure number.
        better: "low" or "high"; empty where neither is better.
        doc: what it is, for the prompt.
    """

    value: OfStep
    gather: Gather
    _: KW_ONLY
    unit: str = ""
    better: Literal["low", "high", ""] = ""
    doc: str = ""

    @property
    def gauge(self) -> Gauge:
        """The way in which its values are read."""
        return Gauge(self.gather, self.unit, self.better)


@dataclass(frozen=True)
class Constraint(Metric):
    """A metric with bounds. An episode that breaks them is no success, whatever else it reaches.

    "max" with ``at_most``, and "min" with ``at_least``, must hold in every step; "mean" on average
    over the episode.

    Attributes:
        at_most, at_least: the bounds, inclusive, in ``unit``: one of them, or both.
    """

    _: KW_ONLY
    at_most: float | None = None
    at_least: float | None = None

    @property
    def gauge(self) -> Gauge:
        """The way in which its values are read."""
        better = self.better
        if not better and None in (self.at_most, self.at_least):
            better = "high" if self.at_most is None else "low"
        return Gauge(self.gather, self.unit, better, self.at_most, self.at_least)


@dataclass(frozen=True, kw_only=True)
class EnvSpec:
    """One task: the parts that the model sees, and how the environment behind them is run.

    The model sees ``observation``, ``action``, ``reward`` (with ``reward_helpers``), ``horizon``,
    ``description`` and, unless a run withholds them, ``facts``. All else is withheld from it.

    Attributes:
        make: builds the environment (Gymnasium's API). Import what is heavy inside it.
        observation: class whose annotated attributes are the fields, each a ``field(...)``.
        action: describes the action in words: type, shape, bounds, units, meaning of each entry.
        reward: ``reward(observation, action, next_observation) -> float``, the reward of one
            step. ``action`` is an int, or a float64 array of the action's shape.
        horizon: an episode is truncated after this many steps.
        description: the task in a paragraph; default: the module docstring below its first line.
        facts: the machine's data sheet, as its engineer would know it: lengths, masses, friction,
            time step; a section of its own in the prompt (``--set facts=false`` withholds it).
        measured_facts: ``measured_facts(env)`` returns what the live environment says of the same,
            line by line; ``promptpo check`` holds ``facts`` against it.
        observe: ``observe(raw, env)`` turns the environment's observation into a flat vector in
            the order of the fields, or into a mapping from field name to value. Default: the raw
            observation, raveled, fills the fields in order.
        reset: ``reset(env, seed)`` starts the episode of a seed and returns the raw observation.
            Default: ``env.reset(seed=seed)[0]``.
        success: ``success(info, reward, terminated) -> bool`` of one step; an episode succeeds
            when any of its steps does, and all ``constraints`` hold. None: success is that these
            hold; the task defines none where it has no constraints.
        metrics: name -> ``Metric``: what else is recorded of every episode, and shown.
        constraints: name -> ``Constraint``: metrics with bounds that an episode must hold.
        objective: the return that ranks policies, success aside: "mean", the mean of the episodes,
            or "cvar10", the mean of the worst tenth of them.
        expert: ``expert(env)`` returns ``act(raw) -> action``, a controller that shows what is
            possible; used only to measure a reference value.
        reward_inputs: ``reward_inputs(info)`` returns keyword arguments of ``reward`` that the
            policy cannot observe; with them the reward can be held against the environment's.
        reward_helpers: functions that ``reward`` calls; the model sees their source too.
        reward_tolerance: largest absolute difference between ``reward`` and the environment's
            own reward of a step. None: ``reward`` is a qualitative description by design.
        references: name -> mean return, or a ``Reference``; measured, stated to compare with.
        smallest_difference: the least difference in mean return that matters, as a share of what
            lies between the references "random" and "expert" or "optimum"; 0: every one does.
        target: a run stops once a round's best search score (success rate, else mean return)
            reaches this, unless ``--target`` says otherwise.
        deterministic: the task has one start and no chance, so that every seed gives the same
            episode. Where this is not stated, seeds that make no difference are a mistake.
        policy_lifetime: ``"episode"``: a new policy object for each episode; ``"evaluation"``:
            one object for the episodes of an evaluation, which may learn from one to the next.
        evaluation_episodes: with the latter, how many episodes one object lives through. Held-out
            episodes are split into as many lives, each of which begins with a fresh object.
        new_life: ``new_life(env, seed)`` draws what stays the same through a life and differs
            between lives. It is called before the reset of each of a life's episodes, always with
            the same seed, which is no episode's seed.
        extra_imports: modules that policies may import beyond the sandbox's own list.
        withheld: phrases that must not occur in the prompt, such as what hidden labels mean.
        published: parts by name that replace these where a run asks for the published prompt
            (``--published-prompt``): the same task, told no further than published prompts tell it.
        install: what to give to ``pip install`` when the environment's packages are missing.
        twin_of: the name of the spec that this one is a twin of; empty for all others.
        name: the spec's name; filled by ``load_spec``.
        title: one line; filled by ``load_spec`` from the module docstring's first line.
        path: the spec's file; filled by ``load_spec``, None for a member of a family.
        ref: what ``load_spec`` finds it by again, from any folder; filled by ``load_spec``.
    """

    make: Callable[[], Env]
    observation: type
    action: str
    reward: Callable[..., float]
    horizon: int
    description: str = ""
    facts: str = ""
    measured_facts: Callable[[Env], str] | None = None
    observe: Callable[[Raw, Env], Any] | None = None
    reset: Callable[[Env, int], Raw] | None = None
    success: OfStep | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    objective: Objective = "mean"
    expert: Callable[[Env], Callable[[Raw], Any]] | None = None
    reward_inputs: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    reward_helpers: tuple[Callable[..., Any], ...] = ()
    reward_tolerance: float | None = 1e-9
    references: Mapping[str, float | Reference] = field(default_factory=dict)
    smallest_difference: float = 0.01
    target: float | None = None
    deterministic: bool = False
    policy_lifetime: Literal["episode", "evaluation"] = "episode"
    evaluation_episodes: int = lives.EPISODES
    new_life: Callable[[Env, int], None] | None = None
    extra_imports: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    published: Mapping[str, Any] = field(default_factory=dict)
    install: str = ""
    twin_of: str = ""
    name: str = ""
    title: str = ""
    path: Path | None = None
    ref: str = ""

    @property
    def reference_scores(self) -> dict[str, Reference]:
        """The reference values, plain numbers turned into ``Reference``."""
        return {
            name: value if isinstance(value, Reference) else Reference(float(value))
            for name, value in self.references.items()
        }

    @property
    def defines_success(self) -> bool:
        """True where an episode can succeed or fail."""
        return self.success is not None or bool(self.constraints)

    @property
    def measured(self) -> dict[str, Metric]:
        """Metrics and constraints by name, in their order."""
        return {**self.metrics, **self.constraints}

    def terms(self, objective: Objective | None = None) -> Terms | UnsetType:
        """Return what it asks of episodes; UNSET for the mean return and nothing else.

        ``objective`` takes the place of the spec's own.
        """
        gauges = {name: metric.gauge for name, metric in self.measured.items()}
        objective = objective or self.objective
        return Terms(objective, gauges) if gauges or objective != "mean" else UNSET

    @property
    def life(self) -> int:
        """Number of episodes that one policy object plays."""
        return self.evaluation_episodes if self.policy_lifetime == "evaluation" else 1

    @property
    def where(self) -> str:
        """Name of this spec in error messages: its file, else its reference."""
        return str(self.path) if self.path else self.ref or self.name or "spec"


class UnknownMember(Exception):
    """Raised where a family of specs has no member of that name."""


class Unsuitable(Exception):
    """Raised where a member cannot be a spec; the message says why, and what to do instead."""
