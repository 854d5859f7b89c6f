"""Which episodes of which policies are put into words after a round, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptpo.llm.extraction import ReplyRejected, extract_code
from promptpo.llm.messages import Reply
from promptpo.methods.base import Services
from promptpo.methods.contest import hard_seeds, unlike
from promptpo.methods.feedback import Feedback
from promptpo.methods.lines import most_different, promising
from promptpo.policies import unreached
from promptpo.prompts import promptpo as prompts
from promptpo.prompts.history import BEST, FAILED, HARD, MEDIAN, NEVER, SECOND, WORST, Memory
from promptpo.types import Candidate, Note, Rollout, Round, best_round, with_candidate

#: Policies of all rounds among which the second line of attack is looked for, at most.
_LOOKED_AT = 30


class Describer:
    """Puts episodes into words by the Feedback class in force, as notes of candidates."""

    def __init__(self, services: Services, feedback: Feedback) -> None:
        self.services = services
        self.feedback = feedback
        self.options = services.config.options

    async def describe(self, rounds: Sequence[Round], memory: Memory) -> tuple[list[Round], Memory]:
        """The rounds with the last one's episodes in words, and what is to be told of them."""
        if self.options.history == "published":
            return await self._as_published(rounds), memory
        found = list(rounds)
        best = best_round(found).winner
        second = await self._second(found, best) if self.options.second_line else None
        names = {c.name for c in (best, found[-1].winner, second) if c is not None}
        for candidate in (c for r in found for c in r.candidates):
            if candidate.name in names or candidate.key.round == found[-1].number:
                told = await self.described(candidate, in_full=candidate.name in names)
                found = with_candidate(found, told)
        if second is not None:
            note = Note(SECOND, second.name)
            found[-1] = replace(found[-1], notes=(*found[-1].notes, note))
            second = next(c for r in found for c in r.candidates if c.name == second.name)
        return found, replace(memory, rounds=tuple(found), second=second)

    async def described(self, candidate: Candidate, *, in_full: bool) -> Candidate:
        """A candidate with its worst episode in words, or also the median and the best one."""
        run = candidate.pooled
        if candidate.score.failed or run is None:
            return candidate
        chosen = _chosen(candidate, run, self.services.spec.horizon, in_full=in_full)
        texts = await self.feedback.texts(candidate, list(chosen.values()))
        pairs = zip(chosen.items(), texts, strict=True)
        notes = [Note(f"{title} ({_result(run, seed)})", text) for (title, seed), text in pairs]
        if candidate.hard is not None and candidate.hard.error is None:
            words = ", ".join(_result(candidate.hard, seed) for seed in candidate.hard.seeds)
            notes.append(Note(f"{HARD}s, in which the best had failed", words))
        if in_full and self.options.trace:
            notes += await self._never_ran(candidate, list(chosen.values()))
        if tuple(notes) == candidate.notes:
            return candidate
        told = replace(candidate, notes=tuple(notes))
        self.services.record(told)
        return told

    async def _never_ran(self, candidate: Candidate, seeds: Sequence[int]) -> list[Note]:
        """The parts of a policy that its described episodes never reached, if there are any."""
        run = await self.services.coverage(candidate, seeds)
        if run.error is not None or candidate.source is None:
            return []
        parts = unreached(candidate.source, run.counts)
        return [Note(NEVER, "; ".join(parts))] if parts else []

    async def revised(self, reply: Reply, memory: Memory) -> Memory:
        """The memory in the words of the Feedback class in a reflection, where one runs."""
        best = memory.best
        try:
            source = extract_code(reply, "Feedback")
        except ReplyRejected:
            return memory
        if best is None or best.pooled is None:
            return memory
        seeds = best.pooled.seeds[:5]
        if not await self.feedback.revise(source, best, seeds):
            return memory
        rounds = list(memory.rounds)
        shown = {c.name for c in (best, memory.second) if c} | {
            c.name for c in memory.rounds[-1].candidates
        }
        full = {c.name for c in (best, memory.second, memory.rounds[-1].winner) if c}
        for candidate in (c for r in memory.rounds for c in r.candidates if c.name in shown):
            told = await self.described(candidate, in_full=candidate.name in full)
            rounds = with_candidate(rounds, told)
        named = {c.name: c for r in rounds for c in r.candidates}
        second = named[memory.second.name] if memory.second else None
        return replace(memory, rounds=tuple(rounds), second=second)

    async def _second(self, rounds: Sequence[Round], best: Candidate) -> Candidate | None:
        """The promising policy of any round that behaves most unlike the best."""
        others = [c for c in unlike([c for r in rounds for c in r.candidates])
                  if promising(c, best)][-_LOOKED_AT:]  # fmt: skip
        if not others:
            return None
        episodes = {c.name: await self.services.episodes(c) for c in (best, *others)}
        return most_different(best, others, episodes)

    async def _as_published(self, rounds: Sequence[Round]) -> list[Round]:
        """All of the winner's episodes, as notes of its round."""
        last, winner = rounds[-1], rounds[-1].winner
        if winner.score.failed or winner.rollout is None:
            return list(rounds)
        texts = await self.feedback.texts(winner, winner.rollout.seeds)
        notes = (*last.notes, *prompts.episode_notes(texts))
        return [*rounds[:-1], replace(last, notes=notes)]


def _chosen(candidate: Candidate, run: Rollout, horizon: int, *, in_full: bool) -> dict[str, int]:
    """Seeds of the episodes to describe, by what they are; failures of a good policy first."""
    ordered = sorted(run.whole, key=lambda e: (bool(e.success), e.return_))
    chosen = {WORST: ordered[0].seed}
    if in_full:
        more = [s for s in hard_seeds(candidate, horizon) if s != ordered[0].seed]
        if more:
            chosen[FAILED] = more[0]
        if len(ordered) > 2:
            chosen[MEDIAN] = ordered[len(ordered) // 2].seed
        if len(ordered) > 1:
            chosen[BEST] = ordered[-1].seed
    return chosen


def _result(run: Rollout, seed: int) -> str:
    episode = next(e for e in run.whole if e.seed == seed)
    success = {True: "success, ", False: "no success, ", None: ""}[episode.success]
    return f"{success}return {episode.return_:.5g}, {episode.length} steps"
