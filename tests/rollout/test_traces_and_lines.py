"""What a policy traces while it plays, and in how many steps its lines run when it is fed again."""

import asyncio
import contextlib

import pytest
from scripted import GOOD, policy

from promptpo.policies import unreached
from promptpo.rollout import LocalExecutor, PlayJob, Settings
from promptpo.rollout.jobs import CoverageJob, SummaryJob

SEEDS = (100, 101, 102)
TRACED = """
class Policy:
    TRACE = ("phase", "t")

    def __init__(self):
        self.t = 0

    def act(self, obs):
        self.t += 1
        self.phase = "late" if self.t > 3 else "early"
        if self.t > 1000:
            self._retreat()
        return 0

    def _retreat(self):
        self.t = 0
"""


@pytest.fixture(scope="module")
def executor():
    with contextlib.closing(LocalExecutor(Settings("cartpole"), 1)) as running:
        yield running


def play(executor, source, **options):
    return asyncio.run(executor.run(PlayJob(source, SEEDS, **options)))


@pytest.mark.parametrize("life", [1, 10])
def test_what_is_traced_comes_with_the_episodes_that_are_kept(executor, life):
    run = play(executor, TRACED, keep=SEEDS[1:], life=life)
    assert [episode.seed for episode in run.episodes] == [101, 102]
    for episode in run.episodes:
        first, steps = episode.trace["t"][0], len(episode.rewards)
        assert episode.trace["t"] == tuple(range(first, first + steps))
        assert episode.trace["phase"][-1] == "late"
    assert (run.episodes[0].trace["t"][0] == 1) is (life == 1)


def test_traced_episodes_are_the_same_and_a_feedback_class_gets_what_was_traced(executor):
    plain = play(executor, TRACED.replace('TRACE = ("phase", "t")', ""), keep=SEEDS)
    run = play(executor, TRACED, keep=SEEDS[:1])
    episodes = run.episodes
    assert run.results == plain.results
    assert all(episode.trace == {} for episode in plain.episodes)
    body = "return f\"{traj.trace['phase'].index('late')} {len(traj.trace['t']) == len(traj)}\""
    source = f"class Feedback:\n    def summarize_trajectory(self, traj):\n        {body}"
    run = asyncio.run(executor.run(SummaryJob(source, episodes)))
    assert (run.error, run.texts) == (None, ("3 True",))


def counted(executor, source, episodes, **options):
    return asyncio.run(executor.run(CoverageJob(source, tuple(episodes), **options)))


def test_lines_are_counted_over_the_episodes_that_are_fed_again(executor):
    run = play(executor, TRACED, keep=SEEDS)
    found = counted(executor, TRACED, run.episodes)
    assert found.error is None
    assert found.steps == run.steps
    hits = dict(found.counts)
    assert hits[9] == hits[13] == run.steps
    assert hits[6] == 0
    assert unreached(TRACED, found.counts) == [
        "`_retreat` was never entered",
        "the branch at line 11 (`if self.t > 1000`) never ran",
    ]


def test_episodes_of_one_object_are_fed_to_one_object(executor):
    act = "self.t += 1\n        if self.t > 12:\n            self.t = 12\n        return 0"
    source = policy(act, "self.t = 0")
    run = play(executor, source, keep=SEEDS, life=10)
    assert max(result.length for result in run.results) < 12
    late = dict(counted(executor, source, run.episodes, life=10).counts).get(8)
    assert late is not None
    assert 8 not in dict(counted(executor, source, run.episodes).counts)


def test_a_policy_that_fails_when_it_is_fed_again_is_a_result(executor):
    episodes = play(executor, GOOD, keep=SEEDS[:1]).episodes
    found = counted(executor, policy("return 7"), episodes)
    assert found.counts == ()
    assert "one integer from 0 to 1" in found.error
