"""The services of a run to its method: every effect is recorded and done only once.

Resuming is running the method again: what the journal holds is answered from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from promptpo.common.concurrency import all_of
from promptpo.config import RunConfig
from promptpo.errors import LimitReached
from promptpo.export.learned import BESIDE
from promptpo.export.policy_module import BestPolicy
from promptpo.llm.extraction import ReplyRejected, answer_text, policy_source
from promptpo.llm.messages import LanguageModel, Message, Reply, Request, as_data, prompt_hash
from promptpo.llm.recording import ReplyMissing, reply_event
from promptpo.policies import CoverageRun, Program
from promptpo.policies.constants import Tunable
from promptpo.rollout.executor import Executor
from promptpo.rollout.jobs import CoverageJob, SummaryJob, TaskInfo
from promptpo.rollout.seeds import episode_seeds
from promptpo.rollout.summary import built_in_summary
from promptpo.run.limits import Ledger, RunAllowance, check_optimum
from promptpo.run.playing import NO_MARK, Play, RunPlayer
from promptpo.run.preparing import Preparer
from promptpo.run.tuning import RunTuning
from promptpo.spec import EnvSpec
from promptpo.store.codec import digest, encode, score_data
from promptpo.store.folder import RunFolder
from promptpo.store.journal import Journal
from promptpo.types import (
    Candidate,
    Key,
    MethodTable,
    Rollout,
    Round,
    SummaryRun,
    Trajectory,
    best_round,
    with_candidate,
)

#: Fields of a candidate that its event names by their digest.
_BY_DIGEST = ("rollout", "later", "hard", "preparation")

#: Episodes of a candidate, at most, in which its lines are counted: the first ones.
_COUNTED = 10


@dataclass
class RunServices:
    """The services of one run; ``methods.base.Services`` documents each of them."""

    spec: EnvSpec
    config: RunConfig
    task: TaskInfo
    model: LanguageModel
    executor: Executor
    journal: Journal
    folder: RunFolder
    ledger: Ledger
    rounds: tuple[Round, ...] = ()

    def __post_init__(self) -> None:
        self.run = self.journal.run
        self.report = self.journal.tell
        terms = self.spec.terms(self.config.objective)
        self.player = RunPlayer(
            self.executor, self.journal, self.ledger, self.folder, self.config, terms
        )
        self.preparer = Preparer(self.player, self.spec)

    async def ask(
        self, key: Key, messages: Sequence[Message], read: Callable[[Reply], object] | None = None
    ) -> Reply:
        """Return the recorded reply to this call, or ask the model.

        ``read`` takes out of a reply what is to be played, and raises ReplyRejected or ValueError.
        A repair for which a recording has no reply is not made: where the recorded candidate ran,
        there is none. Raises LimitReached and ModelError.
        """
        ledger, journal = self.ledger, self.journal
        recorded = self.run.replies.get(key)
        if recorded is not None:
            if recorded.prompt_sha256 != prompt_hash(messages):
                journal.notice(f"{key}: the prompt has changed since the run recorded its reply")
            self.folder.restore_call(key, messages, recorded.reply.text)
            self._count(recorded.reply, new=False)
            return recorded.reply
        allowance = RunAllowance(ledger.spending, key, messages, ledger.check, journal.append)
        request = Request(key, tuple(messages), allowance)
        try:
            journal.check_allowed(key)
            if key.candidate:  # a policy that could not be played is not worth its price
                ledger.check_attempt(key)
            ledger.reserve_call(key)
            try:
                journal.append("prompt", key=encode(key), messages=as_data(messages))
                self.folder.write_prompt(key, messages)
                reply = await self.model.ask(request)
                journal.append("reply", **reply_event(request, reply), note=reply.note)
                ledger.spending.settle(key, reply.usage, reply.cost)
            finally:
                ledger.release_call(key)
        except ReplyMissing as missing:
            if not key.attempt:
                raise
            raise LimitReached(str(missing)) from None
        except LimitReached as limit:
            journal.write("refused", key=encode(key), reason=str(limit))
            raise
        self.folder.write_reply(key, reply.text)
        self._count(reply, new=True)
        self._judge(key, reply, read)
        return reply

    def _count(self, reply: Reply, *, new: bool) -> None:
        for notice in self.ledger.count_reply(reply, new=new):
            self.journal.notice(notice)
        self.ledger.report(self.report)

    def _judge(self, key: Key, reply: Reply, read: Callable[[Reply], object] | None) -> None:
        """Count a reply that holds nothing to play; of one that need not, whether it is empty.

        Without ``read`` a policy is looked for where the key's role says that one was asked for.
        """
        if read is None and key.role == "policy":
            read = policy_source
        if self.model.name.partition(":")[0] == "recorded":
            return
        try:
            (read or answer_text)(reply)
        except (ReplyRejected, ValueError):
            self.ledger.count_reading(readable=False)
        else:
            if read is not None:
                self.ledger.count_reading(readable=True)

    def seeds(self, first: int, count: int) -> tuple[int, ...]:
        """Return search seeds number ``first`` and those after it."""
        return episode_seeds(self.config.seed, "search", count, first, life=self.config.life)

    async def play(
        self,
        program: Program,
        seeds: Sequence[int],
        *,
        keys: Sequence[Key],
        constants: Sequence[Sequence[float]] = ((),),
        keep: bool = True,
    ) -> list[Rollout]:
        """Play search episodes of the program with each vector of constants, within the budget."""
        seeds = tuple(seeds)
        plays = [Play(program.source(v), "search", seeds, program.prepared) for v in constants]
        new = {p.source: k for p, k in zip(plays, keys, strict=True) if self.player.is_new(p)}
        stored = tuple(seeds) if keep else ()
        reserved: dict[str, int] = {}

        async def played(play: Play, key: Key) -> Rollout:
            """Return a rollout, whose steps count from now on in place of those reserved for it."""
            run = await self.player.play(play, key, stored)
            self.ledger.release_steps(reserved.pop(play.source, 0))
            return run

        try:
            for source, key in new.items():
                reserved[source] = self.ledger.reserve_steps(key, len(seeds))
            for key in keys:
                self.report("state", name=key.name, state="rolling out")
            return await all_of(played(p, k) for p, k in zip(plays, keys, strict=True))
        finally:
            self.ledger.release_steps(sum(reserved.values()))

    async def prepare(self, candidate: Candidate) -> Candidate:
        """Return the candidate with the result of its ``prepare``, where it has one."""
        return await self.preparer.prepare(candidate)

    async def episodes(self, of: Candidate, seeds: Sequence[int] | None = None) -> list[Trajectory]:
        """Return the trajectories of a candidate's search episodes of these seeds."""
        assert of.source is not None and of.rollout is not None  # noqa: S101 - it has played
        wanted = of.rollout.seeds if seeds is None else tuple(seeds)
        by_seed: dict[int, Trajectory] = {}
        for part in of.parts:
            new = [seed for seed in part.seeds if seed in wanted and seed not in by_seed]
            if new:
                play = Play.of(of, "search", part.seeds)
                by_seed |= {e.seed: e for e in await self.player.trajectories(play, of.key, new)}
        return [by_seed[seed] for seed in wanted]

    async def summarize(
        self, of: Candidate, feedback: str | None, seeds: Sequence[int] | None = None
    ) -> SummaryRun:
        """Describe a candidate's search episodes in texts."""
        by = "built-in" if feedback is None else "model"
        first = of.rollout.seeds if of.rollout else ()
        played = first if seeds is None else tuple(seeds)
        content = digest(by, feedback, of.identity, played, NO_MARK)
        run = self.run.summaries.get(content)
        if run is None:
            episodes = tuple(await self.episodes(of, played))
            if feedback is None:
                run = SummaryRun(tuple(built_in_summary(self.spec, e) for e in episodes))
            else:
                run = await self.executor.run(SummaryJob(feedback, episodes))
            self.journal.write(
                "feedback",
                key=encode(of.key),
                digest=content,
                by=by,
                texts=list(run.texts),
                error=run.error,
                seeds=list(played),
                feedback_class=digest(feedback) if feedback else None,
            )
        if run.error is None:
            text = "\n\n".join(f"Episode {i}: {t}" for i, t in enumerate(run.texts, 1))
            self.folder.write_candidate(of.name, "feedback.txt", text + "\n")
        return run

    async def coverage(self, of: Candidate, seeds: Sequence[int] | None = None) -> CoverageRun:
        """Count in how many steps of a candidate's search episodes each of its lines ran."""
        assert of.source is not None and of.rollout is not None  # noqa: S101 - it has played
        played = (of.rollout.seeds if seeds is None else tuple(seeds))[:_COUNTED]
        content = digest("coverage", of.identity, played, NO_MARK, self.player.lived)
        run = self.run.coverages.get(content)
        if run is None:
            episodes = tuple(await self.episodes(of, played))
            prepared = self.player.values(of.prepared)
            job = CoverageJob(of.source, episodes, self.config.life, prepared)
            run = await self.executor.run(job)
            self.journal.write(
                "coverage",
                key=encode(of.key),
                digest=content,
                lines=[line for line, _ in run.counts],
                hits=[hits for _, hits in run.counts],
                steps=run.steps,
                error=run.error,
            )
        return run

    def tuning(self, of: Candidate, tunable: Tunable) -> RunTuning:
        """Return a tuning of a candidate's constants; nothing is played yet."""
        return RunTuning(self.player, self.spec.horizon, of, tunable)

    @property
    def tuning_left(self) -> int:
        """Steps of tuning that the run has left, within those of all search."""
        return self.ledger.tuning_left

    async def open_round(self, rounds: Sequence[Round], guests: Sequence[Key] = ()) -> int:
        """Return how many candidates the next round may have; a begun round keeps its own."""
        self.rounds = tuple(rounds)
        self.ledger.check_progress(rounds)
        if self.config.early_stop and rounds:
            check_optimum(self.spec, best_round(rounds).winner)
        number = len(rounds) + 1
        self.player.gathered.open_round(number)
        if not self.run.has_begun(number):
            self.ledger.check_round()
        begun = self.run.begun(number, self.config.candidates)
        return self.ledger.open_round(number, begun, guests)

    def record(self, fact: Candidate | Round | MethodTable) -> None:
        """Record a candidate, a round or a table, in the log and in readable files."""
        if isinstance(fact, MethodTable):
            self.journal.write("table", **encode(fact))
            return
        if isinstance(fact, Round):
            self._record_round(fact)
            return
        played = fact.rollout is not None and fact.source is not None
        self.journal.write(
            "candidate",
            **{k: v for k, v in encode(fact).items() if k not in _BY_DIGEST},
            score=score_data(fact.score),
            rollout=self._digest_of(fact, fact.rollout) if played else None,
            later=[self._digest_of(fact, run) for run in fact.later],
            hard=self._digest_of(fact, fact.hard) if fact.hard else None,
            **({"prepared": fact.preparation.digest} if fact.preparation else {}),
        )
        self.rounds = tuple(with_candidate(self.rounds, fact))
        self.folder.write_result(fact)

    def _digest_of(self, candidate: Candidate, run: Rollout | None) -> str:
        assert run is not None and candidate.source is not None  # noqa: S101
        return self.player.digest(Play.of(candidate, "search", run.seeds))

    def _record_round(self, round_: Round) -> None:
        self.rounds = (*self.rounds[: round_.number - 1], round_)
        best = best_round(self.rounds).winner
        if not best.score.failed:
            self.write_best(best, None)
        self.journal.write(
            "round",
            round=round_.number,
            winner=round_.winner.name,
            score=score_data(round_.winner.score),
            best={"name": best.name, "score": score_data(best.score)},
            notes=encode(round_.notes),
        )

    def write_best(self, candidate: Candidate, test: Rollout | None) -> None:
        """Write the best policy as a module that stands alone, and how to use it.

        One with held-out episodes gives way only to another with held-out episodes.
        """
        if test is None and self.run.tested is not None:
            return
        played = test or candidate.pooled
        if test is None and self.run.best_name == candidate.name:
            played = self.run.evidence or played
        files = BestPolicy(
            self.spec, candidate, played, self.folder.path.name,
            model=self.config.model or "", learned=self.preparer.learned(candidate),
        ).files  # fmt: skip
        beside = f"best/{BESIDE}"
        for name, content in files.items():
            self.folder.write(self.folder.path / name, content)
        if beside not in files:
            (self.folder.path / beside).unlink(missing_ok=True)
