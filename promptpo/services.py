"""What a method works with, tied to a run: every effect is recorded and done only once.

Resuming is running the method again: what the event log holds is answered from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from promptpo.asking import Asker
from promptpo.concurrency import all_of
from promptpo.config import RunConfig
from promptpo.limits import Ledger
from promptpo.proving import Effects, Lockstep, Prover, place_of
from promptpo.rollout.evaluate import evaluate
from promptpo.rollout.executor import Executor, rehearse
from promptpo.rollout.jobs import Lifetime, SummaryJob, SummaryRun
from promptpo.rollout.seeds import episode_seeds
from promptpo.rollout.summary import built_in_summary
from promptpo.spec import EnvSpec
from promptpo.store.events import EventLog
from promptpo.store.export import export
from promptpo.store.files import write_atomically
from promptpo.store.folder import RunFolder
from promptpo.store.past import Past, Place, Tested, digest
from promptpo.types import (
    CallKey,
    Candidate,
    LanguageModel,
    Message,
    Proof,
    Reply,
    Rollout,
    Round,
    Score,
    Stream,
    best_round,
)


def score_data(score: Score) -> dict[str, Any] | None:
    """A score as event data; None for a failure."""
    if score.failed:
        return None
    return {"mean_return": score.mean_return, "success_rate": score.success_rate}


@dataclass
class RunServices:
    """The services of one run; see ``methods.base.Services`` for what each part promises."""

    spec: EnvSpec
    config: RunConfig
    model: LanguageModel
    executor: Executor
    log: EventLog
    folder: RunFolder
    ledger: Ledger
    rounds: tuple[Round, ...] = ()

    def __post_init__(self) -> None:
        self.past = Past(self.log.past)
        self.prover = Prover(
            self.executor,
            self.past,
            self.folder,
            Lockstep(self.config.episodes, self.lifetime),
            Effects(self._record, self.record_candidate, self._evaluated),
        )
        self._asker = Asker(self.model, self.log, self.folder, self.ledger, self.past, self._record)

    async def ask(self, key: CallKey, messages: Sequence[Message]) -> Reply:
        """The recorded reply to this call, or the model's."""
        return await self._asker.ask(key, messages)

    async def roll_out(self, round_: int, index: int, attempt: int, source: str) -> Rollout:
        """Search episodes; the seeds of a round are fresh and shared by its candidates."""
        self.report("state", round=round_, index=index, state="rolling out")
        count = self.config.episodes
        seeds = episode_seeds(self.config.seed, "search", count, (round_ - 1) * count)
        return await self._evaluated("search", (round_, index, attempt), source, seeds)

    async def prove(self, candidate: Candidate) -> Candidate | None:
        """The candidate scored anew, each episode alone, where its actions depend on others."""
        return await self.prover.rescored(candidate)

    async def review(self, rounds: Sequence[Round]) -> list[Round]:
        """The rounds, their winners scored anew where held-out episodes have found them out."""
        return await self.prover.review(rounds)

    async def _evaluated(
        self, stream: Stream, place: Place, source: str, seeds: tuple[int, ...], mark: str = ""
    ) -> Rollout:
        round_, index, attempt = place
        name = f"r{round_:02d}_c{index:02d}"
        recorded = self.past.rollout(stream, place, source, seeds, mark)
        if recorded is None and stream == "search":
            self.ledger.check_attempt(round_, index)
        keep = self.prover.keep(stream, seeds, mark)
        stored = not keep or self.prover.stored(stream, place, source, mark, keep)
        run = recorded
        if run is None or (run.error is None and not stored):
            run, episodes = await evaluate(
                self.executor,
                source,
                stream,
                seeds,
                group=self.config.episodes,
                lifetime=self.lifetime,
                keep=keep,
                mark=mark,
            )
            if run.error_kind == "environment" and stream == "search":
                await rehearse(self.executor, seeds)
            if episodes and run.error is None:
                self.folder.write_episodes(name, episodes, stream)
        if recorded is not None:  # what was played again to restore files counts as it did
            if run.returns != recorded.returns:
                text = f"{name}: its episodes went otherwise when they were played again"
                self.log.emit("notice", text=f"{text}; its recorded score stands")
            run = recorded
        new = recorded is None
        data = {"round": round_, "index": index, "attempt": attempt, "source_sha": digest(source)}
        self.log.emit("rollout", transient=not new, **data, **asdict(run))
        self.ledger.count_steps(stream, run.steps, (round_, index), new=new)
        self.ledger.report(self.log)
        return run

    @property
    def lifetime(self) -> Lifetime:
        """How long a policy object lives in this run."""
        return cast("Lifetime", self.config.policy_lifetime or self.spec.policy_lifetime)

    async def summarize(self, candidate: Candidate, feedback: str | None) -> SummaryRun:
        """Texts on a candidate's search episodes."""
        sha = digest(feedback) if feedback is not None else "built-in"
        run = self.past.summary(candidate.round, candidate.index, sha)
        if run is None:
            episodes = tuple(self.folder.read_episodes(candidate.name))
            if feedback is None:
                run = SummaryRun(tuple(built_in_summary(self.spec, e) for e in episodes))
            else:
                run = await self.executor.run(SummaryJob(feedback, episodes))
            self._record(
                "feedback",
                round=candidate.round,
                index=candidate.index,
                feedback_sha=sha,
                by="built-in" if feedback is None else "model",
                texts=list(run.texts),
                error=run.error,
            )
        if run.error is None:
            text = "\n\n".join(f"Episode {i}: {t}" for i, t in enumerate(run.texts, 1))
            self.folder.write_candidate(candidate.name, "feedback.txt", text + "\n")
        return run

    async def select(self, rounds: Sequence[Round]) -> Candidate | None:
        """The best of all rounds: their winners meet again on episodes that none has seen."""
        finalists = unique([r.winner for r in rounds if not r.winner.score.failed])
        if len(finalists) < 2 or not self.config.selection_episodes:
            best = best_round(rounds).winner if finalists else None
            if self.past.has("selection"):  # of rounds that do not count any more
                self._record("selection", finalists=[], winner=best.name if best else None)
            return best
        seeds = episode_seeds(self.config.seed, "selection", self.config.selection_episodes)
        self.report("state", state="selecting", finalists=[c.name for c in finalists])
        runs = []
        for c in finalists:
            assert c.source is not None  # noqa: S101 - only candidates with a source have a score
            runs.append(self._evaluated("selection", place_of(c), c.source, seeds, c.mark))
        played = await all_of(runs)
        scored = list(zip(finalists, played, strict=True))
        winner, _ = max(scored, key=lambda x: (x[1].score, x[0].score, -x[0].round))
        self._record(
            "selection",
            finalists=[{"name": c.name, "score": score_data(r.score)} for c, r in scored],
            winner=winner.name,
        )
        return winner

    async def test(self, candidate: Candidate) -> Rollout | None:
        """The held-out episodes of the winner, proven; None where the run asks for none."""
        if not self.config.test_episodes or candidate.source is None:
            return None
        seeds = episode_seeds(self.config.seed, "test", self.config.test_episodes)
        self.report("state", state="testing", finalists=[candidate.name])
        place, source = place_of(candidate), candidate.source
        run = await self._evaluated("test", place, source, seeds, candidate.mark)
        if run.error is None and not run.mark:
            proof = await self.prover.proof(place, source, run)
            if proof.mark:
                run = await self._evaluated("test", place, source, seeds, proof.mark)
        self._record("test", name=candidate.name, **asdict(run))
        if run.error is None:
            self.past.tested = Tested(candidate, run)
        return run

    def proof_on(self, candidate: Candidate) -> Proof | None:
        """What its latest proof showed: the one on held-out episodes, if there is one."""
        return self.prover.latest_on(place_of(candidate), candidate.source or "")

    def may_start(self, rounds: Sequence[Round]) -> int:
        """How many candidates the next round may have; one that has begun is seen through."""
        self.ledger.check_progress(rounds)
        number = len(rounds) + 1
        begun = self.past.begun(number)
        if not begun:
            self.ledger.check()
        return self.ledger.candidates_allowed(number, begun)

    def record_candidate(self, candidate: Candidate, attempt: int) -> None:
        """Write one attempt's source and result where people look."""
        self._record(
            "candidate",
            round=candidate.round,
            index=candidate.index,
            attempt=attempt,
            source=candidate.source,
            error=candidate.error,
            score=score_data(candidate.score),
            mark=candidate.mark,
        )
        self.folder.write_result(candidate)

    def record_round(self, rounds: Sequence[Round]) -> None:
        """Write down the round's winner and the best so far."""
        self.rounds = tuple(rounds)
        last, best = rounds[-1], best_round(rounds).winner
        if not best.score.failed:
            self.write_best(best, None)
        self._record(
            "round",
            round=last.number,
            winner=last.winner.name,
            score=score_data(last.winner.score),
            best={"name": best.name, "score": score_data(best.score)},
            reflection=last.reflection,
        )

    def write_best(self, candidate: Candidate, test: Rollout | None) -> None:
        """Write the best policy as a module that stands alone, and how to use it.

        One with held-out episodes gives way only to another with held-out episodes.
        """
        if test is None and self.past.tested is not None:
            return
        for name, content in export(self.spec, candidate, test, self.folder.path.name).items():
            write_atomically(self.folder.path / name, content)

    def record_end(self, test: Rollout | None, **data: object) -> None:
        """Write down that the run has ended; an interruption is no end."""
        if data["status"] == "interrupted":
            self.report("finished", **data, test=asdict(test) if test else None)
        else:
            self._record("finished", **data)

    def _record(self, event: str, **data: object) -> None:
        """Write an event down and tell the listeners; a repeated one only told."""
        self.log.emit(event, transient=self.past.repeats(event, data), **data)

    def report(self, event: str, **data: object) -> None:
        """Tell the listeners; nothing is written down."""
        self.log.emit(event, transient=True, **data)


def unique(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates with equal sources only once, the earliest kept."""
    seen: dict[str | None, Candidate] = {}
    for candidate in candidates:
        seen.setdefault(candidate.source, candidate)
    return list(seen.values())
