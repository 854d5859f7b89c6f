"""The services of a method without a process, a file or a model: all is as a test has written it.

A reply that is not written is a missing one. What a policy plays its text says: ``plays(7)`` makes
one whose episodes return 7, ``fails("why")`` one that fails; ``outcome`` may be any other rule.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rollouts import rollout

from promptpo.errors import LimitReached, ModelError
from promptpo.llm.messages import Message, Reply
from promptpo.methods import Search, find_method
from promptpo.methods.base import Messages
from promptpo.policies import Actions, CoverageRun, Program
from promptpo.rollout.jobs import TaskInfo
from promptpo.run.options import build
from promptpo.spec import load_spec
from promptpo.types import Candidate, Key, Rollout, Round, SummaryRun, Trajectory, best_of

TWO_ACTIONS = Actions(counts=(2,), starts=(0,))

FEEDBACK = """
class Feedback:
    def summarize_trajectory(self, traj):
        return "It fell."
"""


def plays(mean_return: float, mark: str = "") -> str:
    """A policy with this return; ``mark`` tells it from others that play alike."""
    return f"class Policy:\n    # plays {mean_return}\n    note = {mark!r}\n"


def fails(why: str) -> str:
    """A policy that fails."""
    return f"class Policy:\n    # fails: {why}\n"


def fenced(source: str) -> str:
    return f"Here it is.\n\n```python\n{source.strip()}\n```\n"


def outcome_of(source: str) -> float | str:
    """The return of a policy, or why it fails."""
    failure = re.search("# fails: (.*)", source)
    return failure[1] if failure else float(re.search("# plays (.*)", source)[1])


def mean_returns(candidates: Sequence[Candidate]) -> dict[str, float]:
    """By name; those that failed have none."""
    return {c.name: c.score.mean_return for c in candidates if not c.score.failed}


class FakeServices:
    """Implements ``methods.base.Services``.

    Attributes:
        replies: by key, a text, a Reply, or what is raised.
        ends: what is raised where: by the key of a call, by the name and the attempt of what is
            played (``"r01_c02_1"``), by the number of the round that is to be opened.
        alone: by name, the return of candidates whose score does not stand, each episode alone.
        allowed: by round, how many candidates the limits allow.
        summaries: by Feedback source, without space around it, what it makes of any episodes.
        asked, prompts: the calls that were made, in order; all prompts by their key.
        played: what was played, in order: the source, its seeds, whether trajectories were kept.
        recorded, reported: what the method handed over.
    """

    def __init__(
        self,
        method: str = "promptpo",
        replies: Mapping[Key, str] | None = None,
        *,
        spec: str = "cartpole",
        actions: Actions = TWO_ACTIONS,
        outcome: Callable[[str], float | str] = outcome_of,
        **settings: object,
    ) -> None:
        self.spec = load_spec(spec)
        self.config = build({"method": method, "spec": spec, "episodes": 2, **settings})
        self.task = TaskInfo(0, "", {}, actions)
        self.replies = dict(replies or {})
        self.outcome = outcome
        self.ends: dict[object, Exception] = {}
        self.alone: dict[str, float] = {}
        self.allowed: dict[int, int] = {}
        self.summaries: dict[str | None, SummaryRun] = {}
        self.asked: list[Key] = []
        self.prompts: dict[Key, Messages] = {}
        self.played: list[tuple[str, tuple[int, ...], bool]] = []
        self.recorded: list[Candidate | Round] = []
        self.reported: list[tuple[str, dict[str, object]]] = []
        self._rollouts: dict[tuple[str, tuple[int, ...]], Rollout] = {}
        self._answered: set[Key] = set()

    def search(self) -> Search:
        """What the method finds; a second time it is the run that is resumed."""
        return asyncio.run(find_method(self.config.method)(self).search())

    async def ask(self, key: Key, messages: Sequence[Message]) -> Reply:
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
            what = program.source(vector), tuple(seeds)
            if what not in self._rollouts:
                self.played.append((*what, keep))
                self._rollouts[what] = self._rollout(*what)
            runs.append(self._rollouts[what])
        return runs

    def _rollout(self, source: str, seeds: tuple[int, ...]) -> Rollout:
        outcome = self.outcome(source)
        if isinstance(outcome, str):
            return Rollout("search", seeds, output="it printed this", error=outcome)
        return rollout((outcome,) * len(seeds), seeds=seeds)

    async def episodes(self, of: Candidate) -> list[Trajectory]:
        return []

    async def summarize(self, of: Candidate, feedback: str | None) -> SummaryRun:
        count = len(of.rollout.seeds)
        by = "built in" if feedback is None else "by Feedback"
        told = SummaryRun(tuple(f"episode {i} of {of.name}, {by}" for i in range(1, count + 1)))
        return self.summaries.get(feedback and feedback.strip(), told)

    async def coverage(self, of: Candidate) -> CoverageRun:
        return CoverageRun(((1, 0),), sum(of.rollout.lengths))

    async def proven(self, candidates: Sequence[Candidate]) -> tuple[list[Candidate], Candidate]:
        standing = list(candidates)
        while True:
            best = best_of(standing)
            if best.name not in self.alone or best.mark:
                return standing, best
            run = rollout((self.alone[best.name],), mark="depends on other episodes")
            standing[standing.index(best)] = scored = replace(best, rollout=run)
            self.record(scored)

    async def open_round(self, rounds: Sequence[Round]) -> tuple[list[Round], int]:
        number = len(rounds) + 1
        if number in self.ends:
            raise self.ends[number]
        return list(rounds), self.allowed.get(number, self.config.candidates)

    def record(self, fact: Candidate | Round) -> None:
        self.recorded.append(fact)

    def report(self, event: str, /, **data: object) -> None:
        self.reported.append((event, data))

    def candidates(self) -> list[Candidate]:
        """The attempts that were recorded."""
        return [fact for fact in self.recorded if isinstance(fact, Candidate)]

    def prompt(self, *key: int, role: str) -> str:
        """The text of a prompt."""
        return "\n".join(m.content for m in self.prompts[Key(*key, role=role)])
