"""Processes of one program: one that fails leaves the others alone, one compiles for all."""

import contextlib
import marshal
import os
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import forged_policy, forged_program, forger, policy_over, written

import sandbox
from sandbox import (
    BadAction,
    Box,
    CompileError,
    Discrete,
    Disturbed,
    Interface,
    Limits,
    MemoryLimit,
    Policy,
    PolicyError,
    ProcessDied,
    Program,
    ProtocolError,
    SandboxError,
    TimeLimit,
    Together,
)
from sandbox.frames import HEADER, MAGIC, Kind

VECTOR = Interface(1, None, Box((1,)))
#: Does one of several things, as the observation says.
FAILS = """
class Policy:
    def act(self, obs):
        print("saw", obs[0])
        what = int(obs[0])
        if what == -1:
            1 / 0
        if what == -2:
            return np.nan
        while what == -3:
            pass
        if what == -4:
            return "left"
        if what == -5:
            raise MemoryError
        return 10 * obs[0]
"""
FAULTS = {-1: PolicyError, -2: BadAction, -3: TimeLimit, -4: BadAction, -5: MemoryLimit}


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


def opened(host, source, count, interface=VECTOR, **options):
    program = Program(source, interface, **options)
    policies = [host.open(program) for _ in range(count)]
    for policy in policies:
        policy.begin(0)
    return policies


@pytest.mark.parametrize("what", FAULTS)
def test_one_that_fails_leaves_the_others_alone(host, what):
    policies = opened(host, FAILS, 3, limits=Limits(act_seconds=0.3))
    together = Together(policies)
    together.act([[1], [2], [3]])
    actions, errors = together.act([[4], [what], [5]])

    assert actions[[0, 2], 0].tolist() == [40.0, 50.0]
    assert {row: type(error) for row, error in errors.items()} == {1: FAULTS[what]}
    assert (errors[1].step, errors[1].output) == (1, f"saw 2.0\nsaw {what:.1f}\n")
    assert [policy.acts for policy in policies] == [2, 1, 2]
    assert [policy.alive for policy in policies] == [True, False, True]

    actions, errors = together.act([[6], [7], [8]])
    assert actions[[0, 2], 0].tolist() == [60.0, 80.0]
    assert isinstance(errors[1], ProcessDied)
    assert [policy.acts for policy in policies] == [3, 1, 3]
    for policy in policies:
        policy.close()


def test_all_may_fail_each_in_its_way(host):
    policies = opened(host, FAILS, 5, limits=Limits(act_seconds=0.2))
    _, errors = Together(policies).act([[what] for what in FAULTS])

    assert [type(errors[row]) for row in range(5)] == list(FAULTS.values())


@pytest.mark.parametrize("seconds", [0.0, 0.15])
def test_one_that_was_killed_from_outside_is_disturbed(host, seconds):
    policies = opened(host, FAILS, 3)
    os.kill(policies[2].pid, signal.SIGKILL)
    time.sleep(seconds)  # after a while the host looks before it writes
    actions, errors = Together(policies).act([[1], [2], [3]])

    assert actions[:2, 0].tolist() == [10.0, 20.0]
    assert {row: type(error) for row, error in errors.items()} == {2: Disturbed}
    for policy in policies:
        policy.close()


def test_ragged_observations_go_each_to_its_own(host):
    source = "class Policy:\n    def act(self, obs):\n        return len(obs) + 1 / sum(obs)\n"
    policies = opened(host, source, 4, Interface(None, None, Box((1,))))
    rows = [np.ones(2), np.ones(0), np.ones(30_000), np.full(1, 0.5)]
    actions, errors = Together(policies).act(rows)

    assert actions[[0, 2, 3], 0].tolist() == [2.5, 30_000 + 1 / 30_000, 3.0]
    assert [*errors] == [1]
    for policy in policies:
        policy.close()


def test_actions_stay_as_they_were_when_the_next_are_asked_for(host):
    policies = opened(host, FAILS, 2)
    together = Together(policies)
    first, _ = together.act([[1], [2]])
    together.act([[3], [4]])

    assert first.ravel().tolist() == [10.0, 20.0]
    for policy in policies:
        policy.close()


REPLY = "struct.pack('<IIIId', MAGIC, ACTIONS, N, 8, 7.0)"
#: What a process does when it is asked to act, and what comes of it; None: an action.
RAW = {
    "an action": (f"os.write(W, {REPLY})", None),
    "two pieces": (f"r = {REPLY}; os.write(W, r[:5]); time.sleep(.05); os.write(W, r[5:])", None),
    "byte by byte": (f"for i in range(24): os.write(W, {REPLY}[i:i + 1]); time.sleep(.005)", None),
    "late": (f"time.sleep(0.2); os.write(W, {REPLY})", None),
    "bytes behind": (f"os.write(W, {REPLY} + b'x')", ProtocolError),
    "two replies": (f"os.write(W, {REPLY} * 2)", ProtocolError),
    "garbage": ("os.write(W, b'x' * 24)", ProtocolError),
    "a flood": ("while True: os.write(W, b'x' * 65536)", ProtocolError),
    "an old number": ("N -= 1; say(ACTIONS, bytes(8))", ProtocolError),
    "too many numbers": ("say(ACTIONS, bytes(16))", ProtocolError),
    "no number": ("say(ACTIONS)", ProtocolError),
    "another kind": ("say(DATA, bytes(8))", ProtocolError),
    "infinity": ("say(ACTIONS, struct.pack('<d', float('inf')))", BadAction),
    "silence": ("time.sleep(60)", TimeLimit),
    "half a reply": ("say(ACTIONS, bytes(3), length=8)\ntime.sleep(60)", TimeLimit),
    "the end": ("os._exit(0)", ProcessDied),
    "an end in the middle": ("say(ACTIONS, bytes(3), length=8)\nos._exit(0)", ProcessDied),
    "closed pipes": ("os.close(R); os.close(W); time.sleep(60)", SandboxError),
    "a fault": ("fault(1, b'what', line=1)", PolicyError),
    "a fault of another kind": ("fault(0, b'what')", ProtocolError),
}


@pytest.mark.parametrize("name", RAW)
def test_whatever_one_process_answers_the_others_are_right(name, monkeypatch):
    monkeypatch.setattr("sandbox.host.process._ENDING", 0.2)
    script, error = RAW[name]
    limits = Limits(act_seconds=0.05, wall_seconds=0.5)
    good = f"while True: ask(); os.write(W, {REPLY})"
    program = forged_program(limits=limits)
    policies = [forged_policy(s, program)[0] for s in (good, f"ask()\n{script}", good)]
    actions, errors = Together(policies).act(np.zeros((3, 1)))

    assert actions[[0, 2], 0].tolist() == [7.0, 7.0]
    assert [*errors] == ([] if error is None else [1])
    if error is None:
        assert actions[1, 0] == 7.0
    else:
        assert isinstance(errors[1], error)
        assert not policies[1].alive
    for policy in policies:
        policy.close()


FRAMES = st.one_of(
    st.binary(max_size=60),
    st.builds(
        lambda kind, number, length, body: HEADER.pack(MAGIC, kind, number, length) + body,
        st.sampled_from([int(kind) for kind in Kind]),
        st.integers(0, 3),
        st.sampled_from([0, 1, 8, 16, 2**31, 2**32 - 1]),
        st.one_of(st.binary(max_size=40), st.floats().map(lambda x: struct.pack("<d", x))),
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    replies=st.lists(FRAMES, min_size=2, max_size=4),
    space=st.sampled_from([Box((1,)), Discrete(3)]),
)
def test_any_bytes_in_any_rows_are_actions_or_errors_of_the_tree(replies, space):
    policies = [policy_over(written(data), space) for data in replies]
    actions, errors = Together(policies).act(np.zeros((len(replies), 1)))

    right = struct.pack("<IIII", MAGIC, Kind.ACTIONS, 1, 8)
    for row, data in enumerate(replies):
        if row in errors:
            assert isinstance(errors[row], SandboxError)
            assert not policies[row].alive
        else:
            assert data == right + actions[row].tobytes()
        policies[row].close()


# One compiles for all.

COUNTS = "class Policy:\n    N = 2.0\n    def act(self, obs):\n        return obs * self.N\n"


def test_a_program_is_compiled_by_its_first_process_alone(host):
    program = Program(COUNTS, VECTOR)
    assert program.code == b""
    for _ in range(3):
        with host.open(program) as policy:
            policy.begin(0)
            assert policy.act(np.ones(1)).tolist() == [2.0]
            code = program.code
    assert code == program.code != b""
    program.code = marshal.dumps((compile(COUNTS.replace("2.0", "3.0"), "p", "exec"), {}, ()))
    program._tasks.clear()
    with host.open(program) as policy:
        policy.begin(0)
        assert policy.act(np.ones(1)).tolist() == [3.0]


def test_a_source_that_is_refused_is_refused_each_time(host):
    program = Program("import os", VECTOR)
    for _ in range(2):
        with pytest.raises(CompileError, match="no files"):
            host.open(program)
    assert program.code == b""


@pytest.mark.parametrize("code", [b"x", b"\xff" * 999, marshal.dumps(3), marshal.dumps((1, 2, 3))])
def test_what_is_no_code_harms_only_processes_of_that_program(host, code):
    other = opened(host, COUNTS, 1)[0]
    program = Program(COUNTS, VECTOR)
    program.code = code
    with pytest.raises(SandboxError):
        policy = host.open(program)
        policy.begin(0)
        policy.act(np.ones(1))

    assert other.act(np.ones(1)).tolist() == [2.0]
    assert opened(host, COUNTS, 1)[0].act(np.ones(1)).tolist() == [2.0]


def test_code_that_a_process_returns_is_not_looked_into():
    program = forged_program()
    channel, _ = forger("ask(); say(DATA, b'x' * 1000); time.sleep(60)")
    Policy(program, channel).close()

    assert program.code == b"x" * 1000


def test_more_code_than_can_be_breaks_the_protocol():
    channel, process = forger("ask(); say(DATA, length=1 << 30); time.sleep(60)")
    with pytest.raises(ProtocolError):
        Policy(forged_program(), channel)

    assert process.poll() is not None


def test_what_is_slow_to_compile_costs_once(host):
    slow = "".join(f"def f{n}(x):\n    return [x + {n} for x in range(x)]\n" for n in range(3000))
    program = Program(slow + COUNTS, VECTOR)
    seconds = []
    for _ in range(2):
        began = time.monotonic()
        host.open(program).close()
        seconds.append(time.monotonic() - began)
    assert seconds[0] > 2 * seconds[1]


# What a process can tell of others.


def test_the_numbers_of_requests_tell_nothing_of_other_processes():
    says_number = "while True: ask(); say(ACTIONS, struct.pack('<d', N))"
    first, second = (forged_policy(says_number)[0] for _ in range(2))
    assert [first.act(np.zeros(1)).item() for _ in range(4)] == [3.0, 4.0, 5.0, 6.0]
    actions, _ = Together([second, first]).act(np.zeros((2, 1)))
    assert actions.ravel().tolist() == [3.0, 7.0]
    first.close()
    second.close()


ACTS = """
class Policy:
    def act(self, obs):
        return 10 * obs[0]
"""
#: Sends back what it is sent: the least that a process beside the host can do.
ECHO = "import os\nwhile data := os.read(0, 64): os.write(1, data)"
ROUNDS, STEPS = 5, 100


@pytest.fixture
def one_core():
    """Both sides of a hand-over belong on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    yield
    os.sched_setaffinity(0, cores)


def test_a_hand_over_costs_a_few_times_what_bare_pipes_do(one_core):
    command = [sys.executable, "-S", "-c", ECHO]
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    with contextlib.ExitStack() as stack:
        echoes = [stack.enter_context(subprocess.Popen(command, **options)) for _ in range(16)]
        policies = opened(stack.enter_context(sandbox.Host()), ACTS, 16)
        together, observations, message = Together(policies), np.zeros((16, 1)), bytes(24)

        def bare():
            for echo in echoes:
                echo.stdin.write(message)
            for echo in echoes:
                assert echo.stdout.read(24) == message

        ratios = []
        for _ in range(ROUNDS):
            times = []
            for hand_over in (bare, lambda: together.act(observations)):
                began = time.perf_counter()
                for _ in range(STEPS):
                    hand_over()
                times.append(time.perf_counter() - began)
            ratios.append(times[1] / times[0])
        for echo in echoes:
            echo.stdin.close()

    assert min(ratios) < 4, ratios  # 1.4 to 2.0; other work on the core only adds
