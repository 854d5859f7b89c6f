"""Tuning of a policy's constants on noisy episodes: CMA-ES proposes, paired tests decide.

The samples of a generation play the same one or few fresh episodes: enough to rank them, too few to
trust one. So the incumbent changes only in a *judgement*: the incumbent, the mean of the search and
the best samples since the last judgement play more fresh episodes, the same for all; then the best
challenger goes on against the incumbent, and replaces it where it is better beyond noise
(``promptpo.racing``). Some challengers are lucky: an earlier incumbent returns where its successor
does worse as it plays on, and in the end the last incumbent is compared with the written values
on episodes of their own, for which a part of the budget is reserved.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from promptpo.errors import LimitReached
from promptpo.outcomes import Rollout
from promptpo.policies.constants import Constant, Tunable
from promptpo.racing import paired, standard_error
from promptpo.tuning import ConstantFound, Standpoint, TuningAccount
from promptpo.tuning.judging import Bar, Incumbents, Met, Played, beaten, better, ranked, verdict
from promptpo.tuning.optimizer import (
    SIGMA,
    Optimizer,
    Values,
    first_population,
    position,
    sensitivities,
)

#: Returns so many fresh seeds, never one twice.
Seeds = Callable[[int], Sequence[int]]

#: Plays vectors of values on common seeds; results are in the order of the vectors.
Play = Callable[[Sequence[Values], Sequence[int], Bar | None], Awaitable[Sequence[Played]]]

#: Episodes of a sample, and their maximum where noise hides which sample is better; episodes that
#: each vector plays at a time in a judgement, and how often at most.
SAMPLE, MOST, JUDGED, AGAIN = 1, 4, 3, 6

#: Judgements without a new incumbent after which the search begins again around the old one.
BARREN = 3

#: Where fewer than this share of a first generation come near the incumbent, the search begins
#: again half as wide, down to the least width; a new search may be as wide as this many times that.
NEAR, NARROWEST, WIDER = 0.25, 0.003, 4.0

#: Episodes of a look, a comparison of the incumbent with the written values in the end; looks that
#: a budget always has room for, and looks at most; the share of a larger budget that is reserved.
FINAL, LEAST, FINALLY, KEPT = 5, 2, 8, 0.15

#: Two-sided level of each look by how many are planned, so that together they err in 5% of cases.
#: Source: S. J. Pocock, "Group sequential methods in the design and analysis of clinical trials",
#: Biometrika 64 (1977), table 1.
LEVELS = {2: 0.9706, 3: 0.9779, 4: 0.9818, 5: 0.9842, 6: 0.9858, 7: 0.9870, 8: 0.9880}

#: The level of each where the last word is ``closed``.
SURE = 0.989

#: Generations from one judgement to the next, and samples that are judged beside the mean.
EVERY, ELITES = 5, 2

#: A value so near an end of its range, as a share of it, is reported as at that end.
_AT_END = 0.02


@dataclass(frozen=True)
class Standing:
    """The result of a judgement: steps so far, the incumbent's values and its episodes."""

    steps: int
    values: Values
    run: Rollout


@dataclass
class Tuned:
    """The result of a tuning so far. ``history`` begins with the policy as it was written.

    ``before`` and ``after`` are the final episodes of the written values and of the incumbent;
    None where these are the same, or no steps were left. ``values`` are the written ones unless
    these were beaten, or the final episodes are ``open`` and the incumbent's are the better ones.
    ``challenger`` are the values that were compared in the end with the written ones.
    ``samples`` are values with the share of its generation that each beat; ``failures`` counts
    those that failed, by error.
    """

    values: Values
    before: Rollout | None = None
    after: Rollout | None = None
    history: list[Standing] = field(default_factory=list)
    steps: int = 0
    generations: int = 0
    restarts: int = 0
    samples: list[tuple[Values, float]] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)
    open: bool = False
    challenger: Values | None = None

    @property
    def changed(self) -> bool:
        """True where the values are others than the written ones."""
        return self.values != self.history[0].values


#: Called after every generation and judgement.
Watch = Callable[[Tuned], None]


class Tuner:
    """Tunes one policy within budgets of environment steps, deterministically for a seed."""

    def __init__(
        self,
        tunable: Tunable,
        play: Play,
        seeds: Seeds,
        final: Seeds,
        seed: int,
        *,
        closed: bool = False,
    ) -> None:
        """Prepare a search; ``final`` are seeds for the last comparison and nothing else.

        ``closed``: the last word is as in promptpo 0.1.0, one look reserved, by Student's t, and
        what it leaves open is dropped. Raises ValueError for a policy without constants.
        """
        self._closed = closed
        self.optimizer = Optimizer(tunable.constants, seed)
        self._play, self._seeds, self._final = play, seeds, final
        self._incumbents = Incumbents(tuple(c.value for c in tunable.constants))
        self._elites: list[tuple[float, Values]] = []
        self._pace = -math.inf
        self._last, self._barren, self._sample = 0, 0, SAMPLE
        self._ahead: Values | None = None
        self._budget, self._each = 0, 0.0
        self._sigma, self._first = SIGMA, True
        self.result = Tuned(self._incumbents.values)

    @property
    def run(self) -> Rollout | None:
        """The incumbent's episodes in judgements; None before the first."""
        return self._incumbents.run

    async def advance(self, budget: int, watch: Watch = lambda _: None) -> None:
        """Search and judge until ``budget`` steps in all are spent, or nearly.

        A generation begins only where it and a judgement fit into the rest, by the lengths of the
        last ones; at least two looks of ``finish`` are reserved.
        """
        self._budget = budget
        if not self.result.history:
            await self._judge([])
            watch(self.result)
        while self.result.steps + self._next + 2 * JUDGED * self._length <= self._until:
            before = self.result.steps
            counts = await self._generation()
            self._last = self.result.steps - before
            if counts and self.result.generations % EVERY == 0:
                await self._judge(self._challengers())
            watch(self.result)
        if self._elites or self._closed:
            await self._judge(self._challengers())
            watch(self.result)

    async def finish(self) -> Tuned:
        """Keep the incumbent where it beats the written values on final episodes.

        Where the written values are the incumbent still, what was ahead of them in a judgement
        is compared. Where the episodes leave it open which is better, the estimate counts.
        Raises LimitReached where a limit leaves no room for one look.
        """
        result, written = self.result, self.result.history[0].values
        incumbent, met, better = self._incumbents.values, dict[Values, Rollout](), 0
        if incumbent == written and self._ahead is not None and not self._closed:
            incumbent = self._ahead
        if incumbent == written:
            return result
        result.challenger = incumbent
        # How many are planned is fixed before the first: their levels rest on it.
        fitting = int((self._budget - result.steps) / (2 * FINAL * self._length or 1))
        looks = FINALLY if self._closed else min(max(fitting, LEAST), FINALLY)
        for look in range(looks):
            left = self._budget - result.steps
            if look >= self._least and 2 * FINAL * self._length > left:
                break
            try:
                await self._meet((written, incumbent), self._final(FINAL), met)
            except LimitReached:
                if not look:
                    raise
                break
            better = self._verdict(met, incumbent, written, looks)
            if better or beaten(met, incumbent, written, SURE):
                break
        result.before, result.after = met[written], met[incumbent]
        ahead = result.after.score > result.before.score
        result.open = not self._closed and not better and ahead
        result.values = incumbent if better > 0 or result.open else written
        return result

    def _verdict(self, met: Met, one: Values, other: Values, looks: int) -> int:
        """Return 1 or -1 where one is better or worse than another beyond noise, else 0."""
        if self._closed:
            return better(met, one, other, SURE) - better(met, other, one, SURE)
        return verdict(met, one, other, LEVELS[looks])

    @property
    def _next(self) -> float:
        """Steps of the next generation, by the last one and by what its samples play now."""
        whole = 0 if self._closed else self.optimizer.population * self._sample * self._length
        return max(self._last, whole)

    @property
    def _least(self) -> int:
        """Looks for which steps are reserved at any rate."""
        return 1 if self._closed else LEAST

    @property
    def _by_tail(self) -> bool:
        """True where the worst tenth of the episodes ranks."""
        return self.run is not None and self.run.objective == "cvar10"

    @property
    def _until(self) -> float:
        """Steps after which the rest of the budget is reserved for ``finish``."""
        once = 2 * FINAL * self._length
        return self._budget - min(max(KEPT * self._budget, self._least * once), FINALLY * once)

    @property
    def _length(self) -> float:
        """Steps of an episode: the incumbent's mean, or that of the latest samples if more."""
        lengths = self.run.lengths if self.run is not None else ()
        return max(sum(lengths) / len(lengths) if lengths else 0.0, self._each)

    async def _generation(self) -> bool:
        """Play a generation; return False where it was too wide to learn from."""
        if self.optimizer.stopped or self._barren >= BARREN:
            self._barren = 0
            self._restart(min(WIDER * self._sigma, SIGMA), larger=True)
        asked = self.optimizer.ask()
        if self._by_tail:  # one episode does not tell how bad others are
            self._sample = MOST
        played = await self._played(asked, self._seeds(self._sample), self._bar())
        self._each = sum(p.run.steps for p in played) / len(played) / self._sample
        near = sum(self._is_near(p) for p in played)
        if self._first and near < NEAR * len(played) and self._sigma > NARROWEST:
            self._restart(self._sigma / 2, larger=False)
            return False
        self._first = False
        ranks = ranked(played)
        self.optimizer.tell(ranks)
        # A rank within its own generation: episodes differ from one generation to the next.
        shares = [rank / max(len(ranks) - 1, 1) for rank in ranks]
        self.result.samples += list(zip(asked, shares, strict=True))
        self._elites += [(s, v) for s, v in zip(shares, asked, strict=True) if not math.isnan(s)]
        self._elites = sorted(self._elites, reverse=True)[:ELITES]
        self.result.generations += 1
        self.result.restarts = self.optimizer.restarts
        return True

    def _restart(self, sigma: float, *, larger: bool) -> None:
        """Begin the search again around the incumbent."""
        self._sigma, self._first = max(sigma, NARROWEST), True
        self.optimizer.restart(self._incumbents.values, self._sigma, larger=larger)

    def _threshold(self) -> float:
        """Return the mean return two standard errors of a sample below the incumbent's."""
        run = self.run
        if run is None or run.score.failed:
            return -math.inf
        error = standard_error(run.returns) * math.sqrt(len(run.returns) / self._sample)
        return run.score.ranked - 2 * error if math.isfinite(error) else -math.inf

    def _is_near(self, sample: Played) -> bool:
        """Return whether a sample does about as well as the incumbent, or better."""
        score = sample.run.score
        if sample.bound is not None or score.failed:
            return False
        ahead = self.run is not None and score > self.run.score
        return ahead or score.ranked >= self._threshold()

    def _bar(self) -> Bar | None:
        """Return the bar for samples; None where the incumbent does not always succeed.

        There is none for the worst tenth: how far a mean can rise says nothing of it.
        """
        mean = self._threshold()
        if self._by_tail or self.run is None or self.run.score.success_rate not in (None, 1.0):
            return None
        return Bar(mean, self._pace) if math.isfinite(mean) else None

    def _challengers(self) -> list[Values]:
        elites, self._elites = [values for _, values in self._elites], []
        mean_first = dict.fromkeys([self.optimizer.mean, *elites])
        return [values for values in mean_first if values != self._incumbents.values]

    async def _judge(self, challengers: Sequence[Values]) -> None:
        """Play the incumbent against challengers, then the best of these until a test decides.

        Where the steps left are too few for all, only the mean of the search plays, once.
        """
        incumbent, met = self._incumbents.values, dict[Values, Rollout]()
        standing, won = [incumbent, *challengers], False
        for turn in range(AGAIN):
            fitting = int((self._until - self.result.steps) / (JUDGED * self._length or 1))
            if self.result.history and fitting < len(standing):
                if turn:
                    break
                standing = standing[: max(fitting, 2)]
            await self._meet(standing, self._seeds(JUDGED), met)
            if not challengers:
                break
            standing = [incumbent, max(standing[1:], key=lambda v: met[v].score)]
            won = self._incumbents.loses_to(standing[1], met)
            if won or beaten(met, standing[1], incumbent):
                break
        self._incumbents.settle(met, standing[1] if won else None)
        if challengers and met[standing[1]].score > met[incumbent].score:
            self._ahead = standing[1]
        if won and self._incumbents.values == standing[1]:
            self._barren = 0
        elif challengers:
            # The ranks of so few episodes were misleading: play more of them, up to a limit.
            self._barren += 1
            self._sample = min(2 * self._sample, MOST)
        run = self._incumbents.run
        assert run is not None  # noqa: S101 - ``settle`` has pooled it
        if len(set(run.returns)) == 1 and not run.score.failed:
            self._sample = SAMPLE  # a task without chance
        self.result.values = self._incumbents.values
        self.result.history.append(Standing(self.result.steps, self._incumbents.values, run))

    async def _meet(
        self, values: Sequence[Values], seeds: Sequence[int], met: dict[Values, Rollout]
    ) -> None:
        """Play all of these to the end; ``met`` pools the episodes of each."""
        for one, played in zip(values, await self._played(values, seeds, None), strict=True):
            met[one] = Rollout.pooled((met[one], played.run)) if one in met else played.run

    async def _played(
        self, values: Sequence[Values], seeds: Sequence[int], bar: Bar | None
    ) -> Sequence[Played]:
        played = await self._play(values, seeds, bar)
        for sample in played:
            self.result.steps += sample.run.steps
            self._pace = max(self._pace, sample.pace)
            if sample.run.error:
                error = sample.run.error.strip().rpartition("\n")[2]
                self.result.failures[error] = self.result.failures.get(error, 0) + 1
        return played


def fewest_episodes(constants: int) -> int:
    """Return the episodes of the shortest tuning: one generation between judgements, and looks."""
    return JUDGED + first_population(constants) + 2 * JUDGED + LEAST * 2 * FINAL


def account_of(tunable: Tunable, result: Tuned) -> TuningAccount:
    """Return the record of a tuning."""
    best = result.challenger or result.history[-1].values  # also where they were refused
    shares = sensitivities(tunable.constants, result.samples, best)
    before, after = result.before, result.after
    difference = paired(after, before) if after and before else None
    return TuningAccount(
        kept=result.changed and not result.open,
        constants=tuple(map(_constant, tunable.constants, best, shares)),
        history=tuple(_standpoint(s.steps, s.run) for s in result.history),
        steps=result.steps,
        samples=len(result.samples),
        restarts=result.restarts,
        final=len(after.seeds) if after else 0,
        before=_standpoint(result.steps, before) if before else None,
        after=_standpoint(result.steps, after) if after else None,
        difference=difference.returns.mean if difference else None,
        difference_error=_finite(difference.returns.error) if difference else None,
        failures=tuple(sorted(result.failures.items(), key=lambda pair: -pair[1])),
        open=result.open,
    )


def _constant(c: Constant, value: float, share: float | None) -> ConstantFound:
    place = position(c, value)
    end = "low" if place <= _AT_END else "high" if place >= 1 - _AT_END else ""
    return ConstantFound(
        c.name, c.line, c.low, c.high, c.value, value, c.log, c.declared, share, end
    )


def _standpoint(steps: int, run: Rollout) -> Standpoint:
    score, count = run.score, len(run.returns)
    if score.failed:
        return Standpoint(steps, None, None, None, 0)
    error = _finite(standard_error(run.returns))
    tenth = UNSET if score.worst_tenth is None else score.worst_tenth
    return Standpoint(steps, score.mean_return, error, score.success_rate, count, tenth)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
