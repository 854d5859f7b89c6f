"""Proofs of a run: made once, recorded, and answered from the log when a run is resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from promptpo.rollout.executor import Executor
from promptpo.rollout.jobs import Lifetime
from promptpo.rollout.proof import prove, to_prove
from promptpo.store.folder import RunFolder
from promptpo.store.past import Past, Place, digest
from promptpo.types import Candidate, Proof, Rollout, Stream


@dataclass
class Prover:
    """Holds rollouts against the policy alone; ``group`` is how many episodes run in lockstep."""

    executor: Executor
    past: Past
    folder: RunFolder
    group: int
    lifetime: Lifetime
    record: Callable[..., None]
    latest: dict[Place, Proof] = field(default_factory=dict)

    def keep(self, stream: Stream, seeds: tuple[int, ...], mark: str) -> tuple[int, ...]:
        """The seeds of the episodes that a rollout has to store."""
        if stream == "search":
            return seeds  # they are summarized too
        if stream == "selection" or mark:
            return ()
        return tuple(to_prove(stream, seeds, self.group, self.lifetime))

    def stored(self, stream: Stream, place: Place, source: str, mark: str) -> bool:
        """Whether the episodes of a recorded rollout lie where they are still needed."""
        proof = self.past.proof(stream, place, source)
        if proof is not None and not mark and (proof.mark or stream == "test"):
            return True  # they were needed for the proof only
        return self.folder.episodes(_name(place), stream).is_file()

    async def proof(self, place: Place, source: str, run: Rollout) -> Proof:
        """The proof on a rollout whose episodes shared processes."""
        proof = self.past.proof(run.stream, place, source)
        if proof is None:
            needed = self.keep(run.stream, run.seeds, run.mark)
            episodes = self.folder.read_episodes(_name(place), run.stream) if needed else []
            proof = await prove(
                self.executor, source, run, episodes, group=self.group, lifetime=self.lifetime
            )
        round_, index, attempt = place
        data = {"round": round_, "index": index, "attempt": attempt, "source_sha": digest(source)}
        self.record("proof", **data, **asdict(proof))
        self.latest[place] = proof
        return proof

    def latest_on(self, place: Place, source: str) -> Proof | None:
        """The proof on the policy's held-out episodes, in this session or before, else its last."""
        latest = self.latest.get(place)
        if latest is not None and latest.stream == "test":
            return latest
        return self.past.proof("test", place, source) or latest


def _name(place: Place) -> str:
    return Candidate(place[0], place[1], None).name
