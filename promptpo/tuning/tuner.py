"""A policy's constants tuned on noisy episodes: proposals by CMA-ES, decisions by paired tests.

Samples of a generation meet the same one or few fresh episodes, which is enough to rank them and
far too little to trust one. So the incumbent changes hands only in a *judgement*: it, the mean of
the search and the best samples since the last one play more fresh episodes, the same for all, the
best challenger goes on against it, and takes over where it is better beyond noise
(``promptpo.racing``). Many are judged, and some are lucky: who stood before stands again where the
new one does worse as it plays on, and what stands in the end meets what was written once more, on
episodes of its own.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

from promptpo.outcomes import Rollout
from promptpo.policies.constants import Tunable
from promptpo.racing import standard_error
from promptpo.tuning.judging import Incumbents, beaten, better
from promptpo.tuning.optimizer import SIGMA, Optimizer, Values
from promptpo.tuning.played import Bar, Played, Standing, Tuned, ranked

#: Fresh seeds: so many of them, never the same twice.
Seeds = Callable[[int], Sequence[int]]

#: Episodes of a sample, and the most that they become where noise hides who is better; episodes of
#: everyone at a time in a judgement, and how often at most.
SAMPLE, MOST, JUDGED, AGAIN = 1, 4, 3, 6

#: Judgements without a new incumbent after which the search begins again around the old one.
BARREN = 3

#: Where fewer than this share of a first generation come near the incumbent, the search begins
#: again half as wide, down to the least width; a new search may be as wide as this many times that.
NEAR, NARROWEST, WIDER = 0.25, 0.003, 4.0

#: Episodes at a time by which what was found has to beat what was written, and how often at most;
#: and the share of a budget that is kept for them, at most.
FINAL, FINALLY, KEPT = 5, 8, 0.15

#: Two-sided level of each of these looks, so that all of them together err in 5% of cases. Source:
#: S. J. Pocock, "Group sequential methods in the design and analysis of clinical trials",
#: Biometrika 64 (1977).
SURE = 0.989

#: Generations from one judgement to the next, and samples that come to it beside the mean.
EVERY, ELITES = 5, 2


#: Plays vectors of values on common seeds: what became of each, in their order.
Play = Callable[[Sequence[Values], Sequence[int], Bar | None], Awaitable[Sequence[Played]]]

#: Told after every generation and judgement.
Watch = Callable[[Tuned], None]


class Tuner:
    """Tunes one policy within budgets of environment steps; the same seed does the same."""

    def __init__(self, tunable: Tunable, play: Play, seeds: Seeds, final: Seeds, seed: int) -> None:
        """Nothing is played yet; ``final`` are seeds that decide and that nothing else meets.

        Raises ValueError for a policy without constants.
        """
        self.optimizer = Optimizer(tunable.constants, seed)
        self._play, self._seeds, self._final = play, seeds, final
        self._incumbents = Incumbents(tuple(c.value for c in tunable.constants))
        self._elites: list[tuple[float, Values]] = []
        self._pace = -math.inf
        self._last, self._barren, self._sample = 0, 0, SAMPLE
        self._budget, self._each = 0, 0.0
        self._sigma, self._first = SIGMA, True
        self.found = Tuned(self._incumbents.values)

    @property
    def run(self) -> Rollout | None:
        """What the incumbent has played in judgements; None before the first."""
        return self._incumbents.run

    async def tune(self, budget: int, watch: Watch = lambda _: None) -> Tuned:
        """Spend a budget of steps, and let what was found meet what was written."""
        await self.advance(budget, watch)
        return await self.finish()

    async def advance(self, budget: int, watch: Watch = lambda _: None) -> None:
        """Generations and judgements until so many steps in all are spent, or nearly.

        What the next generation and a judgement would take, going by the last ones, is not begun
        where it is more than is left; a share of the budget is left for ``finish``.
        """
        self._budget = budget
        if not self.found.history:
            await self._judge([])
            watch(self.found)
        while self.found.steps + self._last + 2 * JUDGED * self._length <= self._until:
            before = self.found.steps
            counts = await self._generation()
            self._last = self.found.steps - before
            if counts and self.found.generations % EVERY == 0:
                await self._judge(self._challengers())
            watch(self.found)
        await self._judge(self._challengers())
        watch(self.found)

    @property
    def _until(self) -> float:
        """Where the steps begin that are kept for the last word."""
        once = 2 * FINAL * self._length
        return self._budget - min(max(KEPT * self._budget, once), FINALLY * once)

    @property
    def _length(self) -> float:
        """Steps of an episode: of the values that stand, or of the latest samples if more."""
        lengths = self.run.lengths if self.run is not None else ()
        return max(sum(lengths) / len(lengths) if lengths else 0.0, self._each)

    async def finish(self) -> Tuned:
        """Keep what was found only where it is better beyond noise on final episodes."""
        written = self.found.history[0].values
        if self._incumbents.values == written:
            return self.found
        both, met = (written, self._incumbents.values), dict[Values, Rollout]()
        for turn in range(FINALLY):
            if turn and self.found.steps + 2 * FINAL * self._length > self._budget:
                break
            await self._meet(both, self._final(FINAL), met)
            if better(met, self._incumbents.values, written, SURE):
                break
            if beaten(met, self._incumbents.values, written, SURE):
                break
        self.found.before, self.found.after = met[written], met[self._incumbents.values]
        holds = better(met, self._incumbents.values, written, SURE)
        self.found.values = self._incumbents.values if holds else written
        return self.found

    async def _generation(self) -> bool:
        """Play one, and learn from it unless it was too wide; returns whether it was not."""
        if self.optimizer.stopped or self._barren >= BARREN:
            self._barren = 0
            self._begin(min(WIDER * self._sigma, SIGMA), larger=True)
        asked = self.optimizer.ask()
        played = await self._played(asked, self._seeds(self._sample), self._bar())
        self._each = sum(p.run.steps for p in played) / len(played) / self._sample
        near = sum(self._is_near(its) for its in played)
        if self._first and near < NEAR * len(played) and self._sigma > NARROWEST:
            self._begin(self._sigma / 2, larger=False)
            return False
        self._first = False
        worth = ranked(played)
        self.optimizer.tell(worth)
        # A rank within its own generation: episodes differ from one generation to the next.
        shares = [w / max(len(worth) - 1, 1) for w in worth]
        self.found.samples += list(zip(asked, shares, strict=True))
        self._elites += [(s, v) for s, v in zip(shares, asked, strict=True) if not math.isnan(s)]
        self._elites = sorted(self._elites, reverse=True)[:ELITES]
        self.found.generations += 1
        self.found.restarts = self.optimizer.restarts
        return True

    def _begin(self, sigma: float, *, larger: bool) -> None:
        """Begin the search again around the incumbent."""
        self._sigma, self._first = max(sigma, NARROWEST), True
        self.optimizer.restart(self._incumbents.values, self._sigma, larger=larger)

    def _threshold(self) -> float:
        """A mean return two standard errors of a sample below the incumbent's."""
        run = self.run
        if run is None or run.score.failed:
            return -math.inf
        error = standard_error(run.returns) * math.sqrt(len(run.returns) / self._sample)
        return run.score.mean_return - 2 * error if math.isfinite(error) else -math.inf

    def _is_near(self, its: Played) -> bool:
        """Whether a sample does about as well as the incumbent, or better."""
        score = its.run.score
        if its.bound is not None or score.failed:
            return False
        return score.mean_return >= self._threshold() or (
            self.run is not None and score > self.run.score
        )

    def _bar(self) -> Bar | None:
        """What a sample must be able to reach; none where the incumbent does not always succeed."""
        mean = self._threshold()
        if self.run is None or self.run.score.success_rate not in (None, 1.0):
            return None
        return Bar(mean, self._pace) if math.isfinite(mean) else None

    def _challengers(self) -> list[Values]:
        elites = [values for _, values in self._elites]
        self._elites = []
        return [
            v for v in dict.fromkeys([self.optimizer.mean, *elites]) if v != self._incumbents.values
        ]

    async def _judge(self, challengers: Sequence[Values]) -> None:
        """Let the incumbent meet challengers, and the best of these until they are told apart.

        Where steps for all are not left, the mean of the search alone meets it, once.
        """
        incumbent, met = self._incumbents.values, dict[Values, Rollout]()
        standing, won = [incumbent, *challengers], False
        for turn in range(AGAIN):
            fitting = int((self._until - self.found.steps) / (JUDGED * self._length or 1))
            if self.found.history and fitting < len(standing):
                if turn:
                    break
                standing = standing[: max(fitting, 2)]  # the mean of the search comes first
            await self._meet(standing, self._seeds(JUDGED), met)
            if not challengers:
                break
            standing = [incumbent, max(standing[1:], key=lambda v: met[v].score)]
            won = self._incumbents.loses_to(standing[1], met)
            if won or beaten(met, standing[1], incumbent):
                break
        self._incumbents.settle(met, standing[1] if won else None)
        if won and self._incumbents.values == standing[1]:
            self._barren = 0
        elif challengers:
            # Ranks of so few episodes led nowhere: more of them, up to a limit.
            self._barren += 1
            self._sample = min(2 * self._sample, MOST)
        run = self._incumbents.run
        assert run is not None  # noqa: S101 - it has just been judged
        if len(set(run.returns)) == 1 and not run.score.failed:
            self._sample = SAMPLE  # no chance in it
        self.found.values = self._incumbents.values
        self.found.history.append(Standing(self.found.steps, self._incumbents.values, run))

    async def _meet(
        self, values: Sequence[Values], seeds: Sequence[int], met: dict[Values, Rollout]
    ) -> None:
        """Let all of these play to the end; ``met`` pools what each has played."""
        played = await self._played(values, seeds, None)
        for one, its in zip(values, played, strict=True):
            met[one] = Rollout.pooled((met[one], its.run)) if one in met else its.run

    async def _played(
        self, values: Sequence[Values], seeds: Sequence[int], bar: Bar | None
    ) -> Sequence[Played]:
        played = await self._play(values, seeds, bar)
        for its in played:
            self.found.steps += its.run.steps
            self._pace = max(self._pace, its.pace)
            if why := its.run.error:
                last = why.strip().rpartition("\n")[2]
                self.found.failures[last] = self.found.failures.get(last, 0) + 1
        return played
