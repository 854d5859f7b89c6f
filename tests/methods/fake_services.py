"""The services of a method without a process, a file or a model: all is as a test has written it.

A reply that is not written is a missing one. What a policy plays its text says: ``plays(7)`` makes
one whose episodes return 7, ``plays("7 + seed % 2")`` one whose luck differs from seed to seed,
``fails("why")`` one that fails; ``outcome`` may be any other rule.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from rollouts import rollout

from promptpo.errors import LimitReached, ModelError
from promptpo.llm.messages import Message, Reply
from promptpo.methods import Search, find_method
from promptpo.methods.base import Messages
from promptpo.policies import Actions, CoverageRun, Program
from promptpo.policies.constants import Tunable
from promptpo.rollout.jobs import TaskInfo
from promptpo.run.settings import build
from promptpo.spec import load_spec
from promptpo.tuning import ConstantFound, TuningAccount
from promptpo.types import (
    Candidate,
    Key,
    MethodTable,
    Preparation,
    Rollout,
    Round,
    SummaryRun,
    Trajectory,
)

TWO_ACTIONS = Actions(counts=(2,), starts=(0,))

FEEDBACK = """
class Feedback:
    def summarize_trajectory(self, traj):
        return "It fell."
"""


def plays(
    return_: float | str, note: str = "", *, success: str = "", length: str = "1", moves: float = 0
) -> str:
    """A policy with this return, success and length, each a number or a rule of the ``seed``.

    ``note`` tells it from others that play alike; ``moves`` is the action of its trajectories.
    """
    rules = {"plays": return_, "success": success, "length": length, "moves": moves}
    lines = "".join(f"    # {name} {rule}\n" for name, rule in rules.items() if rule != "")
    return f"class Policy:\n{lines}    note = {note!r}\n"


class FakeTuning:
    """Finds the upper end of every range; what it says of a policy until then its text says."""

    def __init__(self, services: "FakeServices", of: Candidate, tunable: Tunable) -> None:
        self.of, self.tunable, self.steps = of, tunable, 0
        self._services = services

    @property
    def run(self) -> Rollout:
        return rollout([rule_of(self.of.source or "", "tunes", 0) or 0.0] * 5, stream="tuning")

    async def advance(self, steps: int) -> None:
        self._services.tuned += steps - self.steps
        self.steps = steps

    async def finish(self) -> tuple[Candidate, TuningAccount]:
        kept = (rule_of(self.of.source or "", "tunes", 0) or 0.0) > 0
        found = [c.high for c in self.tunable.constants]
        told = (ConstantFound(c.name, c.line, c.low, c.high, c.value, c.high)
                for c in self.tunable.constants)  # fmt: skip
        account = TuningAccount(kept, tuple(told), (), self.steps, 10)
        if not kept:
            return self.of, account
        source = self.tunable.written(found)
        return Candidate(self.of.key, source, kind="tuned", parents=(self.of.name,)), account


def fails(why: str) -> str:
    """A policy that fails."""
    return f"class Policy:\n    # fails: {why}\n"


def fenced(source: str) -> str:
    return f"Here it is.\n\n```python\n{source.strip()}\n```\n"


def rule_of(source: str, name: str, seed: int) -> float | None:
    """What a policy's text says of an episode; None where it says nothing."""
    rule = re.search(f"# {name} (.*)", source)
    return None if rule is None else float(eval(rule[1], {"seed": seed}))  # noqa: S307 - a test's


def outcome_of(source: str, seed: int) -> float | str:
    """The return of a policy in an episode (0 where its text says none), or why it fails."""
    failure = re.search("# fails: (.*)", source)
    return failure[1] if failure else rule_of(source, "plays", seed) or 0.0


def services(
    *rounds: Sequence[str], feedback: str = FEEDBACK, repairs: int = 0, **settings: object
) -> "FakeServices":
    """Services of PromptPO for rounds of policies; every later round opens with a reflection.

    As many rounds and candidates as are written; without repairs and probes unless it is said.
    """
    replies = {Key(role="feedback"): fenced(feedback)}
    for number, sources in enumerate(rounds, 1):
        replies[Key(number, role="reflection")] = f"Lessons for round {number}."
        for index, source in enumerate(sources, 1):
            replies[Key(number, index, role="policy")] = fenced(source)
    small = {"rounds": len(rounds), "candidates": max(map(len, rounds))}
    return FakeServices(
        "promptpo", replies, **{**small, "max_repairs": repairs, "probe": 0, **settings}
    )


def mean_returns(candidates: Sequence[Candidate]) -> dict[str, float]:
    """By name; those that failed have none."""
    return {c.name: c.score.mean_return for c in candidates if not c.score.failed}


class FakeServices:
    """Implements ``methods.base.Services``.

    Attributes:
        replies: by key, a text, a Reply, or what is raised.
        ends: what is raised where: by the key of a call, by the name and the attempt of what is
            played (``"r01_c02_1"``), by the number of the round that is to be opened.
        allowed: by round, how many candidates the limits allow.
        steps: how many plays the limits allow.
        summaries: by Feedback source, without space around it, what it makes of any episodes.
        asked, prompts: the calls that were made, in order; all prompts by their key.
        played: what was played, in order: the source, its seeds, whether trajectories were kept.
        guests: by round, the earlier policies that were announced to play along.
        prepared: by source, without space around it, what comes of its ``prepare``.
        recorded, reported: what the method handed over.
        tuned: steps of tuning so far; ``tunings`` are those that were begun, in order.
    """

    def __init__(
        self,
        method: str = "promptpo",
        replies: Mapping[Key, str] | None = None,
        *,
        spec: str = "cartpole",
        actions: Actions = TWO_ACTIONS,
        outcome: Callable[[str, int], float | str] = outcome_of,
        **settings: object,
    ) -> None:
        self.spec = load_spec(spec)
        self.config = build({"method": method, "spec": spec, "episodes": 2, **settings})
        self.task = TaskInfo(0, "", {}, actions)
        self.replies = dict(replies or {})
        self.tuned, self.tunings = 0, list[FakeTuning]()
        self.outcome = outcome
        self.ends: dict[object, Exception] = {}
        self.allowed: dict[int, int] = {}
        self.steps = 10**9
        self.summaries: dict[str | None, SummaryRun] = {}
        self.asked: list[Key] = []
        self.prompts: dict[Key, Messages] = {}
        self.played: list[tuple[str, tuple[int, ...], bool]] = []
        self.guests: dict[int, tuple[Key, ...]] = {}
        self.recorded: list[Candidate | Round | MethodTable] = []
        self.reported: list[tuple[str, dict[str, object]]] = []
        self.prepared: dict[str, Preparation] = {}
        self._rollouts: dict[tuple[str, tuple[int, ...]], Rollout] = {}
        self._answered: set[Key] = set()

    def search(self) -> Search:
        """What the method finds; a second time it is the run that is resumed."""
        return asyncio.run(find_method(self.config.method)(self).run())

    async def ask(
        self, key: Key, messages: Sequence[Message], read: Callable[[Reply], object] | None = None
    ) -> Reply:
        self.prompts[key] = tuple(messages)
        if key not in self._answered:
            if key in self.ends:
                raise self.ends[key]
            self.asked.append(key)
        await asyncio.sleep(0)
        reply = self.replies.get(key)
        if reply is None:
            raise (LimitReached if key.attempt else ModelError)(f"no reply for {key}")
        self._answered.add(key)
        return reply if isinstance(reply, Reply) else Reply(reply, "fake")

    def seeds(self, first: int, count: int) -> tuple[int, ...]:
        return tuple(range(100 + first, 100 + first + count))

    async def play(
        self,
        program: Program,
        seeds: Sequence[int],
        *,
        keys: Sequence[Key],
        constants: Sequence[Sequence[float]] = ((),),
        keep: bool = True,
    ) -> list[Rollout]:
        runs = []
        for key, vector in zip(keys, constants, strict=True):
            if (end := self.ends.get(f"{key.name}_{key.attempt}")) is not None:
                raise end
            if not self.steps:
                raise LimitReached("no step is left")
            what = program.source(vector), tuple(seeds)
            if what not in self._rollouts:
                self.played.append((*what, keep))
                self.steps -= 1
                self._rollouts[what] = self._rollout(*what)
            runs.append(self._rollouts[what])
        return runs

    def _rollout(self, source: str, seeds: tuple[int, ...]) -> Rollout:
        outcomes = [self.outcome(source, seed) for seed in seeds]
        if isinstance(outcomes[0], str):
            return Rollout("search", seeds, output="it printed this", error=outcomes[0])
        lengths = [int(rule_of(source, "length", seed) or 1) for seed in seeds]
        told = [rule_of(source, "success", seed) for seed in seeds]
        successes = [None if each is None else bool(each) for each in told]
        return rollout(outcomes, seeds=seeds, lengths=lengths, successes=successes)

    async def prepare(self, candidate: Candidate) -> Candidate:
        done = self.prepared.get((candidate.source or "").strip())
        return replace(candidate, preparation=done, error=done.error) if done else candidate

    async def episodes(self, of: Candidate, seeds: Sequence[int] | None = None) -> list[Trajectory]:
        wanted = of.rollout.seeds if seeds is None else seeds
        moves = np.full((2, 1), rule_of(of.source, "moves", 0) or 0.0)
        return [
            Trajectory(np.zeros((3, 4)), moves, np.zeros(2), seed, False, True, None)
            for seed in wanted
        ]

    async def summarize(
        self, of: Candidate, feedback: str | None, seeds: Sequence[int] | None = None
    ) -> SummaryRun:
        wanted = of.rollout.seeds if seeds is None else seeds
        by = "built in" if feedback is None else "by Feedback"
        told = SummaryRun(tuple(f"seed {seed} of {of.name}, {by}" for seed in wanted))
        return self.summaries.get(feedback and feedback.strip(), told)

    async def coverage(self, of: Candidate, seeds: Sequence[int] | None = None) -> CoverageRun:
        return CoverageRun(((1, 0),), sum(of.rollout.lengths))

    @property
    def tuning_left(self) -> int:
        return self.config.tune_steps - self.tuned if self.config.tune else 0

    def tuning(self, of: Candidate, tunable: Tunable) -> "FakeTuning":
        self.tunings.append(FakeTuning(self, of, tunable))
        return self.tunings[-1]

    async def open_round(self, rounds: Sequence[Round], guests: Sequence[Key] = ()) -> int:
        number = len(rounds) + 1
        self.guests[number] = tuple(guests)
        if number in self.ends:
            raise self.ends[number]
        return self.allowed.get(number, self.config.candidates)

    def record(self, fact: Candidate | Round | MethodTable) -> None:
        self.recorded.append(fact)

    def report(self, event: str, /, **data: object) -> None:
        self.reported.append((event, data))

    def candidates(self) -> list[Candidate]:
        """The attempts that were recorded."""
        return [fact for fact in self.recorded if isinstance(fact, Candidate)]

    def prompt(self, *key: int, role: str) -> str:
        """The text of a prompt."""
        return "\n".join(m.content for m in self.prompts[Key(*key, role=role)])
