"""CMA-ES over the constants of a policy: generations of values, judged by rank.

Source: N. Hansen, "The CMA Evolution Strategy: A Tutorial" (arXiv 1604.00772), by the package
``cmaes``; its separable form (Ros and Hansen 2008) above ``SEPARABLE`` constants; restarts with
twice the population (Auger and Hansen 2005). Every constant is searched on a scale from 0 to 1 of
its range, of the range's logarithm where the constant says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from promptpo.policies.constants import Constant

if TYPE_CHECKING:
    from cmaes import CMA, SepCMA
    from numpy.typing import NDArray

#: From so many constants on their covariances are left out, which grow with the square.
SEPARABLE = 50

#: The first standard deviation, as a share of each range.
SIGMA = 0.1

#: Samples that sensitivities are computed from: the latest ones, and fewest for each constant.
_LATEST, _FEWEST = 400, 3

#: Values of all constants, in their order.
Values = tuple[float, ...]


class Optimizer:
    """An ask-and-tell search over constants, deterministic for a seed."""

    def __init__(self, constants: Sequence[Constant], seed: int, sigma: float = SIGMA) -> None:
        """Start at the values as written. Raises ValueError without any constant."""
        if not constants:
            raise ValueError("there is no constant to tune")
        self.constants = tuple(constants)
        self.restarts, self._begun = 0, 0
        self._seed, self._sigma = seed, sigma
        self._cma = self._fresh(self._inward([c.value for c in constants]))
        self._asked: list[NDArray[np.float64]] = []

    @property
    def population(self) -> int:
        """Number of vectors in a generation."""
        return int(self._cma.population_size)

    @property
    def mean(self) -> Values:
        """The centre of the search."""
        return self._outward(self._cma.mean)

    def ask(self) -> list[Values]:
        """Return a generation of vectors, each value within its range, whole where it must be."""
        self._asked = [np.asarray(self._cma.ask(), float) for _ in range(self.population)]
        return [self._outward(point) for point in self._asked]

    def tell(self, scores: Sequence[float]) -> None:
        """Learn from the scores of the last generation, higher better, NaN the worst.

        Only their order counts. Raises ValueError for another number of them.
        """
        if len(scores) != len(self._asked):
            raise ValueError(f"{len(self._asked)} values were asked for, not {len(scores)}")
        worth = np.array([-math.inf if math.isnan(score) else score for score in scores])
        # 0 for the highest score; ties share the mean of their ranks.
        ranks = [float(np.sum(worth > w) + (np.sum(worth == w) - 1) / 2) for w in worth]
        self._cma.tell(list(zip(self._asked, ranks, strict=True)))
        self._asked = []

    @property
    def stopped(self) -> bool:
        """True once the search has converged, so that only a restart brings anything new."""
        return bool(self._cma.should_stop())

    def restart(self, values: Sequence[float], sigma: float, *, larger: bool = True) -> None:
        """Begin again at these values, with twice the population where it is ``larger``.

        ``sigma`` is the standard deviation of the samples, as a share of each range.
        """
        self._begun += 1
        self.restarts += larger
        self._sigma = sigma
        self._cma = self._fresh(self._inward(values))

    def _fresh(self, start: NDArray[np.float64]) -> CMA | SepCMA:
        from cmaes import CMA, SepCMA

        count = len(self.constants)
        # A single number has no covariance: it is searched twice over, the second time unused.
        size = 2**self.restarts * first_population(count)
        kind = SepCMA if count > SEPARABLE else CMA
        padded = np.append(start, 0.5) if count == 1 else start
        bounds = np.tile([0.0, 1.0], (len(padded), 1))
        seed = int(np.random.SeedSequence((self._seed, self._begun)).generate_state(1)[0])
        return kind(mean=padded, sigma=self._sigma, bounds=bounds, seed=seed, population_size=size)

    def _inward(self, values: Sequence[float]) -> NDArray[np.float64]:
        return np.array([position(c, v) for c, v in zip(self.constants, values, strict=True)])

    def _outward(self, point: NDArray[np.float64]) -> Values:
        return tuple(_value(c, float(u)) for c, u in zip(self.constants, point, strict=False))


def first_population(constants: int) -> int:
    """Return the vectors of a first generation, as the tutorial has it."""
    return 4 + int(3 * math.log(max(constants, 2)))


def position(constant: Constant, value: float) -> float:
    """Return the place of a value in its range, from 0 to 1."""
    low, high, inside = constant.low, constant.high, min(max(value, constant.low), constant.high)
    if constant.log:
        return math.log(inside / low) / math.log(high / low)
    return (inside - low) / (high - low)


def _value(constant: Constant, share: float) -> float:
    low, high = constant.low, constant.high
    if constant.log:
        return constant.clipped(low * (high / low) ** share)
    return constant.clipped(low + (high - low) * share)


def sensitivities(
    constants: Sequence[Constant], samples: Sequence[tuple[Values, float]], best: Values
) -> list[float | None]:
    """Return each constant's share of the differences between samples, all together at most 1.

    ``samples`` are values with their ranks within generations, from 0 to 1. The latest ranks are
    fitted by a parabola in each constant (ridge regression); a share is the part of the ranks'
    variance that its parabola explains. None each where samples are too few.
    """
    latest = [(v, rank) for v, rank in samples[-_LATEST:] if math.isfinite(rank)]
    count = len(constants)
    if len(latest) < max(_FEWEST * count, 10):
        return [None] * count
    rows = [values for values, _ in latest] + [best]
    places = np.array([[position(c, x) for c, x in zip(constants, v, strict=True)] for v in rows])
    ranks = np.array([rank for _, rank in latest])
    spread = places[:-1].std(axis=0)
    spread[spread == 0] = 1.0
    away = (places[:-1] - places[-1]) / spread
    terms = np.concatenate([away, away**2], axis=1)
    terms = terms - terms.mean(axis=0)
    ridge = 0.1 * len(latest) * np.eye(2 * count)
    weights = np.linalg.solve(terms.T @ terms + ridge, terms.T @ (ranks - ranks.mean()))
    pairs = [[i, count + i] for i in range(count)]
    parts = [float(np.var(terms[:, pair] @ weights[pair])) for pair in pairs]
    whole = max(float(np.var(ranks)), sum(parts), 1e-12)
    return [part / whole for part in parts]
