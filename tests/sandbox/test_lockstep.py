"""Episodes of one program in one process: as in processes of their own, where it is honest."""

import os
import struct
from dataclasses import replace

import numpy as np
import pytest
from acting import ONE, policy
from hypothesis import event, given, settings
from hypothesis import strategies as st
from speaking import LIMITS, Abandoned, Nobody, forged_program, forger
from test_policies import POLICIES, STEPS, interface_of, observations

from sandbox import (
    BadAction,
    Box,
    Discrete,
    Interface,
    Limits,
    Lockstep,
    MemoryLimit,
    Place,
    PolicyError,
    ProcessDied,
    Program,
    ProgramError,
    ProtocolError,
    TimeLimit,
    Together,
)
from sandbox.frames import Fault, Kind, header, pack_fault
from sandbox.host.lockstep import keeps_lockstep

#: Does one of several things, as the observation says.
FAILS = policy("""self.phase = what = int(obs[0])
if what == -1:
    1 / 0
if what == -2:
    return np.nan
if what == -4:
    return "left"
if what == -3:
    try:
        while True:
            pass
    except BaseException:
        return 0
while what == -6:
    try:
        while True:
            pass
    except BaseException:
        pass
if what == -5:
    raise MemoryError
return 10 * obs[0]
""").replace("class Policy:", "class Policy:\n    TRACE = ('phase',)")
FAULTS = {-1: PolicyError, -2: BadAction, -3: TimeLimit, -4: BadAction}
ENDS = {-5: MemoryLimit, -6: TimeLimit}


@pytest.fixture
def lockstep(host):
    with host.lockstep(Program(FAILS, ONE, Limits(act_seconds=0.3)), 3) as running:
        for seat in running.seats:
            seat.begin(0, traced=True)
        yield running


@pytest.mark.parametrize("what", FAULTS)
def test_where_one_fails_the_others_go_on(host, lockstep, what):
    act = lockstep.together(lockstep.seats)
    first, _ = act([[1], [2], [3]])
    actions, errors = act([[4], [what], [5]])

    assert first.ravel().tolist() == [10.0, 20.0, 30.0]  # as it was
    assert actions[[0, 2], 0].tolist() == [40.0, 50.0]
    with host.policy(FAILS, ONE) as alone:
        alone.begin(0)
        alone.act([2])
        with pytest.raises(FAULTS[what]) as caught:
            alone.act([what])
    (error,) = errors.values()
    assert [*errors] == [1]
    assert (type(error), error.message) == (FAULTS[what], caught.value.message)
    assert (error.line, error.step) == (caught.value.line, caught.value.step)

    left = lockstep.seats[::2]
    actions, errors = lockstep.together(left)([[6], [7]])
    assert (actions.ravel().tolist(), errors) == ([60.0, 70.0], {})
    assert [seat.acts for seat in lockstep.seats] == [3, 1, 3]
    assert left[1].trace() == {"phase": (3, 5, 7)}
    lockstep.seats[1].begin(1)  # and another takes the seat
    actions, _ = lockstep.together(lockstep.seats)([[8], [9], [1]])
    assert actions.ravel().tolist() == [80.0, 90.0, 10.0]


@pytest.mark.parametrize("what", ENDS)
def test_where_the_process_ends_all_are_over(lockstep, what):
    with pytest.raises(ENDS[what]):
        lockstep.together(lockstep.seats)([[1], [what], [1]])
    assert not lockstep.alive
    with pytest.raises(ProgramError):
        lockstep.seats[0].begin(0)


def test_each_has_the_time_of_an_act_and_of_a_whole_episode(host):
    busy = policy("for i in range(int(obs[0])): pass\nreturn 0")
    with host.policy(busy, ONE) as alone:
        alone.begin(0)
        before = alone.channel.used
        alone.act([10**6])
        takes = alone.channel.used - before
    limits = Limits(act_seconds=3 * takes, total_seconds=6 * takes)
    with host.lockstep(Program(busy, ONE, limits), 8) as running:
        for seat in running.seats:
            seat.begin(0)
        act = running.together(running.seats)
        for _ in range(3):
            assert act(np.full((8, 1), 10.0**6))[1] == {}


def test_policies_act_as_in_processes_of_their_own(host):
    played = 0
    for title, source in POLICIES.items():
        interface, kind = interface_of(title)
        program = Program(source, interface, Limits(init_seconds=60))
        if not keeps_lockstep(program):
            assert host.lockstep(program, 3) is None
            continue
        table = observations(kind, interface.observation_size)
        singles = [host.open(program) for _ in table]
        with host.lockstep(program, len(table)) as running:
            for number, pair in enumerate(zip(singles, running.seats, strict=True)):
                for seat in pair:
                    seat.begin(number)
            one, other = Together(singles).act, running.together(running.seats)
            for step in range(STEPS):
                expected, got = one(table[:, step])[0], other(table[:, step])[0]
                np.testing.assert_array_equal(got, expected, err_msg=title)
        for single in singles:
            single.close()
        played += 1
    assert played > 40


def test_constants_are_each_episodes_own(host):
    program = Program(
        "GAIN = 1.0\n" + policy("return GAIN * obs[0]"), ONE, places=[Place(1, 7, 1, 10)]
    )
    with host.lockstep(program, 3) as running:
        for number, seat in enumerate(running.seats):
            seat.begin(0, constants=[number])
        actions, _ = running.together(running.seats)(np.ones((3, 1)))
    assert actions.ravel().tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ("return np.random.rand()", {}),
        ("import random\nreturn 0", {}),
        ("import time\nreturn 0", {}),
        ("from time import monotonic\nreturn 0", {}),
        ("from scipy import linalg\nreturn 0", {}),
        ("print(obs)\nreturn 0", {}),
        ("return 0", {"extra_imports": ("colorsys",)}),
        ("return 0", {"role": "counting"}),
        ("return 0", {"interface": Interface(0, None, Box((1,)))}),
    ],
)
def test_what_episodes_would_share_is_not_played_so(body, options):
    assert keeps_lockstep(Program(policy("return 0"), ONE))
    assert not keeps_lockstep(replace(Program(policy(body), ONE), **options))


def report(code=1, line=1, message="why"):
    return pack_fault(Fault(code, line, message, ""))


NO_ACTION = "say(ACTIONS, struct.pack('<dd', 1.0, float('inf')))"
#: What a process answers when two of its seats act, when it is asked why one has no action, and
#: what comes of it.
ANSWERS = {
    "two actions": ("say(ACTIONS, struct.pack('<dd', 1.0, 2.0))", "", None),
    "a reason": (NO_ACTION, f"say(DATA, {report()!r})", PolicyError),
    "none": (NO_ACTION, "say(DATA)", BadAction),
    "an error": (NO_ACTION, "fault(1, b'no')", PolicyError),
    "a time limit": (NO_ACTION, f"say(DATA, {report(4)!r})", TimeLimit),
    "a refusal": (
        NO_ACTION,
        f"say(DATA, {report(0)!r})",
        ProtocolError,
    ),
    "garbage": (NO_ACTION, "say(DATA, b'x' * 40)", ProtocolError),
    "a long one": (NO_ACTION, "say(DATA, b'x' * 10**6)", ProtocolError),
    "text": (NO_ACTION, "say(TEXT, b'x')", ProtocolError),
    "an end": (NO_ACTION, "os._exit(0)", ProcessDied),
    "silence": (NO_ACTION, "time.sleep(60)", TimeLimit),
    "one action": ("say(ACTIONS, bytes(8))", "", ProtocolError),
    "three": ("say(ACTIONS, bytes(24))", "", ProtocolError),
    "bytes behind": (
        "os.write(W, struct.pack('<IIII', MAGIC, 18, N, 16) + bytes(17))",
        "",
        ProtocolError,
    ),
    "a fault": ("fault(1, b'what', line=1)", "", PolicyError),
}


def forged(script):
    """A process of two seats that does whatever it likes."""
    program = forged_program(limits=Limits(act_seconds=0.05, wall_seconds=0.5))
    channel, _ = forger(f"ask(); say(DATA)\n{script}\ntime.sleep(60)", program.limits)
    return Lockstep(program, channel, 2)


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_the_process_answers_comes_to_actions_or_errors_of_the_tree(name):
    first, second, error = ANSWERS[name]
    with forged(f"ask()\n{first}\nask()\n{second}") as running:
        act, errors = running.together(running.seats), {}
        try:
            actions, errors = act(np.zeros((2, 1)))
        except ProgramError as end:
            assert type(end) is error
            assert not running.alive
        else:
            assert actions[0, 0] == 1.0
            assert [type(e) for e in errors.values()] == ([] if error is None else [error])
            assert [*errors] == ([] if error is None else [1])


@settings(max_examples=150, deadline=None)
@given(
    reply=st.one_of(
        st.binary(max_size=60),
        st.one_of(st.binary(min_size=16, max_size=16), st.just(struct.pack("<dd", 2.0, 0.0))).map(
            lambda x: header(Kind.ACTIONS, 2, 16) + x
        ),
    ),
    space=st.sampled_from([Box((1,)), Discrete(3)]),
)
def test_any_bytes_are_actions_or_errors_of_the_tree(reply, space):
    (their_read, our_write), (our_read, their_write) = os.pipe(), os.pipe()
    os.write(their_write, header(Kind.DATA, 1, 0))
    channel = Abandoned(Nobody(), (our_read, our_write), LIMITS)
    running = Lockstep(forged_program(action=space), channel, 2)
    os.write(their_write, reply)
    os.close(their_write)
    os.close(their_read)
    try:
        with running:
            actions, errors = running.together(running.seats)(np.zeros((2, 1)))
    except ProgramError:
        return
    numbers = np.array(struct.unpack("<dd", reply[16:]))
    event("actions")
    assert errors == {}
    assert actions.ravel().tolist() == numbers.tolist()
    assert (np.isfinite(numbers) if isinstance(space, Box) else np.isin(numbers, (0, 1, 2))).all()
