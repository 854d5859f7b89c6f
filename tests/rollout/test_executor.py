import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from scripted import GOOD, policy

import promptpo
from promptpo.errors import SpecError
from promptpo.rollout import LocalExecutor, PlayJob, Settings, evaluate

NOISY = policy("return int(np.random.random() < 0.5)")
#: Plays as NOISY does, until its own pole leans that way far enough.
FAILS_SOMEWHERE = policy("return None if obs.pole_angle > 0.18 else int(np.random.random() < 0.5)")


def opened(spec="cartpole", workers=1):
    return contextlib.closing(LocalExecutor(Settings(str(spec)), workers))


@pytest.fixture(scope="module")
def executor():
    with opened() as running:
        yield running


def played(executor, source, seeds=(1, 2, 3), **how):
    return asyncio.run(evaluate(executor, source, "search", seeds, **how))


@pytest.mark.slow
@pytest.mark.parametrize("source", [NOISY, FAILS_SOMEWHERE], ids=["good", "failing"])
def test_how_many_workers_share_the_episodes_changes_no_result(executor, source):
    seeds, keep = tuple(range(23)), (3, 21)
    with opened(workers=3) as other:
        shared, shared_episodes = played(other, source, seeds, keep=keep)
    rollout, episodes = played(executor, source, seeds, keep=keep)
    assert shared == rollout
    assert [e.seed for e in episodes] == [e.seed for e in shared_episodes]
    assert rollout.returns
    assert (rollout.error is None) == (source == NOISY)


@pytest.mark.slow
def test_every_episode_has_the_memory_of_a_process(executor):
    for megabytes, error in ((400, None), (1600, "memory")):  # 1024 are allowed
        large = policy("return 0", f"self.table = np.zeros({megabytes} * 125_000)")
        rollout, _ = played(executor, large, range(4))
        assert rollout.error_kind == error
        assert len(rollout.returns) == (4 if error is None else 0)


def test_kept_episodes_hold_everything_up_to_the_last_observation(executor):
    rollout, episodes = played(executor, NOISY, keep=(1, 2, 3))
    for episode, length, total in zip(episodes, rollout.lengths, rollout.returns, strict=True):
        assert episode.observations.shape == (length + 1, 4)
        assert episode.actions.shape == (length, 1)
        assert episode.rewards.sum() == total
        assert abs(episode.observations[-1][2]) > 0.2  # it fell
        assert (episode.terminated, episode.truncated) == (True, False)


#: Falls in its first episode, lives on in the others: returns tell how old an object is.
COUNTING = """
class Policy:
    def __init__(self):
        self.episodes = 0
    def reset(self):
        self.episodes += 1
    def act(self, obs):
        LIMIT
        push = obs.pole_angle + 0.5 * obs.pole_velocity + 0.1 * obs.cart_velocity > 0
        return int(push) if self.episodes else 0
"""
LEARNING = COUNTING.replace("LIMIT", "pass")


def test_an_object_lives_through_the_episodes_of_its_life_and_no_longer(executor):
    fresh, _ = played(executor, LEARNING, range(6), life=1)
    assert max(fresh.lengths) < 20
    rollout, _ = played(executor, LEARNING, range(8), life=3)
    assert [n > 20 for n in rollout.lengths] == [False, True, True] * 2 + [False, True]
    assert rollout.life == 3
    rollout, _ = played(executor, LEARNING, (1, 2, 3, 9), life=3)  # told by seeds, not places
    assert [n > 20 for n in rollout.lengths] == [False, True, False, False]


@pytest.mark.parametrize("failing", ["third", "second life"])
def test_lives_that_fail_are_told_alike_however_many_workers_play_them(executor, failing):
    """Life 3..5 begins at slot 3; a policy cannot know, so one fails in every life or in none."""
    limit = "if self.episodes == 2:\n            raise RuntimeError('third episode')"
    source = COUNTING.replace("LIMIT", limit)
    if failing == "second life":
        source = COUNTING.replace("LIMIT", "assert obs.cart_position < MOST")
        _, kept = played(executor, LEARNING, range(3), life=3, keep=range(3))
        most = max(float(e.observations[:, 0].max()) for e in kept)
        source = source.replace("MOST", repr(most + 1e-6))
    seeds = tuple(range(18))
    rollout, _ = played(executor, source, seeds, life=3)
    assert rollout.error is not None
    ended = [episode.error is None for episode in rollout.episodes]
    if failing == "third":  # in every life
        assert ended == [True, True, False] * 6
    else:
        assert 0 < ended.count(False) < 6
    with opened(workers=3) as other:
        assert played(other, source, seeds, life=3)[0] == rollout


def test_a_failure_reports_the_steps_it_cost(executor):
    source = policy("self.t += 1; return 0 if self.t < 4 else None", "self.t = 0")
    rollout, _ = played(executor, source)
    assert rollout.error_kind == "bad_action"
    assert rollout.steps == 9
    assert rollout.error.startswith("in act() number 3 of episode slot 0:")
    assert rollout.score.failed


def test_clipped_actions_are_counted():
    wild = policy("return np.full(6, 3.0)")
    with opened("mujoco_halfcheetah") as running:
        rollout, episodes = played(running, wild, (1,), keep=(1,))
    assert rollout.clipped == 1.0
    assert np.abs(episodes[0].actions).max() == 1.0


def test_a_spec_that_cannot_be_built_is_the_callers_error(tmp_path):
    spec = tmp_path / "mine.py"
    spec.write_text("x = 1\n")
    with opened(spec) as running, pytest.raises(SpecError, match="no SPEC in this file"):
        asyncio.run(running.describe())


def test_a_worker_that_dies_is_replaced_and_the_job_done_again(executor):
    # Computes: a policy's sleep does not take time.
    slow = GOOD.replace("        lean", "        sum(range(150_000))\n        lean", 1)

    async def killed_once():
        job = asyncio.ensure_future(executor.run(PlayJob(slow, (1,))))
        await asyncio.sleep(0.4)
        assert not job.done()
        for process in psutil.Process().children():
            if "popen_loky" in " ".join(process.cmdline()):
                process.kill()
        return await job

    assert asyncio.run(killed_once()).error is None


@pytest.mark.slow
def test_nothing_is_left_running_when_the_caller_is_killed(tmp_path):
    script = tmp_path / "caller.py"
    script.write_text(CALLER)
    environ = {**os.environ, "PYTHONPATH": str(Path(promptpo.__file__).parents[1])}
    caller = psutil.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environ)
    assert caller.stdout.readline() == "playing\n"
    deadline = time.monotonic() + 30
    while len(started := caller.children(recursive=True)) < 6 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(started) >= 6  # two workers, each with its warm parent and a policy
    caller.kill()
    caller.wait()
    _, left = psutil.wait_procs(started, timeout=10)
    assert not [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


CALLER = """
import asyncio
from promptpo.rollout import LocalExecutor, PlayJob, Settings

ENDLESS = "class Policy:\\n    def act(self, obs):\\n        while True: pass"

async def main():
    executor = LocalExecutor(Settings("cartpole", act_timeout=60.0), 2)
    jobs = [asyncio.ensure_future(executor.run(PlayJob(ENDLESS, (1,)))) for _ in "ab"]
    await asyncio.sleep(1)
    print("playing", flush=True)
    await asyncio.gather(*jobs)

asyncio.run(main())
"""
