"""Proofs of a run: made once, recorded, and answered from the log when a run is resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from promptpo.errors import LimitReached
from promptpo.rollout.proof import prove, to_prove
from promptpo.run.playing import Player
from promptpo.run.plays import Play
from promptpo.store.codec import encode
from promptpo.types import Candidate, Proof, Rollout, Round, best_of


@dataclass
class Prover:
    """Holds rollouts of a run against the policy alone.

    ``record`` writes an event down, ``record_candidate`` a candidate that is scored anew;
    ``test_seeds`` are the held-out episodes of the run.
    """

    player: Player
    record: Callable[..., None]
    record_candidate: Callable[[Candidate], None]
    test_seeds: tuple[int, ...]
    latest: dict[object, Proof] = field(default_factory=dict)

    async def best(self, candidates: Sequence[Candidate]) -> tuple[list[Candidate], Candidate]:
        """The candidates with their proven scores as far as needed, and the best of them."""
        standing = list(candidates)
        while True:
            best = best_of(standing)
            scored = await self._rescored(best)
            if scored is None:
                return standing, best
            standing[standing.index(best)] = scored

    async def review(self, rounds: Sequence[Round]) -> list[Round]:
        """The rounds, their winners scored anew where held-out episodes have found them out."""
        return [await self._reviewed(round_, len(rounds)) for round_ in rounds]

    async def _rescored(self, candidate: Candidate) -> Candidate | None:
        """None where the candidate's search score stands, else the candidate with another."""
        run = candidate.rollout
        if run is None or candidate.source is None or self.player.life > 1:
            return None
        if run.error is not None or run.mark:
            return None
        proof = await self.proof(candidate, run)
        return await self._alone(candidate, run, proof.mark) if proof.mark else None

    async def _reviewed(self, round_: Round, rounds: int) -> Round:
        winner, run = round_.winner, round_.winner.rollout
        if run is None or winner.source is None or run.mark:
            return round_
        held_out = self.player.digest(Play.of(winner, "test", self.test_seeds))
        mark = self.player.memo.late_mark(held_out, rounds)
        if not mark:
            return round_
        scored = await self._alone(winner, run, mark)
        candidates = (scored if c is winner else c for c in round_.candidates)
        return replace(round_, candidates=tuple(candidates), winner=scored)

    async def _alone(self, candidate: Candidate, run: Rollout, mark: str) -> Candidate:
        """The candidate with what it does alone in its search episodes."""
        play, ledger = Play.of(candidate, "search", run.seeds, mark), self.player.ledger
        reserved = 0
        try:
            if self.player.is_new(play):
                reserved = ledger.reserve_steps(candidate.key, len(run.seeds))
            alone = await self.player.play(play, candidate.key, run.seeds)
        except LimitReached as limit:
            error = f"its score does not stand ({mark}), and {limit}"
            alone = replace(run, error=error, error_kind="limit", mark=mark)
        finally:
            ledger.release_steps(reserved)
        scored = replace(candidate, rollout=alone, error=alone.error, later=(), hard=None)
        self.record_candidate(scored)
        return scored

    def keep(self, play: Play) -> tuple[int, ...]:
        """The seeds of the episodes that a proof of a rollout needs."""
        if play.stream == "selection" or play.mark:
            return ()
        return tuple(to_prove(play.stream, play.seeds, self.player.life))

    async def proof(self, candidate: Candidate, run: Rollout) -> Proof:
        """The proof on a candidate's rollout whose episodes shared processes."""
        key, play = candidate.key, Play.of(candidate, run.stream, run.seeds)
        of = self.player.digest(play)
        proof = self.player.memo.record.proofs.get(of)
        if proof is None:
            needed = self.keep(play)
            stored = run.seeds if needed and run.stream == "search" else needed
            episodes = await self.player.trajectories(play, key, stored) if needed else []
            prepared = await self.player.prepared(play) if episodes else b""
            proof = await prove(
                self.player.executor, play.source, run, episodes,
                life=self.player.life, prepared=prepared,
            )  # fmt: skip
        if (
            self.latest.get(play.identity) != proof
        ):  # told once a session, however often it is asked for
            self.record("proof", key=encode(key), digest=of, **encode(proof))
        self.latest[play.identity] = proof
        return proof

    def latest_on(self, candidate: Candidate) -> Proof | None:
        """The proof on the policy's held-out episodes, in this session or before, else its last."""
        latest = self.latest.get(candidate.identity)
        if latest is not None and latest.stream == "test":
            return latest
        held_out = self.player.digest(Play.of(candidate, "test", self.test_seeds))
        return self.player.memo.record.proofs.get(held_out) or latest
