"""The episodes of one round: the best so far meets its challengers on the same seeds.

All begin with the same few fresh episodes. Those that cannot be told from the best then play more
of them, together, until one stands out or the round's allowance is spent. Episodes in which the
best so far had failed are played besides; they are no part of a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from promptpo.common.concurrency import all_of
from promptpo.config import RunConfig
from promptpo.errors import LimitReached
from promptpo.methods.base import Services, rolled_out
from promptpo.racing import undecided
from promptpo.types import Candidate, Rollout, Round, best_of, unique, with_candidate

#: Racing adds so many episodes at a time; a policy plays so many fresh ones in a round at most, and
#: all of a round's candidates together so many for each of them beyond the first.
BATCH, MOST, EXTRA_EACH = 5, 20, 10

#: Hard episodes of the best policy, at most.
HARD = 3


@dataclass(frozen=True)
class Contest:
    """The seeds of one round, and who plays them."""

    services: Services
    number: int
    hard: tuple[int, ...] = ()

    @property
    def first(self) -> tuple[int, ...]:
        """The fresh episodes that every candidate begins with."""
        return self._fresh(0, self.services.config.first_episodes)

    def _fresh(self, at: int, count: int) -> tuple[int, ...]:
        config = self.services.config
        stride = config.whole(MOST) if config.races else config.first_episodes
        return self.services.seeds((self.number - 1) * stride + at, count)

    async def meet(self, incumbent: Candidate) -> Candidate:
        """Play the first episodes with the best so far; it stays as it was if no step is left."""
        return await self._more(incumbent, self.first)

    def met(self, incumbent: Candidate | None) -> Rollout | None:
        """Return the first episodes of the best so far; None where it has not played them."""
        later = incumbent.later if incumbent is not None else ()
        return next((run for run in later if run.seeds == self.first), None)

    async def on_hard(self, candidate: Candidate) -> Candidate:
        """Play the hard episodes with a challenger."""
        if not self.hard or candidate.score.failed or candidate.source is None:
            return candidate
        try:
            run = (await rolled_out(self.services, candidate, self.hard)).rollout
        except LimitReached:
            return candidate
        return replace(candidate, hard=run)

    async def race(self, entrants: Sequence[Candidate]) -> list[Candidate]:
        """Play the further episodes that it takes to tell the entrants apart."""
        standing = {c.name: c for c in entrants}
        whole, at = self.services.config.whole, len(self.first)
        batch, most, left = whole(BATCH), whole(MOST), whole(EXTRA_EACH) * len(entrants)
        while self.services.config.races and at < most:
            oldest_first = sorted(standing.values(), key=lambda c: c.key)
            played = {c.name: c.pooled for c in unique(oldest_first)}
            names = undecided({name: run for name, run in played.items() if run is not None})
            if len(names) < 2 or left < batch * len(names):
                break
            seeds = self._fresh(at, batch)
            further = await all_of(self._more(standing[name], seeds) for name in names)
            if all(len(c.later) == len(standing[c.name].later) for c in further):
                break  # a limit of the run
            standing |= {c.name: c for c in further}
            at, left = at + batch, left - batch * len(names)
        return list(standing.values())

    async def _more(self, candidate: Candidate, seeds: Sequence[int]) -> Candidate:
        try:
            run = (await rolled_out(self.services, candidate, seeds)).rollout
        except LimitReached:
            return candidate
        return _with_parts(candidate, [run] if run is not None else [])

    async def settle(
        self,
        rounds: Sequence[Round],
        best: Candidate | None,
        tried: Sequence[Candidate],
        *,
        pools: bool = True,
    ) -> tuple[list[Round], list[Candidate], Candidate]:
        """Tell candidates apart: return the earlier rounds, the round's candidates, and their best.

        ``best`` is the best so far where it has met the challengers, ``tried``. All are recorded.
        With ``pools`` the episodes of a policy count for earlier ones with the same text, too.
        """
        rounds = list(rounds)
        raced = await self.race([*([best] if best else []), *tried])
        if best is not None:
            best, *raced = raced
            rounds = with_candidate(rounds, best)
            self.services.record(best)
        for candidate in raced:
            earlier = [c for r in rounds for c in r.candidates if c.identity == candidate.identity]
            for same in earlier if pools and candidate.source is not None else ():
                pooled = _with_parts(same, candidate.parts)
                if pooled is not same:
                    rounds = with_candidate(rounds, pooled)
                    self.services.record(pooled)
            self.services.record(candidate)
        return rounds, raced, best_of(raced)


def _with_parts(candidate: Candidate, parts: Iterable[Rollout]) -> Candidate:
    """Return a candidate with further episodes, of which it has played none."""
    played = {seed for part in candidate.parts for seed in part.seeds}
    new = [part for part in parts if played.isdisjoint(part.seeds)]
    return replace(candidate, later=(*candidate.later, *new)) if new else candidate


def known_before(candidate: Candidate, rounds: Sequence[Round]) -> Candidate:
    """Return a candidate with the episodes of an earlier one that is the same to the byte."""
    if candidate.source is None or candidate.rollout is None:
        return candidate
    for earlier in (c for r in rounds for c in r.candidates):
        if earlier.identity == candidate.identity and earlier.rollout is not None:
            return replace(candidate, later=earlier.parts, parents=(earlier.name,))
    return candidate


def hard_seeds(best: Candidate, horizon: int) -> tuple[int, ...]:
    """Return episodes in which a policy that mostly gets through has failed, the latest first.

    A failure is an episode without success; where the task defines none, one that ended long
    before most of the others did.
    """
    run = best.pooled
    if run is None or best.score.failed or run.life > 1:
        return ()  # an episode of a life is another one without those before it
    if best.score.success_rate is None:
        usual = sorted(run.lengths)[len(run.lengths) // 2]
        failed = [e.seed for e in run.whole if e.length < 0.9 * usual] if usual == horizon else []
    else:
        failed = [e.seed for e in run.whole if not e.success]
    if 2 * len(failed) > len(run.whole):
        return ()
    return tuple(reversed(failed))[:HARD]


def most_episodes(config: RunConfig, *, challenge: bool = True, hard: int = 0) -> int:
    """Return how many search episodes all rounds have without repairs, at most.

    With ``challenge`` the best so far plays along, and its ``hard`` episodes are played, too.
    """
    each, players, rounds = config.first_episodes, config.candidates, config.rounds
    episodes = rounds * players * each
    if challenge:
        episodes += (rounds - 1) * (each + players * (hard if config.life == 1 else 0))
    if config.races:
        extra = min(config.whole(EXTRA_EACH), config.whole(MOST) - each)
        episodes += rounds * (players + challenge) * extra
    return episodes
