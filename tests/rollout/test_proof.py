import asyncio
import contextlib

import numpy as np
import pytest
from company import COUNTED, counted_cartpole
from scripted import GOOD, policy

import sandbox
from promptpo.errors import PromptPOError
from promptpo.rollout import LocalExecutor, Settings, evaluate
from promptpo.rollout.division import divided
from promptpo.rollout.jobs import PlayJob, ProofJob
from promptpo.rollout.proof import prove, to_prove
from promptpo.rollout.worker import Worker
from promptpo.types import Rollout, Trajectory

SEEDS = tuple(range(100, 110))


@pytest.fixture(scope="module")
def executor(tmp_path_factory):
    spec = counted_cartpole(tmp_path_factory.mktemp("spec"))
    with contextlib.closing(LocalExecutor(Settings(str(spec)), 1)) as running:
        yield running


def proven(executor, source, seeds=SEEDS[:4]):
    """A proof on held-out episodes, as a run makes it."""
    keep = to_prove("test", seeds, 1)

    async def both():
        run, episodes = await evaluate(executor, source, "test", seeds, keep=keep)
        assert run.error is None
        return await prove(executor, source, run, episodes, life=1)

    return asyncio.run(both())


@pytest.mark.parametrize("groups", [1, 2, 3, 10])
def test_whatever_the_groups_places_all_over_them_have_their_turn(groups):
    seeds = tuple(range(50))
    chosen = to_prove("test", seeds, 1)
    parts = [part.seeds for part in divided(PlayJob("", seeds), groups)]
    places = [part.index(seed) / len(part) for part in parts for seed in part if seed in chosen]
    assert (chosen[0], len(chosen), len(set(chosen))) == (49, 10, 10)
    assert min(places) < 0.4
    assert max(places) >= 0.8
    assert places.count(0.0) <= 1  # the first has none before it


@pytest.mark.parametrize(
    ("count", "chosen"), [(0, []), (1, []), (2, [1]), (3, [2, 1]), (4, [3, 1]), (5, [4, 3, 1])]
)
def test_at_most_half_of_the_episodes_are_chosen_and_never_the_first(count, chosen):
    assert to_prove("test", range(count), 1) == chosen


def test_where_a_policy_is_to_remember_there_is_nothing_to_prove():
    assert to_prove("test", SEEDS, 3) == []
    run = Rollout("test", SEEDS)
    proof = asyncio.run(prove(None, GOOD, run, (), life=3))
    assert (proof.verdict, proof.mark) == ("not applicable", "")


DRAWS = policy("return int(np.random.random() + self.r.random() < 1)", "self.r = random.Random()")
KEEPS = policy("self.t += 1; return self.t % 2", "self.t = 0")


@pytest.mark.parametrize("source", [GOOD, DRAWS, KEEPS])
def test_a_policy_that_keeps_to_its_episode_is_independent(executor, source):
    proof = proven(executor, source)
    assert (proof.verdict, proof.mark) == ("independent", "")
    assert proof.seeds == (103, 101)
    assert proof.differing == ()


def test_a_policy_that_counts_episodes_in_a_module_depends_on_them(executor):
    proof = proven(executor, COUNTED)
    assert proof.verdict == proof.mark == "depends on other episodes"
    assert (proof.differing, proof.seed) == ((103, 101), 103)
    assert proof.action != proof.action_alone
    assert proof.step >= 1


def test_failing_alone_counts_as_depending(executor):
    needs_company = COUNTED.replace("return 0\n", "raise ValueError('alone')\n")
    run = fed(executor, needs_company, [1.0, 1.0], [1.0])
    assert (run.step, run.repeats) == (1, True)
    assert "alone" in run.error


@pytest.mark.slow
@pytest.mark.parametrize(("company", "step"), [(1, 1), (99, None)])
def test_a_lone_policy_has_the_time_of_its_whole_company(company, step):
    worker = Worker(Settings("cartpole", act_timeout=0.05))
    slow = policy("\n        for x in range(20_000_000): pass\n        return 0")
    with worker.host:
        run = worker.prove(ProofJob(slow, episode([0.0, 0.0], [0.0]), company))
    assert run.step == step


def test_a_policy_that_differs_even_alone_is_said_not_to_repeat_itself(executor):
    number = "int(email.utils.make_msgid(domain='x').split('.')[0][1:])"  # the time
    source = "import email.utils\n" + policy(
        f"self.t += 1; return {number} >> self.t & 1", "self.t = -1"
    )
    proof = proven(executor, source)
    assert proof.verdict == "does not repeat itself"


def fed(executor, source, observations, actions, company=1):
    """What becomes of a policy that is fed a made-up episode."""
    job = ProofJob(source, episode(observations, actions), company)
    return asyncio.run(executor.run(job))


def episode(observations, actions):
    return Trajectory(
        observations=np.tile(np.array(observations)[:, None], 4),
        actions=np.array(actions)[:, None],
        rewards=np.zeros(len(actions)),
        seed=1,
        terminated=True,
        truncated=False,
        success=None,
    )


def test_a_difference_in_the_last_bit_is_one(executor):
    source = policy("return 1")
    agreeing = fed(executor, source, [0.1, 0.1], [1.0])
    differing = fed(executor, source, [0.1, 0.1], [np.nextafter(1.0, 2.0)])
    assert (agreeing.step, differing.step) == (None, 1)


def test_a_policy_that_is_killed_from_outside_is_not_taken_for_dependent(monkeypatch):
    def killed(*_):
        raise sandbox.Disturbed("something killed the process")

    worker = Worker(Settings("cartpole"))
    monkeypatch.setattr(worker, "_policy", killed)
    with worker.host, pytest.raises(PromptPOError, match="something killed the process"):
        worker.prove(ProofJob(GOOD, episode([0.0, 0.0], [0.0]), 1))
