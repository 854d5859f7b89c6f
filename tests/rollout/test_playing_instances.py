"""Instances of one policy with other constants, played by workers."""

import asyncio
import contextlib

import pytest
from faulty_spec import write

from promptpo.policies.constants import tunable
from promptpo.rollout import LocalExecutor, Settings, evaluate
from promptpo.rollout.jobs import InstancesJob

LEAN = """GAIN = 0.3
class Policy:
    def __init__(self):
        self.episodes = 0
    def reset(self):
        self.episodes += 1
    def act(self, obs):
        lean = obs.pole_angle + GAIN * obs.pole_velocity
        return int(lean + 0.05 * np.random.random() > 0.025)
"""
SEEDS = (12, 13, 14)
#: What an object does later depends on how many episodes it has lived through.
LIVES = "GAIN * self.episodes *"
#: Its action is its constant.
PLAIN = "A = 0.5\nclass Policy:\n    def act(self, obs):\n        return int(A)\n"


def opened(spec="cartpole", workers=1, **settings):
    return contextlib.closing(LocalExecutor(Settings(spec, **settings), workers))


def job(source, values, seeds=SEEDS, **how):
    found = tunable(source, auto=True)
    places = tuple(c.place for c in found.constants)
    return InstancesJob(found.source, places, tuple(map(tuple, values)), seeds, **how)


@pytest.mark.parametrize(("source", "life"), [(LEAN, 1), (LEAN.replace("GAIN *", LIVES), 3)])
def test_an_instance_plays_as_the_policy_with_its_constants_written_down(source, life):
    with opened(policy_seed=5) as executor:
        values = (0.3, -0.2, 0.05)
        found = asyncio.run(executor.run(job(source, [(v,) for v in values], life=life)))
        for value, run in zip(values, found, strict=True):
            written = source.replace("0.3\n", f"{value}\n", 1)
            alone, _ = asyncio.run(evaluate(executor, written, "search", SEEDS, life=life))
            assert run.results == alone.episodes
            assert run.steps == alone.steps
            assert run.error is None
            assert run.bound is None


@pytest.mark.slow
def test_how_many_workers_share_the_instances_changes_nothing():
    values = [(0.02 * n - 0.06,) for n in range(5)]
    with opened(policy_seed=5) as one, opened(workers=3, policy_seed=5) as three:
        asked = job(LEAN, values, bar=300.0, pace=1.0)
        found = asyncio.run(one.run(asked))
        assert asyncio.run(three.run(asked)) == found
    assert {run.bound is None for run in found} == {True, False}


def test_an_environment_that_fails_under_an_instance_is_its_fault(tmp_path):
    spec = write(tmp_path / "room.py", in_step="if action == 2: raise ValueError('cold')")
    with opened(str(spec)) as executor:
        found = asyncio.run(executor.run(job(PLAIN, [(0.5,), (2.5,), (1.5,)])))
    assert "cold" in found[1].error
    assert [sum(e.error is None for e in run.results) for run in found] == [3, 0, 3]


@pytest.mark.slow
def test_an_instance_that_ends_the_environments_process_is_found(tmp_path):
    spec = write(tmp_path / "room.py", in_step="if action == 2: os._exit(3)")
    with opened(str(spec)) as executor:
        found = asyncio.run(executor.run(job(PLAIN, [(0.5,), (0.6,), (2.5,), (1.5,)])))
    assert "os._exit(3)" in found[2].error
    assert [sum(e.error is None for e in run.results) for run in found] == [3, 3, 0, 3]


def test_who_cannot_win_any_more_is_given_up_and_the_best_it_could_do_is_told(tmp_path):
    """Five steps pay ``action`` each: after the first, at most 4 more can come."""
    spec = write(tmp_path / "room.py", in_step="pay = float(action); self.count += 1e-9")
    spec.write_text(spec.read_text().replace("self.count >= 5", "self.count >= 40").replace(
        "horizon=8", "horizon=40"))  # fmt: skip
    with opened(str(spec)) as executor:
        asked = job(PLAIN, [(0.5,), (1.5,)], bar=39.5, pace=1.0)
        lost, won = asyncio.run(executor.run(asked))
    assert won.bound is None
    assert [e.return_ for e in won.results] == [40.0] * 3
    assert lost.bound == 30.0
    assert lost.steps == 3 * 10
    assert won.pace == 1.0
