"""Frames: what parses, what does not, and what becomes of a process that forges them."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import CALLS, forged_policy, forged_program, forger, policy_over, written

from sandbox import (
    BadAction,
    Box,
    Discrete,
    Limits,
    PolicyError,
    ProcessDied,
    ProtocolError,
    SandboxError,
    TimeLimit,
    Together,
)
from sandbox.errors import REPORTED
from sandbox.frames import (
    HEADER,
    MAGIC,
    Fault,
    FrameError,
    Kind,
    clean,
    header,
    pack_fault,
    parse_fault,
    parse_header,
)

ACTIONS = CALLS.to(Kind.ACT, 8)


@given(st.binary(max_size=64), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_any_bytes_are_a_header_or_a_frame_error(data, kind, length):
    for made in (data, HEADER.pack(MAGIC, kind, 7, length), HEADER.pack(MAGIC, 18, kind, length)):
        try:
            got, size = parse_header(made, 7)
        except FrameError:
            continue
        assert made[:16] == header(got, 7, size)
        assert got > 16


@given(st.binary(max_size=200))
def test_any_bytes_are_a_fault_or_a_frame_error_and_text_has_no_control_characters(data):
    assert all(c.isprintable() or c in "\n\t" for c in clean(data))
    try:
        fault = parse_fault(data)
    except FrameError:
        return
    assert fault.code < len(REPORTED)


@pytest.mark.slow
@given(st.integers(0, len(REPORTED) - 1), st.integers(-1, 2**31 - 1), st.text(), st.text())
def test_a_fault_survives_the_way(code, number, message, output):
    fault = parse_fault(pack_fault(Fault(code, number, message, output)))

    expected = clean(message.encode("utf-8", "replace"))
    assert (fault.message, fault.line, fault.code) == (expected, number, code)


REPLY = "struct.pack('<IIIId', MAGIC, ACTIONS, N, 8, 7.0)"
PIECES = f"r = {REPLY}; os.write(W, r[:5]); time.sleep(.05); os.write(W, r[5:])"
#: What a process does when it is asked to act, and what comes of it; None: an action.
ANSWERS = {
    "an action": (f"os.write(W, {REPLY})", None),
    "two pieces": (PIECES, None),
    "byte by byte": (f"for i in range(24): os.write(W, {REPLY}[i:i + 1]); time.sleep(.005)", None),
    "late": (f"time.sleep(0.2); os.write(W, {REPLY})", None),
    "bytes behind": (f"os.write(W, {REPLY} + b'x')", ProtocolError),
    "bytes behind pieces": (PIECES.replace("r[5:])", "r[5:] + b'x')"), ProtocolError),
    "two replies": (f"os.write(W, {REPLY} * 2)", ProtocolError),
    "garbage": ("os.write(W, b'x' * 24)", ProtocolError),
    "noise": ("os.write(W, os.urandom(4096))", ProtocolError),
    "a flood": ("while True: os.write(W, b'x' * 65536)", ProtocolError),
    "an old number": ("N -= 1; say(ACTIONS, bytes(8))", ProtocolError),
    "a number to come": ("N += 1; say(ACTIONS, bytes(8))", ProtocolError),
    "too many numbers": ("say(ACTIONS, bytes(16))", ProtocolError),
    "too few bytes": ("say(ACTIONS, bytes(4))", ProtocolError),
    "no number": ("say(ACTIONS)", ProtocolError),
    "a huge length": ("say(ACTIONS, length=2**32 - 1)", ProtocolError),
    "a huge text": ("say(20, bytes(60000), length=2**31)", ProtocolError),
    "another kind": ("say(DATA, bytes(8))", ProtocolError),
    "a done": ("say(DONE, bytes(8))", ProtocolError),
    "a request": ("say(3, bytes(8))", ProtocolError),
    "infinity": ("say(ACTIONS, struct.pack('<d', float('inf')))", BadAction),
    "silence": ("time.sleep(60)", TimeLimit),
    "half a reply": ("say(ACTIONS, bytes(3), length=8)\ntime.sleep(60)", TimeLimit),
    "half a frame": ("say(ACTIONS, length=8)\ntime.sleep(60)", TimeLimit),
    "the end": ("os._exit(3)", ProcessDied),
    "an end in the middle": ("say(ACTIONS, bytes(3), length=8)\nos._exit(0)", ProcessDied),
    "a crash": ("os.kill(os.getpid(), 11)", ProcessDied),
    "a system call": ("os.kill(os.getpid(), 31)", ProcessDied),
    "closed pipes": ("os.close(R); os.close(W); time.sleep(60)", SandboxError),
    "a fault": ("fault(1, b'what', line=1)", PolicyError),
    "a fault of another kind": ("fault(0, b'what')", ProtocolError),
    "a broken fault": ("say(20, b'\\xff' * 24)", ProtocolError),
}
WORDS = {
    "the end": "ended in act",
    "a crash": "SIGSEGV",
    "a system call": "system call that is not allowed",
    "half a frame": r"act\(\) did not return for long",
}
GOOD = f"while True: ask(); os.write(W, {REPLY})"


@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_one_process_answers_the_others_are_right(name, monkeypatch):
    monkeypatch.setattr("sandbox.host.process._ENDING", 0.2)
    script, error = ANSWERS[name]
    program = forged_program(limits=Limits(act_seconds=0.05, wall_seconds=0.5))
    processes = [forged_policy(s, program) for s in (GOOD, f"ask()\n{script}", GOOD)]
    policies = [made for made, _ in processes]
    actions, errors = Together(policies).act(np.zeros((3, 1)))

    assert actions[[0, 2], 0].tolist() == [7.0, 7.0]
    assert [*errors] == ([] if error is None else [1])
    if error is None:
        assert actions[1, 0] == 7.0
    else:
        with pytest.raises(error, match=WORDS.get(name)):
            raise errors[1]
        assert not policies[1].alive
        assert processes[1][1].poll() is not None
        with pytest.raises(SandboxError):
            policies[1].act(np.zeros(1))
    for made in policies:
        made.close()


def test_a_process_that_does_not_read_is_late():
    channel, _ = forger("time.sleep(60)")

    with pytest.raises(TimeLimit):
        channel.request(Kind.ACT, bytes(10**7), replace(ACTIONS, seconds=0.02))


def test_the_time_of_all_calls_together_is_limited():
    script = "for n in range(1, 100):\n    ask()\n    while time.process_time() < n / 10: pass\n"
    channel, _ = forger(f"{script}    say(DONE)\n", Limits(total_seconds=0.5, wall_seconds=10))

    with pytest.raises(TimeLimit, match=r"used up its 0\.5 s of processor time in all"):
        for _ in range(100):
            channel.request(Kind.BEGIN, b"", CALLS.to(Kind.BEGIN))


FRAMES = st.one_of(
    st.binary(max_size=300),
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


def test_the_numbers_of_requests_tell_nothing_of_other_processes():
    says_number = "while True: ask(); say(ACTIONS, struct.pack('<d', N))"
    first, second = (forged_policy(says_number)[0] for _ in range(2))
    assert [first.act(np.zeros(1)).item() for _ in range(4)] == [3.0, 4.0, 5.0, 6.0]
    actions, _ = Together([second, first]).act(np.zeros((2, 1)))
    assert actions.ravel().tolist() == [3.0, 7.0]
    first.close()
    second.close()
