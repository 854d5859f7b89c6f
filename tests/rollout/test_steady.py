"""What happens to the sandbox's processes, and not to a program, changes no result."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scripted import FEEDBACK, policy

import sandbox
from promptpo.errors import IsolationError
from promptpo.rollout import PlayJob, Settings
from promptpo.rollout.jobs import SummaryJob
from promptpo.rollout.worker import Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
JOB = PlayJob(policy("return int(obs.pole_angle > 0)"), (1, 2), keep=(1, 2))


@pytest.fixture(scope="module")
def worker():
    made = Worker(Settings("cartpole"))
    with made.host:
        yield made


@pytest.fixture(scope="module")
def undisturbed(worker):
    return worker.play(JOB)


def disturbing(monkeypatch, worker, pid_of, times, steps=3):
    """Kills a process at the third step of an episode, in so many evaluations.

    The policy's process is gone then, too: with its warm parent.
    """
    task = worker.open_tasks(1)[0]
    advance, reset, count = type(task).advance, type(task).reset, {"steps": 0, "left": times}

    def reset_and_count(self, seed, life=None):
        if self is task:
            count["steps"] = 0
        return reset(self, seed, life)

    def step_and_kill(self, action):
        if self is task:
            count["steps"] += 1
            if count["steps"] == steps and count["left"]:
                count["left"] -= 1
                dies = oldest_child(worker)
                os.kill(pid_of(), signal.SIGKILL)
                wait_for_the_end_of(dies)
        return advance(self, action)

    monkeypatch.setattr(type(task), "reset", reset_and_count)
    monkeypatch.setattr(type(task), "advance", step_and_kill)
    return count


def oldest_child(worker):
    pid = worker.host.parent_pid
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def wait_for_the_end_of(pid):
    deadline = time.monotonic() + 20
    with contextlib.suppress(OSError):
        while ") Z" not in Path(f"/proc/{pid}/stat").read_text() and time.monotonic() < deadline:
            time.sleep(0.005)


def same(one, other):
    """Whether two runs are the same, episodes included."""
    episodes = zip(one.episodes, other.episodes, strict=True)
    return (
        (one.results, one.steps, one.error) == (other.results, other.steps, other.error)
        and all(np.array_equal(a.actions, b.actions) for a, b in episodes)
        and len(one.episodes) == 2
    )


@pytest.mark.parametrize("victim", ["warm parent", "policy"])
def test_a_job_whose_process_is_killed_is_done_again(monkeypatch, worker, undisturbed, victim):
    pid = (lambda: worker.host.parent_pid) if victim == "warm parent" else None
    count = disturbing(monkeypatch, worker, pid or (lambda: oldest_child(worker)), 1)
    assert same(worker.play(JOB), undisturbed)
    assert count["left"] == 0


def test_a_policy_that_is_killed_twice_has_failed_and_it_is_told_why(monkeypatch, worker):
    disturbing(monkeypatch, worker, lambda: oldest_child(worker), 9)
    run = worker.play(JOB)
    assert run.error_kind == "disturbed"
    assert "killed from outside in act(), by a signal that it did not cause itself" in run.error
    assert run.steps == 6


def test_a_sandbox_that_fails_again_and_again_is_no_failed_candidate(monkeypatch, worker):
    count = disturbing(monkeypatch, worker, lambda: worker.host.parent_pid, 9)
    with pytest.raises(IsolationError) as caught:
        worker.play(JOB)
    assert str(caught.value).startswith("the sandbox failed 3 times in a row: the sandbox's warm")
    assert "\n" not in str(caught.value)
    assert count["left"] == 6


def test_a_summary_whose_warm_parent_dies_is_written_again(monkeypatch, worker, undisturbed):
    job = SummaryJob(FEEDBACK, undisturbed.episodes)
    expected = worker.summarize(job)
    summarize, left = sandbox.Summarizer.summarize, [1]

    def summarize_and_kill(self, episode):
        if left:
            left.pop()
            dies = oldest_child(worker)
            os.kill(worker.host.parent_pid, signal.SIGKILL)
            wait_for_the_end_of(dies)
        return summarize(self, episode)

    monkeypatch.setattr(sandbox.Summarizer, "summarize", summarize_and_kill)
    assert worker.summarize(job) == expected
    assert len(expected.texts) == 2


def test_a_protection_that_is_missing_all_of_a_sudden_ends_the_run(monkeypatch, worker):
    def refused(*args, **kwargs):
        raise sandbox.IsolationUnavailable("not as strictly as asked")

    monkeypatch.setattr(sandbox.Host, "_spawn", refused)
    with pytest.raises(IsolationError, match="not as strictly as asked"):
        worker.play(JOB)
