"""A policy's constants tuned on noisy episodes: proposals by CMA-ES, decisions by paired tests.

Samples of a generation meet the same few fresh episodes, which is enough to rank them and far too
little to trust one. So the incumbent changes only hands in a *judgement*: it, the mean of the
search and the best samples since the last one play more fresh episodes, the same for all, and a
challenger takes over where it is better beyond noise (``promptpo.racing``). Many are judged, and
some are lucky: what stands in the end meets what was written once more, on episodes of its own.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from promptpo.outcomes import Rollout
from promptpo.policies.constants import Tunable
from promptpo.racing import paired
from promptpo.tuning.optimizer import Optimizer, Values

#: Plays vectors of values on common seeds: a rollout for each, in their order.
Play = Callable[[Sequence[Values], Sequence[int]], Awaitable[Sequence[Rollout]]]

#: Fresh seeds: so many of them, never the same twice.
Seeds = Callable[[int], Sequence[int]]

#: Episodes of a sample; of everyone in a judgement; judgements at most before the next generation.
SAMPLE, JUDGED, AGAIN = 2, 10, 3

#: Episodes by which what was found has to beat what was written.
FINAL = 40

#: Generations from one judgement to the next, and samples that come to it beside the mean.
EVERY, ELITES = 5, 2


@dataclass(frozen=True)
class Standing:
    """What a judgement has left: steps so far, the incumbent's values and what it has played."""

    steps: int
    values: Values
    run: Rollout


@dataclass
class Tuned:
    """What tuning found. ``history`` begins with the policy as it was written.

    ``before`` and ``after`` are the final episodes of what was written and of what had been found;
    None where nothing else had been. ``values`` are the written ones unless these were beaten.
    """

    values: Values
    before: Rollout | None = None
    after: Rollout | None = None
    history: list[Standing] = field(default_factory=list)
    steps: int = 0
    generations: int = 0
    samples: list[tuple[Values, float]] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether anything was better beyond noise than what was written."""
        return self.values != self.history[0].values


class Tuner:
    """Tunes one policy within a budget of environment steps; the same seed does the same."""

    def __init__(
        self, tunable: Tunable, play: Play, seeds: Seeds, final: Seeds, budget: int, seed: int
    ) -> None:
        """Nothing is played yet; ``final`` are seeds that decide and that nothing else meets.

        Raises ValueError for a policy without constants.
        """
        self.optimizer = Optimizer(tunable.constants, seed)
        self._play, self._seeds, self._final, self._budget = play, seeds, final, budget
        self._incumbent = tuple(c.value for c in tunable.constants)
        self._run: Rollout | None = None
        self._elites: list[tuple[float, Values]] = []
        self.found = Tuned(self._incumbent)

    async def tune(self) -> Tuned:
        """Generations and judgements until the budget is spent."""
        await self._judge([])
        while self.found.steps < self._budget:
            await self._generation()
            if self.found.generations % EVERY == 0:
                await self._judge(self._challengers())
        await self._judge(self._challengers())
        await self._confirm()
        return self.found

    async def _generation(self) -> None:
        asked = self.optimizer.ask()
        runs = await self._played(asked, self._seeds(SAMPLE))
        worth = ranked(runs)
        self.optimizer.tell(worth)
        # A rank within its own generation: episodes differ from one generation to the next.
        shares = [w / max(len(worth) - 1, 1) for w in worth]
        self.found.samples += list(zip(asked, shares, strict=True))
        self._elites += [(s, v) for s, v in zip(shares, asked, strict=True) if not math.isnan(s)]
        self._elites = sorted(self._elites, reverse=True)[:ELITES]
        self.found.generations += 1

    def _challengers(self) -> list[Values]:
        elites = [values for _, values in self._elites]
        self._elites = []
        return [v for v in dict.fromkeys([self.optimizer.mean, *elites]) if v != self._incumbent]

    async def _judge(self, challengers: Sequence[Values]) -> None:
        """Let the incumbent meet challengers until they are told apart, or ``AGAIN`` times."""
        standing, met = [self._incumbent, *challengers], dict[Values, Rollout]()
        for _ in range(AGAIN):
            runs = await self._played(standing, self._seeds(JUDGED))
            for values, run in zip(standing, runs, strict=True):
                met[values] = Rollout.pooled((met[values], run)) if values in met else run
            standing = [standing[0], *(v for v in standing[1:] if not _beaten(met, v, standing[0]))]
            if len(standing) == 1 or any(_better(met, v, standing[0]) for v in standing[1:]):
                break
        better = [v for v in standing[1:] if _better(met, v, standing[0])]
        if better:
            self._incumbent = max(better, key=lambda v: met[v].score)
            self._run = None
        run = met[self._incumbent]
        self._run = run if self._run is None else Rollout.pooled((self._run, run))
        self.found.values = self._incumbent
        self.found.history.append(Standing(self.found.steps, self._incumbent, self._run))

    async def _confirm(self) -> None:
        written = self.found.history[0].values
        if self._incumbent == written:
            return
        both = [written, self._incumbent]
        self.found.before, self.found.after = await self._played(both, self._final(FINAL))
        met = dict(zip(both, (self.found.before, self.found.after), strict=True))
        if not _better(met, self._incumbent, written):
            self.found.values = written

    async def _played(self, values: Sequence[Values], seeds: Sequence[int]) -> Sequence[Rollout]:
        runs = await self._play(values, seeds)
        self.found.steps += sum(run.steps for run in runs)
        return runs


def ranked(runs: Sequence[Rollout]) -> list[float]:
    """How many others each leaves behind, equal ones half of each other; NaN if it failed."""
    scores = [run.score for run in runs]
    return [
        math.nan
        if mine.failed
        else sum(mine > other for other in scores)
        + 0.5 * (sum(mine == other for other in scores) - 1)
        for mine in scores
    ]


def _better(met: dict[Values, Rollout], one: Values, other: Values) -> bool:
    if met[one].score.failed:
        return False
    told = paired(met[one], met[other])
    return met[other].score.failed or (told is not None and told.sign > 0)


def _beaten(met: dict[Values, Rollout], one: Values, other: Values) -> bool:
    told = paired(met[one], met[other])
    return met[one].score.failed or (told is not None and (told.sign < 0 or told.same))
