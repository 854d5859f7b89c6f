"""Episodes in words: the Feedback class of a search, and which episodes it is shown.

The class is written by a model, repaired where it fails, and may be revised; the built-in summary
takes over where there is none that runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from promptpo.common import text
from promptpo.common.concurrency import all_of
from promptpo.common.plaintext import fenced
from promptpo.errors import LimitReached
from promptpo.llm.extraction import ReplyRejected, extract_code
from promptpo.llm.messages import Reply
from promptpo.methods.base import Services, rolled_out
from promptpo.methods.contest import hard_seeds
from promptpo.policies import unreached
from promptpo.policies.parametric import PROBES
from promptpo.prompts import promptpo as prompts
from promptpo.prompts.history import BEST, FAILED, HARD, MEDIAN, NEVER, SECOND, WORST, Memory
from promptpo.types import (
    Candidate,
    Key,
    Note,
    Rollout,
    Round,
    Trajectory,
    best_round,
    unique,
    with_candidate,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Policies of all rounds among which the second line of attack is looked for, at most.
_LOOKED_AT = 30

#: The first of the search episodes that probes play, far from those of any round.
_FIRST_PROBE = 1 << 28


class Describer:
    """Puts episodes into words, as notes of candidates.

    ``source`` is the Feedback class in force; None where the built-in summary stands in for it.
    """

    def __init__(self, services: Services) -> None:
        self.services = services
        self.options = services.config.options
        self.source: str | None = None
        self._repairs = 0

    async def write_class(self) -> None:
        """Ask for the Feedback class."""
        messages = prompts.feedback_messages(self.services.spec, self.services.config)
        reply = await self.services.ask(Key(role="feedback"), messages, _class_in)
        with contextlib.suppress(LimitReached):  # of a repair: there is a summary without it
            await self._take(reply, 0)

    async def _take(self, reply: Reply, round_: int) -> None:
        """Use the class in a reply from now on; a reply without one goes back for repair."""
        try:
            self.source = _class_in(reply)
        except ReplyRejected as e:
            await self._repair(reply.text.strip() or "(empty reply)", str(e), round_)

    async def _repair(self, quoted: str, error: str, round_: int) -> None:
        """Ask for a corrected class; the built-in summary takes over when repairs run out."""
        self.source = None
        services = self.services
        if self._repairs < self.options.max_repairs:
            self._repairs += 1
            key = Key(round_, 0, self._repairs, "feedback_repair")
            asked = prompts.feedback_messages(services.spec, services.config)
            messages = prompts.repair_messages(asked, quoted, "class", error)
            await self._take(await services.ask(key, messages, _class_in), round_)

    async def texts(self, of: Candidate, seeds: Sequence[int]) -> tuple[str, ...]:
        """Return a text on each of these search episodes of a candidate."""
        while self.source is not None:
            run = await self.services.summarize(of, self.source, seeds)
            if run.error is None:
                return run.texts
            with contextlib.suppress(LimitReached):
                await self._repair(fenced(self.source, "python"), run.error, of.key.round)
        return (await self.services.summarize(of, None, seeds)).texts

    async def probe(self, episodes: int) -> tuple[Candidate, ...]:
        """Play so many episodes each of zero and of random actions, and describe them.

        They are policies of a round 0: what happens without any policy.
        """
        probes = []
        for number, make in enumerate(PROBES.values() if episodes else (), 1):
            probe = Candidate(Key(0, number), make(self.services.task.actions), kind="probe")
            seeds = self.services.seeds(_FIRST_PROBE, episodes)
            try:
                probe = await rolled_out(self.services, probe, seeds)
            except LimitReached:
                break
            self.services.record(probe)
            probes.append(await self._described(probe, in_full=False))
        return tuple(probes)

    async def describe(self, rounds: Sequence[Round], memory: Memory) -> tuple[list[Round], Memory]:
        """Return the rounds with the last one's episodes in words, and what prompts tell of them.

        As published, all of the winner's episodes are notes of its round.
        """
        last, winner = rounds[-1], rounds[-1].winner
        if self.options.history == "published":
            if winner.score.failed or winner.rollout is None:
                return list(rounds), memory
            texts = await self.texts(winner, winner.rollout.seeds)
            notes = (*last.notes, *prompts.episode_notes(texts))
            return [*rounds[:-1], replace(last, notes=notes)], memory
        second = await self._second_line(rounds) if self.options.second_line else None
        if second is not None:
            notes = (*last.notes, Note(SECOND, second.name))
            rounds = [*rounds[:-1], replace(last, notes=notes)]
        return await self._in_words(rounds, replace(memory, second=second))

    async def revise(self, reply: Reply, memory: Memory) -> Memory:
        """Use the Feedback class in a reflection from now on, if there is one that runs.

        Returns the memory in its words.
        """
        best = memory.best
        try:
            source = _class_in(reply)
        except ReplyRejected:
            return memory
        if best is None or best.pooled is None or source == self.source:
            return memory
        run = await self.services.summarize(best, source, best.pooled.seeds[:5])
        if run.error is not None:
            return memory
        self.source = source
        return (await self._in_words(memory.rounds, memory))[1]

    async def _in_words(
        self, rounds: Sequence[Round], memory: Memory
    ) -> tuple[list[Round], Memory]:
        """Describe the last round's candidates; in full the best ones and the second line."""
        rounds, last, second = list(rounds), rounds[-1], memory.second
        in_full = {c.name for c in (best_round(rounds).winner, last.winner, second) if c}
        shown = [
            c
            for r in rounds
            for c in r.candidates
            if c.name in in_full or c.key.round == last.number
        ]
        await all_of(self._ahead(c, in_full=c.name in in_full) for c in shown)
        for candidate in shown:
            full = candidate.name in in_full
            rounds = with_candidate(rounds, await self._described(candidate, in_full=full))
        if second is not None:
            second = next(c for r in rounds for c in r.candidates if c.name == second.name)
        return rounds, replace(memory, rounds=tuple(rounds), second=second)

    async def _ahead(self, candidate: Candidate, *, in_full: bool) -> None:
        """Have done, side by side with others, what describing a candidate will ask for."""
        run, services = candidate.pooled, self.services
        if candidate.score.failed or run is None or self.source is None:
            return
        seeds = list(_episodes_of(candidate, run, services.spec.horizon, in_full=in_full).values())
        await services.summarize(candidate, self.source, seeds)
        if in_full and self.options.trace and candidate.source is not None:
            await services.coverage(candidate, seeds)

    async def _described(self, candidate: Candidate, *, in_full: bool) -> Candidate:
        """Describe the worst episode of a candidate, or also the median and the best one."""
        run = candidate.pooled
        if candidate.score.failed or run is None:
            return candidate
        chosen = _episodes_of(candidate, run, self.services.spec.horizon, in_full=in_full)
        texts = await self.texts(candidate, list(chosen.values()))
        pairs = zip(chosen.items(), texts, strict=True)
        notes = [Note(f"{title} ({_outcome(run, seed)})", text) for (title, seed), text in pairs]
        if candidate.hard is not None and candidate.hard.error is None:
            words = ", ".join(_outcome(candidate.hard, seed) for seed in candidate.hard.seeds)
            notes.append(Note(f"{HARD}s, in which the best had failed", words))
        if in_full and self.options.trace and candidate.source is not None:
            lines = await self.services.coverage(candidate, list(chosen.values()))
            parts = unreached(candidate.source, lines.counts) if lines.error is None else []
            notes += [Note(NEVER, "; ".join(parts))] if parts else []
        if tuple(notes) == candidate.notes:
            return candidate
        candidate = replace(candidate, notes=tuple(notes))
        self.services.record(candidate)
        return candidate

    async def _second_line(self, rounds: Sequence[Round]) -> Candidate | None:
        """Return the promising policy of any round that behaves most unlike the best."""
        best = best_round(rounds).winner
        own = unique(sorted((c for r in rounds for c in r.candidates), key=lambda c: c.key))
        others = [c for c in own if promising(c, best)][-_LOOKED_AT:]
        if not others:
            return None
        episodes = {c.name: await self.services.episodes(c) for c in (best, *others)}
        return most_different(best, others, episodes)


def _class_in(reply: Reply) -> str:
    """Return the source of the class in a reply. Raises ReplyRejected."""
    return extract_code(reply, "Feedback")


def _episodes_of(
    candidate: Candidate, run: Rollout, horizon: int, *, in_full: bool
) -> dict[str, int]:
    """Return the seeds of the episodes to describe, by title; failures of a good policy first."""
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


def _outcome(run: Rollout, seed: int) -> str:
    episode = next(e for e in run.whole if e.seed == seed)
    success = {True: "success, ", False: "no success, ", None: ""}[episode.success]
    gauges = run.terms.gauges if run.terms else {}
    metrics = (
        f", {name} {text.with_unit(episode.metrics[name], gauge.unit)}"
        for name, gauge in gauges.items()
        if episode.metrics and name in episode.metrics
    )
    return f"{success}return {episode.return_:.5g}, {episode.length} steps{''.join(metrics)}"


def promising(candidate: Candidate, best: Candidate) -> bool:
    """Return whether a policy that scores less shows something that the best has not.

    Its best episode is above the best policy's mean, or it gains more in a step while it lasts.
    """
    mine, other = candidate.pooled, best.pooled
    if candidate.score.failed or mine is None or other is None:
        return False
    if candidate.identity == best.identity:
        return False
    rates = [sum(run.returns) / max(sum(run.lengths), 1) for run in (mine, other)]
    return max(mine.returns) > other.score.mean_return or rates[0] > rates[1]


def most_different(
    best: Candidate, others: Sequence[Candidate], episodes: Mapping[str, Sequence[Trajectory]]
) -> Candidate | None:
    """Return the one of the others that behaves most unlike the best; None where there is none.

    ``episodes`` are some of each, by name. Means and movement of observations and actions are
    compared, each in units of its spread over all these policies.
    """
    import numpy as np  # here, for commands that play nothing

    if not others:
        return None
    table = np.array([behaviour(episodes[c.name]) for c in (best, *others)])
    spread = table.std(axis=0)
    scaled = (table - table[0]) / np.where(spread > 0, spread, 1.0)
    return others[int(np.linalg.norm(scaled[1:], axis=1).argmax())]


def behaviour(episodes: Sequence[Trajectory]) -> NDArray[np.float64]:
    """Return means over the steps of all episodes of a policy, shape ``(2 n + 2 m,)``.

    Of each of n observed numbers the mean and the mean change in a step, of each of m numbers of
    an action the mean and the deviation.
    """
    import numpy as np

    seen = np.concatenate([e.observations[1:] for e in episodes])
    moved = np.concatenate([np.abs(np.diff(e.observations, axis=0)) for e in episodes])
    acted = np.concatenate([e.actions for e in episodes])
    parts = (seen.mean(axis=0), moved.mean(axis=0), acted.mean(axis=0), acted.std(axis=0))
    return np.concatenate(parts)
