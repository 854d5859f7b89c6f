"""Tuning of a policy's constants on noisy episodes: CMA-ES proposes, paired tests decide.

The samples of a generation play the same one or few fresh episodes: enough to rank them, too few to
trust one. So the incumbent changes only in a *judgement*: the incumbent, the mean of the search and
the best samples since the last judgement play more fresh episodes, the same for all; then the best
challenger goes on against the incumbent, and replaces it where it is better beyond noise
(``promptpo.racing``). Some challengers are lucky: an earlier incumbent returns where its successor
does worse as it plays on, and the last incumbent is compared with the written values once more, on
episodes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from promptpo.outcomes import Rollout
from promptpo.policies.constants import Constant, Tunable
from promptpo.racing import paired, standard_error
from promptpo.tuning import ConstantFound, Standpoint, TuningAccount
from promptpo.tuning.judging import Bar, Incumbents, Played, beaten, better, ranked
from promptpo.tuning.optimizer import SIGMA, Optimizer, Values, position, sensitivities

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

#: Episodes at a time of the final comparison with the written values, and how often at most; and
#: the share of a budget that is reserved for them, at most.
FINAL, FINALLY, KEPT = 5, 8, 0.15

#: Two-sided level of each of these comparisons, so that all of them together err in 5% of cases.
#: Source: S. J. Pocock, "Group sequential methods in the design and analysis of clinical trials",
#: Biometrika 64 (1977).
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
    None where these are the same. ``values`` are the written ones unless these were beaten.
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

    @property
    def changed(self) -> bool:
        """True where the values are others than the written ones."""
        return self.values != self.history[0].values


#: Called after every generation and judgement.
Watch = Callable[[Tuned], None]


class Tuner:
    """Tunes one policy within budgets of environment steps, deterministically for a seed."""

    def __init__(self, tunable: Tunable, play: Play, seeds: Seeds, final: Seeds, seed: int) -> None:
        """Prepare a search; ``final`` are seeds for the last comparison and nothing else.

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
        self.result = Tuned(self._incumbents.values)

    @property
    def run(self) -> Rollout | None:
        """The incumbent's episodes in judgements; None before the first."""
        return self._incumbents.run

    async def advance(self, budget: int, watch: Watch = lambda _: None) -> None:
        """Search and judge until ``budget`` steps in all are spent, or nearly.

        A generation begins only where it and a judgement fit into the rest, by the lengths of the
        last ones; a share of the budget is reserved for ``finish``.
        """
        self._budget = budget
        if not self.result.history:
            await self._judge([])
            watch(self.result)
        while self.result.steps + self._last + 2 * JUDGED * self._length <= self._until:
            before = self.result.steps
            counts = await self._generation()
            self._last = self.result.steps - before
            if counts and self.result.generations % EVERY == 0:
                await self._judge(self._challengers())
            watch(self.result)
        await self._judge(self._challengers())
        watch(self.result)

    async def finish(self) -> Tuned:
        """Keep the incumbent only where it beats the written values on final episodes."""
        written, incumbent = self.result.history[0].values, self._incumbents.values
        if incumbent == written:
            return self.result
        met: dict[Values, Rollout] = {}
        for turn in range(FINALLY):
            if turn and self.result.steps + 2 * FINAL * self._length > self._budget:
                break
            await self._meet((written, incumbent), self._final(FINAL), met)
            if better(met, incumbent, written, SURE) or beaten(met, incumbent, written, SURE):
                break
        self.result.before, self.result.after = met[written], met[incumbent]
        holds = better(met, incumbent, written, SURE)
        self.result.values = incumbent if holds else written
        return self.result

    @property
    def _by_tail(self) -> bool:
        """True where the worst tenth of the episodes ranks."""
        return self.run is not None and self.run.objective == "cvar10"

    @property
    def _until(self) -> float:
        """Steps after which the rest of the budget is reserved for ``finish``."""
        once = 2 * FINAL * self._length
        return self._budget - min(max(KEPT * self._budget, once), FINALLY * once)

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


def account_of(tunable: Tunable, result: Tuned) -> TuningAccount:
    """Return the record of a tuning."""
    best = result.history[-1].values  # also where the final comparison refused them
    shares = sensitivities(tunable.constants, result.samples, best)
    before, after = result.before, result.after
    difference = paired(after, before) if after and before else None
    return TuningAccount(
        kept=result.changed,
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
