"""Limits are processor time of the policy's process: who else runs, and who is stopped, fails none.

Wall time ends only what neither computes nor answers.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import sandbox
from sandbox import Disturbed, Interface, Limits, TimeLimit
from sandbox.host.process import Exhausted, Patience, ProcessClock, Stalled

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads clocks and states of processes")
INTERFACE = Interface(1, None, sandbox.Box((1,)))
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


def acting(host, source, limits, seconds=0.0):
    """One act of a policy."""
    with host.policy(source, INTERFACE, limits=limits) as policy:
        policy.begin(0)
        return policy.act(np.full(1, seconds))


def stop(pids, seconds=None):
    """Stop processes, for so long or for good."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    if seconds is not None:
        threading.Timer(seconds, lambda: [os.kill(pid, signal.SIGCONT) for pid in pids]).start()


@linux
def test_a_policy_that_was_stopped_for_longer_than_its_limit_goes_on(host, computing):
    with host.policy(
        computing, INTERFACE, limits=Limits(act_seconds=0.2, total_seconds=0.5)
    ) as policy:
        policy.begin(0)
        stop([policy.pid], 1.0)
        begun = time.monotonic()
        assert policy.act(np.full(1, 0.05)).tolist() == [0.0]
    assert time.monotonic() - begun > 0.9


@linux
def test_a_policy_near_its_limit_passes_on_a_busy_machine(host, computing):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        acting(host, computing, Limits(act_seconds=0.6), 0.3)
    finally:
        for process in busy:
            process.kill()
            process.wait()


@linux
@pytest.mark.parametrize(("body", "line"), [("while True: pass", 3), ("sum(range(10**12))", None)])
def test_an_endless_loop_ends_at_its_limit_with_its_line_unless_it_is_in_c(host, body, line):
    source = f"class Policy:\n    def act(self, obs):\n        {body}\n"
    with pytest.raises(TimeLimit) as caught:
        acting(host, source, Limits(act_seconds=0.2))

    assert caught.value.line == line


@pytest.mark.parametrize(
    "source",
    [
        "x = 0\nwhile True: x += 1\n",
        "class Policy:\n    def __init__(self):\n        while True: pass\n"
        "    def act(self, obs): return 0\n",
    ],
)
def test_an_endless_loop_is_named_wherever_it_is(host, source):
    with pytest.raises(TimeLimit, match="it was at line") as caught:
        acting(host, source, Limits(init_seconds=0.2))

    assert "while True" in source.splitlines()[caught.value.line - 1]


@linux
def test_policies_that_act_at_the_same_time_have_each_their_own_time(host):
    source = (
        "class Policy:\n    def act(self, obs):\n        while obs[0]: pass\n        return 0\n"
    )
    program = sandbox.Program(source, INTERFACE, Limits(act_seconds=0.3))
    policies = [host.open(program) for _ in range(3)]
    for policy in policies:
        policy.begin(0)
    begun = time.monotonic()
    actions, errors = sandbox.Together(policies).act(np.array([[1.0], [0.0], [1.0]]))

    assert [type(errors[row]) for row in sorted(errors)] == [TimeLimit, TimeLimit]
    assert sorted(errors) == [0, 2]
    assert actions[1].tolist() == [0.0]
    assert time.monotonic() - begun < 10
    policies[1].close()


def acts_for(policy, seconds):
    """Let it act until its process has used so much processor time more."""
    until = policy.channel.used + seconds
    while policy.channel.used < until:
        policy.act(np.full(1, 0.02))


@linux
def test_the_total_is_that_of_a_fresh_episode_and_of_those_that_keep_its_object(host, computing):
    with host.policy(computing, INTERFACE, limits=Limits(total_seconds=0.5)) as policy:
        for _ in range(3):
            policy.begin(0)
            acts_for(policy, 0.3)
        policy.begin(0, fresh=False)
        with pytest.raises(TimeLimit, match=r"used up its 0\.5 s of processor time in all"):
            acts_for(policy, 3.0)


@linux
def test_the_total_counts_what_it_takes_to_begin(host):
    source = "class Policy:\n    def __init__(self):\n        while True: pass\n"
    source += "    def act(self, obs): return 0\n"
    total = "used up its 0.2 s of processor time in all, last in making the policy object"
    with (
        host.policy(source, INTERFACE, limits=Limits(total_seconds=0.2)) as policy,
        pytest.raises(TimeLimit, match=total),
    ):
        policy.begin(0)


@linux
def test_a_policy_that_is_stopped_for_good_is_ended_and_not_blamed(host):
    source = "class Policy:\n    def act(self, obs): return 0.0\n"
    limits = Limits(act_seconds=0.03, wall_seconds=0.2)
    with host.policy(source, INTERFACE, limits=limits) as policy:
        policy.begin(0)
        stop([policy.pid])
        with pytest.raises(Disturbed, match="the process was stopped from outside"):
            policy.act([0.0])
        with pytest.raises(Disturbed):
            policy.act([0.0])


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


HOST = """
import sandbox
limits = sandbox.Limits(act_seconds=0.05, wall_seconds=2.5)
with sandbox.Host() as host:
    interface = sandbox.Interface(1, None, sandbox.Box((1,)))
    source = "class Policy:\\n    def act(self, o): return 3"
    with host.policy(source, interface, limits=limits) as policy:
        policy.begin(0)
        print(host.parent_pid, flush=True)
        input()
        print(policy.act([0.0]), flush=True)
"""


@linux
@pytest.mark.slow
def test_a_host_and_a_policy_that_are_stopped_together_go_on():
    caller = subprocess.Popen(
        [sys.executable, "-c", HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    parent = int(caller.stdout.readline())
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    stop([int(p) for p in children])
    caller.stdin.write("\n")
    caller.stdin.flush()
    time.sleep(0.3)  # it waits for the policy
    stop([caller.pid], 4.0)
    time.sleep(4.1)
    stop([int(p) for p in children], 0.0)
    assert caller.communicate()[0] == "[3.]\n"
