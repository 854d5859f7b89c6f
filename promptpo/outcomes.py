"""Results of playing: scores, episodes, trajectories, and rollouts of several episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import total_ordering
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET, UnsetType

from promptpo.common import text
from promptpo.common.lives import in_lives
from promptpo.stats import Interval, hull, mean_interval, success_interval, worst_tenth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Stream = Literal["search", "selection", "test", "tuning"]

#: The return that ranks policies: the mean, or the mean of the worst tenth of the episodes.
Objective = Literal["mean", "cvar10"]

#: How a number of each step becomes one of the episode.
Gather = Literal["sum", "mean", "max", "min", "last"]


@dataclass(frozen=True)
class Gauge:
    """Reading of a metric over an episode: ``better`` is "low", "high" or, where neither, empty.

    With ``at_most`` or ``at_least`` it is a constraint: an episode that breaks it is no success.
    """

    gather: Gather
    unit: str = ""
    better: Literal["low", "high", ""] = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def bounded(self) -> bool:
        """True for a constraint."""
        return self.at_most is not None or self.at_least is not None

    def breach(self, value: float) -> float:
        """Return by how much a value breaks the constraint; 0 where it holds."""
        above = value - self.at_most if self.at_most is not None else 0.0
        below = self.at_least - value if self.at_least is not None else 0.0
        return max(above, below, 0.0)


@dataclass(frozen=True)
class Terms:
    """A task's demands on episodes beside their return: its objective, its metrics by name."""

    objective: Objective = "mean"
    gauges: Mapping[str, Gauge] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """A metric over episodes: its value in each, their mean, and its 95% interval over lives."""

    name: str
    gauge: Gauge
    values: tuple[float, ...]
    mean: float
    interval: Interval | None

    @property
    def breaches(self) -> tuple[float, ...]:
        """By how much each episode breaks the constraint; 0 where it holds."""
        return tuple(map(self.gauge.breach, self.values))


def _ordered(value: float) -> float:
    return float("-inf") if math.isnan(value) else value


@total_ordering
@dataclass(frozen=True, eq=False)
class Score:
    """A score: the success rate where the task defines success, ties by mean return.

    A failed candidate (``failed``) is worse than every one that ran. Where the objective is the
    mean of the worst tenth of the episodes, ``worst_tenth`` is that, and stands before the mean.
    """

    mean_return: float = float("-inf")
    success_rate: float | None = None
    failed: bool = False
    worst_tenth: float | None = None

    @property
    def ranked(self) -> float:
        """The return that ranks: the mean of the worst tenth where that is asked for."""
        return self.mean_return if self.worst_tenth is None else self.worst_tenth

    @property
    def key(self) -> tuple[bool, float, float, float]:
        """Sorts scores from worst to best; a NaN, which has no order, stands below all numbers."""
        rate = self.success_rate if self.success_rate is not None else 0.0
        returns = _ordered(self.ranked), _ordered(self.mean_return)
        return (not self.failed, _ordered(rate), *returns)

    @property
    def value(self) -> float:
        """The number that ``--target`` speaks of: the success rate, else the return that ranks."""
        return self.ranked if self.success_rate is None else self.success_rate

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Score) and self.key == other.key

    def __lt__(self, other: Score) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return text.score(vars(self))


class Episode(msgspec.Struct, frozen=True, rename={"return_": "return"}):
    """The end of one episode: its return, its length in steps, its success (None: undefined).

    ``error`` says what ended it before its time; its return and length count up to there.
    ``metrics`` are those of the task by name; left out where it has none, or with an error.
    """

    seed: int
    return_: float
    length: int
    success: bool | None = None
    error: str | None = None
    metrics: Mapping[str, float] | UnsetType = UNSET


@dataclass(frozen=True)
class LifePoint:
    """The episodes in one place of a life (from 1), over so many lives.

    ``interval`` is the 95% one of the mean return, None for fewer than two lives.
    """

    episode: int
    lives: int
    mean_return: float
    interval: Interval | None
    success_rate: float | None


@dataclass(frozen=True)
class Trajectory:
    """One episode of T steps: ``observations`` (T+1, n), ``actions`` (T, m), ``rewards`` (T,).

    Actions are those that the environment received. ``success`` is None where the task defines
    none. ``trace``: what the attributes that the policy's ``TRACE`` names were after each act, T
    values by name; None for what was no number and no short string.
    """

    observations: NDArray[np.float64]
    actions: NDArray[np.float64]
    rewards: NDArray[np.float64]
    seed: int
    terminated: bool
    truncated: bool
    success: bool | None
    trace: Mapping[str, tuple[float | bool | str | None, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Preparation:
    """The result of a policy's ``prepare``, which ran once on what the search had recorded.

    Attributes:
        digest: names program and data by their content.
        values: the digest of the values that it returned; None where it failed.
        output: what it printed.
        seconds: processor time.
        error: why it failed, as its author is told; ``error_kind`` as of a PlayRun.
        predicted: the ``predicted_return`` among its values, where that is a number.
        episodes: how many there were in the data; ``transitions`` are their steps.
    """

    digest: str
    values: str | None = None
    output: str = ""
    seconds: float = 0.0
    error: str | None = None
    error_kind: str | None = None
    predicted: float | None = None
    episodes: int = 0
    transitions: int = 0


def _life_point(number: int, episodes: Sequence[Episode]) -> LifePoint:
    returns = [e.return_ for e in episodes]
    hits = [e.success for e in episodes if e.success is not None]
    rate = sum(hits) / len(hits) if hits else None
    mean = sum(returns) / len(returns)
    return LifePoint(number, len(returns), mean, mean_interval(returns), rate)


@dataclass(frozen=True, repr=False)
class Rollout:
    """Some episodes of a policy, of one stream.

    ``seeds`` are those that were asked for, ``episodes`` those that ended, in the seeds' order.
    ``error`` is the text for the model if the policy failed; then some episodes may be missing,
    and ``steps`` is what was played all the same.
    ``clipped`` is the share of actions that lay outside the action space and were clipped.
    ``life`` is how many of the episodes one policy object played, one after another. ``terms`` are
    left out where the task has no metrics and ranks by the mean return.
    """

    stream: Stream
    seeds: tuple[int, ...]
    episodes: tuple[Episode, ...] = ()
    steps: int = 0
    clipped: float = 0.0
    output: str = ""
    error: str | None = None
    error_kind: str | None = None
    life: int = 1
    terms: Terms | UnsetType = UNSET

    @property
    def objective(self) -> Objective:
        """The return that ranks policies."""
        return self.terms.objective if self.terms else "mean"

    @property
    def whole(self) -> tuple[Episode, ...]:
        """The episodes that came to an end of their own."""
        return tuple(e for e in self.episodes if e.error is None)

    @property
    def returns(self) -> tuple[float, ...]:
        """The returns of the whole episodes."""
        return tuple(e.return_ for e in self.whole)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the whole episodes, in steps."""
        return tuple(e.length for e in self.whole)

    @property
    def successes(self) -> tuple[bool | None, ...]:
        """The successes of the whole episodes; None each where the task defines none."""
        return tuple(e.success for e in self.whole)

    @property
    def lives(self) -> list[tuple[Episode, ...]]:
        """The whole episodes, those of one policy object together."""
        if self.life == 1:
            return [(episode,) for episode in self.whole]
        return in_lives(self.whole, self.life, lambda episode: episode.seed)

    @property
    def life_returns(self) -> tuple[float, ...]:
        """The mean return of each life: episodes of one depend on each other, lives do not."""
        return tuple(sum(e.return_ for e in lived) / len(lived) for lived in self.lives)

    @property
    def life_curve(self) -> tuple[LifePoint, ...]:
        """The learning curve over the episodes of a life, over lives; empty for lives of one."""
        if self.life == 1:
            return ()
        places = zip_longest(*self.lives)
        return tuple(
            _life_point(number, [e for e in place if e is not None])
            for number, place in enumerate(places, 1)
        )

    @property
    def return_interval(self) -> Interval | None:
        """95% interval of the mean return, over lives; None for fewer than two."""
        return mean_interval(self.life_returns)

    @property
    def worst_tenth(self) -> float | None:
        """The mean return of the worst tenth of the lives, where that is the objective."""
        if self.objective == "mean" or not self.returns:
            return None
        return worst_tenth(self.life_returns)

    @property
    def worst_tenth_interval(self) -> Interval | None:
        """95% interval of the same, by the bootstrap."""
        if self.objective == "mean":
            return None
        return mean_interval(self.life_returns, tail=True)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The task's metrics over the whole episodes, in its order."""
        gauges = self.terms.gauges if self.terms else {}
        return tuple(r for name, gauge in gauges.items() if (r := self._reading(name, gauge)))

    def _reading(self, name: str, gauge: Gauge) -> Reading | None:
        lives = [
            [e.metrics[name] for e in lived if e.metrics and name in e.metrics]
            for lived in self.lives
        ]
        values = tuple(chain.from_iterable(lives))
        if not values:
            return None
        interval = mean_interval([sum(lived) / len(lived) for lived in lives if lived])
        return Reading(name, gauge, values, sum(values) / len(values), interval)

    @property
    def success_interval(self) -> Interval | None:
        """95% interval of the success rate; None where the task defines no success.

        Wilson's over episodes. Where a policy lives through several it is the wider of that and
        the bootstrap over lives, which sees no doubt where all lives went alike.
        """
        hits = [bool(success) for success in self.successes if success is not None]
        wilson = success_interval(sum(hits), len(hits)) if hits else None
        if wilson is None or self.life == 1:
            return wilson
        rates = [sum(bool(e.success) for e in lived) / len(lived) for lived in self.lives]
        return hull([i for i in (wilson, mean_interval(rates)) if i])

    @property
    def score(self) -> Score:
        """Mean return, success rate and worst tenth, or the worst score for a failure."""
        returns, successes = self.returns, self.successes
        if self.error is not None or not returns:
            return Score(failed=True)
        rate = None
        if successes[0] is not None:
            rate = sum(map(bool, successes)) / len(successes)
        return Score(sum(returns) / len(returns), rate, worst_tenth=self.worst_tenth)

    def of(self, seeds: Sequence[int]) -> Rollout:
        """Return the episodes of these seeds among its own, in their order."""
        if seeds == self.seeds:
            return self
        by_seed = {e.seed: e for e in self.episodes}
        episodes = tuple(by_seed[seed] for seed in seeds if seed in by_seed)
        steps = sum(e.length for e in episodes)
        return replace(self, seeds=tuple(seeds), episodes=episodes, steps=steps)

    @classmethod
    def pooled(cls, parts: Sequence[Rollout]) -> Rollout:
        """Several rollouts of one policy as one; what an earlier one played counts once.

        A part that failed is a failure of the whole.
        """
        seen: dict[int, Rollout] = {}
        for part in parts:
            for seed in part.seeds:
                seen.setdefault(seed, part)
        failed = next((p for p in parts if p.error is not None), parts[0])
        steps = sum(p.steps for p in parts)
        return cls(
            stream=parts[0].stream,
            seeds=tuple(seen),
            episodes=tuple(e for p in parts for e in p.episodes if seen.get(e.seed) is p),
            steps=steps,
            clipped=sum(p.clipped * p.steps for p in parts) / max(steps, 1),
            output=failed.output,
            error=failed.error,
            error_kind=failed.error_kind,
            life=parts[0].life,
            terms=parts[0].terms,
        )

    def __repr__(self) -> str:
        return (
            f"<Rollout of {text.plural(len(self.seeds), f'{self.stream} episode')}: {self.score}>"
        )
