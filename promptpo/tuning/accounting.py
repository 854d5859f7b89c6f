"""What a tuning found, told: what moved, what mattered, what ran into the ends of its range."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from promptpo.outcomes import Rollout
from promptpo.policies.constants import Constant, Tunable
from promptpo.racing import paired, standard_error
from promptpo.tuning.account import ConstantFound, Standpoint, TuningAccount
from promptpo.tuning.optimizer import Values, position
from promptpo.tuning.played import Tuned

#: A value so near an end of its range, as a share of it, has run into it.
_AT_END = 0.02

#: Samples by which sensitivities are told: the latest ones, and fewest for each constant.
_LATEST, _FEWEST = 400, 3


def account_of(tunable: Tunable, found: Tuned) -> TuningAccount:
    """What a tuning has found."""
    best = found.history[-1].values  # also where it did not hold in the end
    told = sensitivities(tunable.constants, found.samples, best)
    constants = tuple(
        ConstantFound(
            c.name,
            c.line,
            c.low,
            c.high,
            c.value,
            value,
            c.log,
            c.declared,
            matters,
            _end(c, value),
        )
        for c, value, matters in zip(tunable.constants, best, told, strict=True)
    )
    difference = paired(found.after, found.before) if found.after and found.before else None
    return TuningAccount(
        kept=found.changed,
        constants=constants,
        history=tuple(_standpoint(s.steps, s.run) for s in found.history),
        steps=found.steps,
        samples=len(found.samples),
        restarts=found.restarts,
        final=len(found.after.seeds) if found.after else 0,
        before=_standpoint(found.steps, found.before) if found.before else None,
        after=_standpoint(found.steps, found.after) if found.after else None,
        difference=difference.returns.mean if difference else None,
        difference_error=_finite(difference.returns.error) if difference else None,
        failures=tuple(sorted(found.failures.items(), key=lambda pair: -pair[1])),
    )


def sensitivities(
    constants: Sequence[Constant], samples: Sequence[tuple[Values, float]], best: Values
) -> list[float | None]:
    """Each constant's share of what told the latest samples apart, all together 1 at most.

    Ranks within generations are fitted by a parabola in each constant (ridge regression); a share
    is how much of the ranks' variance its parabola explains. None each where samples are too few.
    """
    latest = [(v, s) for v, s in samples[-_LATEST:] if math.isfinite(s)]
    if len(latest) < _FEWEST * len(constants) or len(latest) < 10:
        return [None] * len(constants)
    places = np.array(
        [[position(c, x) for c, x in zip(constants, v, strict=True)] for v, _ in latest]
    )
    ranks = np.array([s for _, s in latest])
    at = np.array([position(c, x) for c, x in zip(constants, best, strict=True)])
    spread = places.std(axis=0)
    spread[spread == 0] = 1.0
    away = (places - at) / spread
    terms = np.concatenate([away, away**2], axis=1)
    terms = terms - terms.mean(axis=0)
    ridge = 0.1 * len(latest) * np.eye(terms.shape[1])
    weights = np.linalg.solve(terms.T @ terms + ridge, terms.T @ (ranks - ranks.mean()))
    count = len(constants)
    parts = [
        float(np.var(terms[:, [i, count + i]] @ weights[[i, count + i]])) for i in range(count)
    ]
    whole = max(float(np.var(ranks)), sum(parts), 1e-12)
    return [part / whole for part in parts]


def _end(constant: Constant, value: float) -> str:
    at = position(constant, value)
    return "low" if at <= _AT_END else "high" if at >= 1 - _AT_END else ""


def _standpoint(steps: int, run: Rollout) -> Standpoint:
    score = run.score
    if score.failed:
        return Standpoint(steps, None, None, None, 0)
    error = standard_error(run.returns)
    return Standpoint(
        steps,
        score.mean_return,
        _finite(error),
        score.success_rate,
        len(run.returns),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
