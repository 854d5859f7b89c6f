"""Who is better than whom in tuning, and which of all that ever stood stands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from promptpo.outcomes import Rollout
from promptpo.racing import LEVEL, paired, standard_error
from promptpo.tuning.optimizer import Values

#: What each of several vectors of values has played.
Met = Mapping[Values, Rollout]


def better(met: Met, one: Values, other: Values, level: float = LEVEL) -> bool:
    """Whether one is better than another beyond noise on the episodes that both have met."""
    if met[one].score.failed:
        return False
    told = paired(met[one], met[other])
    return met[other].score.failed or (told is not None and told.sign_at(level) > 0)


def beaten(met: Met, one: Values, other: Values, level: float = LEVEL) -> bool:
    """Whether one need not meet another again: worse beyond noise, alike throughout, or failed."""
    told = paired(met[one], met[other])
    worse = told is not None and (told.sign_at(level) < 0 or told.same)
    return met[one].score.failed or worse


class Incumbents:
    """All values that ever stood, with what each has played in judgements; ``values`` stand now."""

    def __init__(self, written: Values) -> None:
        """The written values stand, unplayed."""
        self.values = written
        self._stood: dict[Values, Rollout] = {}
        self._drop = 0.0

    @property
    def run(self) -> Rollout | None:
        """What the values that stand have played; None before the first judgement."""
        return self._stood.get(self.values)

    def loses_to(self, one: Values, met: Met) -> bool:
        """Whether one is better than what stands beyond noise, and would be with a fall besides.

        The worst drop that any pair of episodes has shown so far is reckoned with once more: what
        falls in one of ten episodes shows nothing of it in most judgements.
        """
        if met[one].score.success_rate != met[self.values].score.success_rate:
            return better(met, one, self.values)
        pairs = _differences(met[one], met[self.values])
        if len(pairs) > 1:
            self._drop = min(self._drop, min(pairs) - median(pairs))
        falling = sum(pairs) + median(pairs or [0.0]) + self._drop
        return better(met, one, self.values) and (not pairs or falling > 0)

    def settle(self, met: Met, winner: Values | None) -> None:
        """Of all that ever stood the one stands that is best by a cautious look at all it played.

        Who took over by luck falls behind again as it plays on.
        """
        for values in (self.values, winner):
            if values is not None:
                runs = [self._stood[values]] if values in self._stood else []
                self._stood[values] = Rollout.pooled([*runs, met[values]])
        self.values = max(self._stood, key=lambda values: _cautious(self._stood[values]))


def _differences(one: Rollout, other: Rollout) -> Sequence[float]:
    """Return of one less that of the other, for each seed that both have played to the end."""
    returns = {e.seed: e.return_ for e in other.whole}
    return [e.return_ - returns[e.seed] for e in one.whole if e.seed in returns]


def _cautious(run: Rollout) -> tuple[float, float]:
    """Success rate, where there is one, and mean return, each less its standard error."""
    if run.score.failed:
        return -math.inf, -math.inf
    rate, count = run.score.success_rate or 0.0, len(run.whole)
    error = standard_error(run.life_returns)
    low = run.score.mean_return - (error if math.isfinite(error) else 0.0)
    return rate - math.sqrt(rate * (1 - rate) / count), low
