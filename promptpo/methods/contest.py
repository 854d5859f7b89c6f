"""The episodes of one round: the best so far meets its challengers on the same seeds.

All begin with the same few fresh episodes. Those that cannot be told from the best then play more
of them, together, until one stands out or the round's allowance is spent. Episodes in which the
best so far had failed are played besides; they are no part of a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from promptpo.common.concurrency import all_of
from promptpo.config import RunConfig
from promptpo.errors import LimitReached
from promptpo.methods.base import Services
from promptpo.policies import Program
from promptpo.racing import undecided
from promptpo.types import Candidate, Rollout, Round, best_of, with_candidate

#: Racing adds so many episodes at a time; a policy plays so many fresh ones in a round at most, and
#: all of a round's candidates together so many for each of them beyond the first.
BATCH, MOST, EXTRA_EACH = 5, 20, 10

#: Hard episodes that are kept in mind.
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
        """The best so far after the round's first episodes; as it was where no step is left."""
        return await self._more(incumbent, self.first)

    def met(self, incumbent: Candidate | None) -> Rollout | None:
        """What the best so far did in the round's first episodes; None where it has not met."""
        later = incumbent.later if incumbent is not None else ()
        return next((run for run in later if run.seeds == self.first), None)

    async def on_hard(self, candidate: Candidate) -> Candidate:
        """A challenger after the hard episodes."""
        if not self.hard or candidate.score.failed or candidate.source is None:
            return candidate
        try:
            run = await self._played(candidate, self.hard)
        except LimitReached:
            return candidate
        return replace(candidate, hard=run)

    async def race(self, entrants: Sequence[Candidate]) -> list[Candidate]:
        """The entrants with the further episodes that it took to tell them apart."""
        standing = {c.name: c for c in entrants}
        whole, at = self.services.config.whole, len(self.first)
        batch, most, left = whole(BATCH), whole(MOST), whole(EXTRA_EACH) * len(entrants)
        while self.services.config.races and at < most:
            played = {c.name: c.pooled for c in unlike(list(standing.values()))}
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
            run = await self._played(candidate, seeds)
        except LimitReached:
            return candidate
        known = {seed for part in known_parts(candidate) for seed in part.seeds}
        if not known.isdisjoint(seeds):
            return candidate
        return replace(candidate, later=(*candidate.later, run))

    async def _played(self, candidate: Candidate, seeds: Sequence[int]) -> Rollout:
        program = Program.of(candidate.source or "", candidate.prepared)
        [run] = await self.services.play(program, seeds, keys=[candidate.key])
        return run


async def settled(
    services: Services,
    contest: Contest,
    rounds: Sequence[Round],
    best: Candidate | None,
    tried: Sequence[Candidate],
    *,
    pools: bool = True,
) -> tuple[list[Round], list[Candidate], Candidate]:
    """Told apart: the earlier rounds, a round's candidates and their best.

    ``best`` is the best so far where it has met the challengers, ``tried``. All are recorded. With
    ``pools`` what a policy has played counts for earlier ones with the same text, too.
    """
    found = list(rounds)
    raced = await contest.race([*([best] if best else []), *tried])
    if best is not None:
        best, *raced = raced
        found = with_candidate(found, best)
        services.record(best)
    for candidate in raced:
        before, found = found, shared(found, candidate) if pools else found
        for known in changed(before, found):
            services.record(known)
        services.record(candidate)
    return found, raced, best_of(raced)


def unlike(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that are policies of their own; of equal ones the earliest."""
    seen: dict[object, Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: c.key):
        seen.setdefault(candidate.identity, candidate)
    return list(seen.values())


def known_before(candidate: Candidate, rounds: Sequence[Round]) -> Candidate:
    """A candidate that is an earlier one to the byte, with what that has played: one policy."""
    if candidate.source is None or candidate.rollout is None:
        return candidate
    for earlier in (c for r in rounds for c in r.candidates):
        if earlier.identity == candidate.identity and earlier.rollout is not None:
            parts = (*known_parts(earlier),)
            return replace(candidate, later=parts, parents=(earlier.name,))
    return candidate


def shared(rounds: Sequence[Round], candidate: Candidate) -> list[Round]:
    """The rounds, the episodes of a candidate counted for earlier ones with the same text."""
    found = list(rounds)
    for earlier in (c for r in rounds for c in r.candidates if c.identity == candidate.identity):
        if earlier.name == candidate.name or candidate.source is None:
            continue
        known = {seed for part in known_parts(earlier) for seed in part.seeds}
        if new := [p for p in known_parts(candidate) if known.isdisjoint(p.seeds)]:
            found = with_candidate(found, replace(earlier, later=(*earlier.later, *new)))
    return found


def changed(before: Sequence[Round], after: Sequence[Round]) -> list[Candidate]:
    """The candidates of which something else is known now."""
    old, new = ([c for r in rounds for c in r.candidates] for rounds in (before, after))
    return [n for o, n in zip(old, new, strict=True) if n is not o]


def hard_seeds(best: Candidate, horizon: int) -> tuple[int, ...]:
    """Episodes in which a policy that mostly gets through has failed, the latest first.

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


def known_parts(candidate: Candidate) -> tuple[Rollout, ...]:
    """All search episodes of a candidate, in the parts in which it played them."""
    own = () if candidate.rollout is None else (candidate.rollout,)
    return (*own, *candidate.later)


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
