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
    def act(self, obs):
        lean = obs.pole_angle + GAIN * obs.pole_velocity
        return int(lean + 0.05 * np.random.random() > 0.025)
"""
#: What becomes of one instance by its number, beside others that are well.
ODD = """import numpy as np
KIND = tunable(0.5, 0.0, 9.0)
class Policy:
    def __init__(self):
        self.t = 0
    def act(self, obs):
        self.t += 1
        if self.t == 3 and KIND == 1.5:
            raise ValueError("odd")
        while self.t == 3 and KIND == 2.5:
            pass
        if self.t == 3 and KIND == 3.5:
            return 7
        if self.t == 3 and KIND == 4.5:
            raise MemoryError
        return int(obs.pole_angle + 0.3 * obs.pole_velocity > 0)
"""
SEEDS = (12, 13, 14)
#: Its action is its constant.
PLAIN = "A = 0.5\nclass Policy:\n    def act(self, obs):\n        return int(A)\n"


def opened(spec="cartpole", workers=1, **settings):
    return contextlib.closing(LocalExecutor(Settings(spec, **settings), workers))


def job(source, values, seeds=SEEDS, **how):
    found = tunable(source, auto=True)
    places = tuple(c.place for c in found.constants)
    return InstancesJob(found.source, places, tuple(map(tuple, values)), seeds, **how)


def test_an_instance_plays_as_the_policy_with_its_constants_written_down():
    with opened(policy_seed=5) as executor:
        found = asyncio.run(executor.run(job(LEAN, [(0.3,), (-0.2,), (0.05,)])))
        for value, run in zip((0.3, -0.2, 0.05), found, strict=True):
            source = LEAN.replace("0.3\n", f"{value}\n", 1)
            alone, _ = asyncio.run(evaluate(executor, source, "search", SEEDS))
            assert run.results == alone.episodes
            assert run.steps == alone.steps
            assert run.error is None
            assert run.bound is None


@pytest.mark.slow
def test_how_many_workers_share_the_instances_changes_nothing():
    values = [(0.1 * n - 0.1,) for n in range(5)]
    with opened(policy_seed=5) as one, opened(workers=3, policy_seed=5) as three:
        asked = job(LEAN, values, bar=300.0, pace=1.0)
        found = asyncio.run(one.run(asked))
        assert asyncio.run(three.run(asked)) == found
    assert {run.bound is None for run in found} == {True, False}


def test_a_bad_instance_fails_and_the_others_play_on():
    faults = {1.5: "ValueError: odd", 3.5: "not 7", 2.5: "in time", 4.5: "Memory"}
    with opened(act_timeout=0.4) as executor:
        (good,) = asyncio.run(executor.run(job(ODD, [(0.5,)])))
        for kind, why in faults.items():
            found = asyncio.run(executor.run(job(ODD, [(0.5,), (kind,), (0.6,)])))
            assert why in found[1].error
            assert found[1].results == ()
            assert found[1].steps > 0
            assert [run.results for run in found[::2]] == [good.results] * 2


def test_an_environment_that_fails_under_an_instance_is_its_fault(tmp_path):
    spec = write(tmp_path / "room.py", in_step="if action == 2: raise ValueError('cold')")
    with opened(str(spec)) as executor:
        found = asyncio.run(executor.run(job(PLAIN, [(0.5,), (2.5,), (1.5,)])))
    assert "cold" in found[1].error
    assert [len(run.results) for run in found] == [3, 0, 3]


@pytest.mark.slow
def test_an_instance_that_ends_the_environments_process_is_found(tmp_path):
    spec = write(tmp_path / "room.py", in_step="if action == 2: os._exit(3)")
    with opened(str(spec)) as executor:
        found = asyncio.run(executor.run(job(PLAIN, [(0.5,), (0.6,), (2.5,), (1.5,)])))
    assert "os._exit(3)" in found[2].error
    assert [len(run.results) for run in found] == [3, 3, 0, 3]


def test_an_object_that_lives_on_plays_its_episodes_in_turn():
    source = """SHARE = 0.5
class Policy:
    def __init__(self):
        self.episodes = 0
    def reset(self):
        self.episodes += 1
    def act(self, obs):
        lean = obs.pole_angle + SHARE * self.episodes * obs.pole_velocity
        return int(lean > 0)
"""
    with opened() as executor:
        values = [(0.1,), (0.4,)]
        found = asyncio.run(executor.run(job(source, values, life=3)))
        for (value,), run in zip(values, found, strict=True):
            written = source.replace("0.5", str(value))
            alone, _ = asyncio.run(evaluate(executor, written, "search", SEEDS, life=3))
            assert run.results == alone.episodes


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
