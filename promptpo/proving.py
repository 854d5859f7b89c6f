"""Proofs of a run: made once, recorded, and answered from the log when a run is resumed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

from promptpo.errors import RunError
from promptpo.methods.base import LimitReached
from promptpo.rollout.executor import Executor
from promptpo.rollout.jobs import Lifetime
from promptpo.rollout.proof import prove, to_prove
from promptpo.store.folder import RunFolder
from promptpo.store.past import Past, Place, digest
from promptpo.types import Candidate, Proof, Rollout, Round, Stream


@dataclass(frozen=True)
class Lockstep:
    """How episodes run together: so many at a time, with objects that live so long."""

    group: int
    lifetime: Lifetime


@dataclass(frozen=True)
class Effects:
    """What a proof brings about: it is recorded, and a rollout without company may follow."""

    record: Callable[..., None]
    record_candidate: Callable[[Candidate, int], None]
    evaluate: Callable[[Stream, Place, str, tuple[int, ...], str], Awaitable[Rollout]]


@dataclass
class Prover:
    """Holds rollouts of a run against the policy alone."""

    executor: Executor
    past: Past
    folder: RunFolder
    how: Lockstep
    effects: Effects
    latest: dict[Place, Proof] = field(default_factory=dict)

    async def rescored(self, candidate: Candidate) -> Candidate | None:
        """None where the candidate's search score stands, else the candidate with another."""
        run, source = candidate.rollout, candidate.source
        if run is None or source is None or self.how.lifetime == "evaluation":
            return None
        if run.error is not None or run.mark:
            return None
        proof = await self.proof(place_of(candidate), source, run)
        return await self._alone(candidate, source, run, proof.mark) if proof.mark else None

    async def review(self, rounds: Sequence[Round]) -> list[Round]:
        """The rounds, their winners scored anew where held-out episodes have found them out."""
        return [await self._reviewed(round_, len(rounds)) for round_ in rounds]

    async def _reviewed(self, round_: Round, rounds: int) -> Round:
        winner, run = round_.winner, round_.winner.rollout
        if run is None or winner.source is None or run.mark:
            return round_
        mark = self.past.found_late(place_of(winner), winner.source, rounds)
        if not mark:
            return round_
        scored = await self._alone(winner, winner.source, run, mark)
        candidates = (scored if c is winner else c for c in round_.candidates)
        return replace(round_, candidates=tuple(candidates), winner=scored)

    async def _alone(self, candidate: Candidate, source: str, run: Rollout, mark: str) -> Candidate:
        """The candidate with what it does alone in its search episodes."""
        place = place_of(candidate)
        try:
            alone = await self.effects.evaluate("search", place, source, run.seeds, mark)
        except LimitReached as limit:
            error = f"its score does not stand ({mark}), and {limit}"
            alone = replace(run, error=error, error_kind="limit", mark=mark)
        scored = replace(candidate, rollout=alone, error=alone.error)
        self.effects.record_candidate(scored, candidate.repairs)
        return scored

    def keep(self, stream: Stream, seeds: tuple[int, ...], mark: str) -> tuple[int, ...]:
        """The seeds of the episodes that a rollout has to store."""
        if stream == "search":
            return seeds  # they are summarized too
        if stream == "selection" or mark:
            return ()
        return tuple(to_prove(stream, seeds, self.how.group, self.how.lifetime))

    def stored(
        self, stream: Stream, place: Place, source: str, mark: str, keep: Sequence[int]
    ) -> bool:
        """Whether the episodes of a recorded rollout lie where they are still needed."""
        proof = self.past.proof(stream, place, source)
        if proof is not None and not mark and (proof.mark or stream == "test"):
            return True  # they were needed for the proof only
        try:
            return self.folder.holds_episodes(_name(place), stream, keep)
        except RunError as e:
            self.effects.record("notice", text=str(e))
            return False

    async def proof(self, place: Place, source: str, run: Rollout) -> Proof:
        """The proof on a rollout whose episodes shared processes."""
        proof = self.past.proof(run.stream, place, source)
        if proof is None:
            needed = self.keep(run.stream, run.seeds, run.mark)
            episodes = self.folder.read_episodes(_name(place), run.stream) if needed else []
            group, lifetime = self.how.group, self.how.lifetime
            proof = await prove(
                self.executor, source, run, episodes, group=group, lifetime=lifetime
            )
        round_, index, attempt = place
        data = {"round": round_, "index": index, "attempt": attempt, "source_sha": digest(source)}
        self.effects.record("proof", **data, **asdict(proof))
        self.latest[place] = proof
        return proof

    def latest_on(self, place: Place, source: str) -> Proof | None:
        """The proof on the policy's held-out episodes, in this session or before, else its last."""
        latest = self.latest.get(place)
        if latest is not None and latest.stream == "test":
            return latest
        return self.past.proof("test", place, source) or latest


def place_of(candidate: Candidate) -> Place:
    """Where a candidate's rollouts stand in the record."""
    return candidate.round, candidate.index, candidate.repairs


def _name(place: Place) -> str:
    return Candidate(place[0], place[1], None).name
