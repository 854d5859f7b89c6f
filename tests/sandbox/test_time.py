"""Limits are processor time of the policy's process: who else runs, and who is stopped, fails none.

Wall time ends only what neither computes nor answers.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from acting import ONE, acts, policy

import sandbox
from sandbox import Disturbed, Limits, TimeLimit
from sandbox.host.process import Exhausted, Patience, ProcessClock, Stalled

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads clocks and states of processes")
ENDLESS = "def __init__(self):\n    while True: pass"
#: Computes for about as many hundredths of a second as the observation says; its clock is not real.
COMPUTING = """
class Policy:
    def act(self, obs):
        for _ in range(int(obs[0] * {loops})):
            pass
        return 0.0
"""


@pytest.fixture(scope="module")
def computing():
    """Source of a policy that computes for ``obs[0]`` seconds of processor time, or a bit more."""
    loops, seconds = 100_000, 0.0
    while seconds < 0.05:
        loops *= 2
        begun = time.process_time()
        exec(f"for _ in range({loops}):\n    pass")  # noqa: S102 - the same loop as the policy's
        seconds = time.process_time() - begun
    return COMPUTING.format(loops=int(loops / seconds))


def stop(pids, seconds=None):
    """Stop processes, for so long or for good."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    if seconds is not None:
        threading.Timer(seconds, lambda: [os.kill(pid, signal.SIGCONT) for pid in pids]).start()


@linux
def test_a_policy_that_was_stopped_for_longer_than_its_limit_goes_on(host, computing):
    with host.policy(computing, ONE, Limits(act_seconds=0.2, total_seconds=0.5)) as running:
        running.begin(0)
        stop([running.pid], 1.0)
        begun = time.monotonic()
        assert running.act(np.full(1, 0.05)).tolist() == [0.0]
    assert time.monotonic() - begun > 0.9


@linux
def test_a_policy_near_its_limit_passes_on_a_busy_machine(host, computing):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        acts(host, computing, rows=[[0.3]], limits=Limits(act_seconds=0.6))
    finally:
        for process in busy:
            process.kill()
            process.wait()


@linux
@pytest.mark.parametrize(
    ("source", "line"),
    [
        (policy("while True: pass"), 3),
        (policy("sum(range(10**12))"), None),  # in C
        ("x = 0\nwhile True: x += 1\n", 2),
        (policy("return 0", ENDLESS), 3),
    ],
)
def test_an_endless_loop_ends_at_its_limit_with_its_line_unless_it_is_in_c(host, source, line):
    with pytest.raises(TimeLimit, match="it was at line" if line else "processor time") as caught:
        acts(host, source, limits=Limits(act_seconds=0.2, init_seconds=0.2))

    assert caught.value.line == line


@linux
def test_policies_that_act_at_the_same_time_have_each_their_own_time(host):
    looping = policy("while obs[0]: pass\nreturn 0")
    program = sandbox.Program(looping, ONE, Limits(act_seconds=0.3))
    policies = [host.open(program) for _ in range(3)]
    for running in policies:
        running.begin(0)
    begun = time.monotonic()
    actions, errors = sandbox.Together(policies).act(np.array([[1.0], [0.0], [1.0]]))

    assert [type(errors[row]) for row in sorted(errors)] == [TimeLimit, TimeLimit]
    assert sorted(errors) == [0, 2]
    assert actions[1].tolist() == [0.0]
    assert time.monotonic() - begun < 10
    policies[1].close()


def acts_for(running, seconds):
    """Let it act until its process has used so much processor time more."""
    until = running.channel.used + seconds
    while running.channel.used < until:
        running.act(np.full(1, 0.02))


@linux
def test_the_total_is_that_of_a_fresh_episode_and_of_those_that_keep_its_object(host, computing):
    with host.policy(computing, ONE, limits=Limits(total_seconds=0.4)) as running:
        for _ in range(2):
            running.begin(0)
            acts_for(running, 0.25)
        running.begin(0, fresh=False)
        with pytest.raises(TimeLimit, match=r"used up its 0\.4 s of processor time in all"):
            acts_for(running, 3.0)
    total = "used up its 0.2 s of processor time in all, last in making the policy object"
    with pytest.raises(TimeLimit, match=total):
        acts(host, policy("return 0", ENDLESS), limits=Limits(total_seconds=0.2))


@linux
def test_a_policy_that_is_stopped_for_good_is_ended_and_not_blamed(host):
    limits = Limits(act_seconds=0.03, wall_seconds=0.2)
    with host.policy(policy("return 0.0"), ONE, limits=limits) as running:
        running.begin(0)
        stop([running.pid])
        with pytest.raises(Disturbed, match="the process was stopped from outside"):
            running.act([0.0])
        with pytest.raises(Disturbed):
            running.act([0.0])


class Poll:
    """Nothing ever comes; each wait takes so many seconds more than asked."""

    def __init__(self, monkeypatch, more):
        self.now, self.more = 0.0, more
        monkeypatch.setattr("sandbox.host.process.time.monotonic", lambda: self.now)

    def poll(self, milliseconds):
        self.now += milliseconds / 1000 + self.more


def test_time_in_which_the_host_itself_was_stopped_does_not_count(monkeypatch):
    clock, poll = ProcessClock(os.getpid()), Poll(monkeypatch, 3600.0)
    with pytest.raises(Stalled):
        Patience(clock, np.inf, 60.0).wait(poll)

    assert poll.now > 30 * 3600
    assert clock.waited < 62


def test_a_clock_that_cannot_be_read_is_the_time_waited(monkeypatch):
    poll = Poll(monkeypatch, 0.0)
    monkeypatch.setattr("sandbox.host.process.sys.platform", "darwin")
    clock = ProcessClock(os.getpid())
    with pytest.raises(Exhausted):
        Patience(clock, 5.0, 60.0).wait(poll)

    assert poll.now == pytest.approx(5.0)
