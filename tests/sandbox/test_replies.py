"""What the host believes of a process: in each state only what can be, and no text uncapped."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import CALLS, LIMITS, forged_policy, forged_program, forger, written

import sandbox
from sandbox import (
    BadAction,
    Box,
    CompileError,
    Discrete,
    Episode,
    IsolationUnavailable,
    Limits,
    MultiDiscrete,
    ProcessDied,
    ProgramError,
    ProtocolError,
    TimeLimit,
)
from sandbox.errors import REPORTED
from sandbox.frames import Fault, Kind, clean, header, pack_fault, possible_faults
from sandbox.host import Summarizer
from sandbox.host.replies import READY, Calls
from sandbox.host.together import bad_rows
from sandbox.inside.faults import fault_payload
from sandbox.isolation import NOT_STRICT

REQUESTS = [kind for kind in Kind if kind < 16]
CALL = {
    kind: replace(CALLS.to(kind, 16 if kind == Kind.ACT else 0), what="it", seconds=10.0)
    for kind in REQUESTS
}
STATES = pytest.mark.parametrize("request_kind", REQUESTS, ids=lambda kind: kind.name)


def answered(kind, reply, body, length=None, end=True):
    """What the host makes of such a reply to a request."""
    data = header(reply, 1, len(body) if length is None else length) + body
    return written(data, end=end).request(kind, b"", CALL[kind])


@STATES
def test_each_state_has_its_faults_and_its_lengths(request_kind):
    for code, fault in enumerate(REPORTED):
        possible = fault in possible_faults(request_kind)
        with pytest.raises(fault if possible else ProtocolError) as caught:
            answered(request_kind, Kind.FAULT, pack_fault(Fault(code, -1, "what", "")))
        assert (caught.value.message == "what") is possible
    for kind in Kind:
        with pytest.raises(ProtocolError):
            answered(request_kind, kind, b"", 10**6, end=False)


def test_a_refusal_is_believed_only_of_a_program_whose_text_is_being_executed():
    refuse = [kind for kind in REQUESTS if CompileError in possible_faults(kind)]
    assert refuse == [Kind.START, Kind.BEGIN, Kind.PREPARE]
    body = fault_payload(CompileError("the program must define `class Policy`"), Kind.ACT, "")
    with pytest.raises(sandbox.PolicyError, match="must define"):
        answered(Kind.ACT, Kind.FAULT, body)


FAULTS = st.builds(Fault, st.integers(0, 6), st.integers(-2, 9), *[st.text(max_size=20)] * 2)


@STATES
@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from([*Kind, 0, 255]),
    payload=st.binary(max_size=60) | FAULTS.map(pack_fault),
    more=st.sampled_from([-1, 0, 0, 1]),
)
def test_any_reply_is_an_answer_or_a_fault_that_can_be(request_kind, kind, payload, more):
    answer, told = CALL[request_kind], max(0, len(payload) + more)
    try:
        body = bytes(answered(request_kind, kind, payload, told))
    except (ProtocolError, ProcessDied):
        return
    except ProgramError as error:
        assert type(error) in possible_faults(request_kind)
        assert error.line in (None, 1, 2)
        return
    assert (kind, body) == (answer.kind, payload[:told])
    assert answer.min_bytes <= len(body) <= answer.max_bytes


def test_only_a_process_without_a_program_is_believed_about_protections():
    with pytest.raises(IsolationUnavailable):
        forger(f"os._exit({NOT_STRICT})")[0].await_ready()
    for kind in REQUESTS:
        channel, _ = forger(f"ask(); os._exit({NOT_STRICT})")
        with pytest.raises(ProcessDied):
            channel.request(kind, b"", CALL[kind])


@pytest.mark.parametrize(
    "script",
    ["os._exit(1)", "say(DONE)", "say(21, b'more')", "fault(1, b'what')", "say(21, length=9)"],
)
def test_a_process_that_cannot_be_made_ready_is_the_sandbox_s_fault(script):
    channel, process = forger(script + "\ntime.sleep(60)")
    with pytest.raises(sandbox.SandboxFailed, match="could not make a process"):
        channel.await_ready()
    assert READY.max_bytes == 0
    assert process.poll() is not None


TRICKLE = """
def trickle(kind, length, pause):
    os.write(W, struct.pack("<IIII", MAGIC, kind, N, length))
    while True:
        os.write(W, b"x")
        time.sleep(pause) if pause else sum(range(100_000))
ask(); trickle(20, 30000, PAUSE)
"""


@STATES
def test_bytes_that_keep_coming_are_no_answer(request_kind):
    channel, process = forger(TRICKLE.replace("PAUSE", "0.03"))
    with pytest.raises(TimeLimit, match="it did not return for long"):
        channel.request(request_kind, b"", replace(CALL[request_kind], seconds=0.02))
    assert process.poll() is not None


def test_bytes_that_keep_coming_at_the_cost_of_processor_time_are_no_answer():
    channel, _ = forger(TRICKLE.replace("PAUSE", "0"), Limits())
    with pytest.raises(TimeLimit, match=r"within 0\.02 s of processor time"):
        channel.request(Kind.OUTPUT, b"", replace(CALL[Kind.OUTPUT], seconds=0.02))


def test_a_long_reply_to_a_long_request_is_taken_and_none_is_kept_before_it_is_written():
    size = 300_000
    channel, _ = forger(f"ask(); say(ACTIONS, b'y' * {size})")
    reply = channel.request(Kind.ACT, bytes(size), CALLS.to(Kind.ACT, size))
    assert reply == b"y" * size

    channel, process = forger("os.write(W, b'z' * 65536)\nask()\ntime.sleep(60)")
    with pytest.raises(ProtocolError, match="does not begin as one"):
        channel.request(Kind.ACT, bytes(10**6), CALL[Kind.ACT])
    assert process.poll() is not None


def act(script, space, limits=LIMITS):
    """One act of a policy whose process is raw and has printed nothing."""
    program = forged_program(action=space, limits=limits)
    made, _ = forged_policy(f"ask(); {script}; ask(); say(TEXT)", program)
    with made:
        return made.act(np.zeros(1))


@pytest.mark.parametrize(
    ("space", "numbers", "words"),
    [
        (Discrete(3), [3.0], "one integer from 0 to 2, not [3.0]"),
        (Discrete(3), [-1.0], "one integer from 0 to 2"),
        (Discrete(3), [0.5], "one integer from 0 to 2"),
        (Discrete(3), [5e-324], "one integer from 0 to 2"),
        (Discrete(3), [1.0000000000000002], "one integer from 0 to 2"),
        (Discrete(3), [float("nan")], "one integer from 0 to 2"),
        (Discrete(3), [float("-inf")], "one integer from 0 to 2"),
        (Discrete(3), [1e300], "one integer from 0 to 2"),
        (Discrete(2, start=-1), [1.0], "one integer from -1 to 0"),
        (MultiDiscrete((2, 3)), [0.0, 3.0], "2 integers within 0..1, 0..2"),
        (MultiDiscrete((2, 3), (5, -7)), [5.0, -7.5], "5..6, -7..-5"),
        (Box((2,)), [0.0, float("inf")], "must be finite"),
    ],
)
def test_actions_that_are_none_are_seen_by_the_host(space, numbers, words):
    with pytest.raises(BadAction) as caught:
        act(f"say(ACTIONS, {np.array(numbers).tobytes()!r})", space)

    assert words in caught.value.message
    assert caught.value.step == 0


@given(
    start=st.integers(-5, 5),
    n=st.integers(1, 6),
    number=st.floats() | st.integers(-20, 20).map(float) | st.just(-0.0),
)
def test_the_host_s_check_is_that_of_the_definition(start, n, number):
    for space in (Discrete(n, start), MultiDiscrete((9, n), (0, start))):
        actions = np.zeros((3, space.size))
        actions[:, -1] = start
        actions[1, -1] = number
        legal = number in range(start, start + n)
        assert list(bad_rows(space)(actions)) == ([] if legal else [1])


SMALL = Limits(output_chars=50, text_chars=60, wall_seconds=0.3)
CONTROL, CLEAN = "b'\\x1b[2J' * 150", clean(b"\x1b[2J" * 150)


def test_a_fault_has_texts_that_are_cut_and_cleaned_and_a_line_of_the_program():
    with pytest.raises(sandbox.PolicyError) as caught:
        act("fault(1, b'\\x1b]0;' * 8000, b'\\x07\\xff' * 180, line=77)", Discrete(2), SMALL)
    error = caught.value
    assert len(error.message) < 8100
    assert len(error.output) == 150
    assert all(c.isprintable() or c in "\n\t" for c in error.message + error.output)
    assert error.line is None


def test_what_was_printed_and_a_summary_are_cut_and_cleaned():
    made, _ = forged_policy(f"ask(); say(TEXT, {CONTROL})", forged_program(limits=SMALL))
    with made:
        assert made.output == CLEAN[:150]
    channel, _ = forger(f"ask(); say(DATA); ask(); say(TEXT, {CONTROL})", SMALL)
    episode = Episode(np.zeros((2, 1)), np.zeros((1, 1)), np.zeros(1), True, False, None)
    with Summarizer(forged_program(limits=SMALL, role="feedback"), channel) as made:
        assert made.summarize(episode) == CLEAN[:160]
    for size in (601, 10**6):  # more than could be printed
        text = f"ask(); say(TEXT, b'x' * {size})"
        made, process = forged_policy(text, forged_program(limits=SMALL))
        assert made.output == ""
        assert process.poll() is not None
        with pytest.raises(ProcessDied):
            made.act(np.zeros(1))


def test_the_longest_honest_texts_pass():
    calls = Calls("", SMALL)
    longest = "\U0001f600" * SMALL.text_chars + "\n[summary cut here: 123456789 more characters]"
    assert len(longest.encode()) <= calls.to(Kind.SUMMARIZE).max_bytes
    error = sandbox.PolicyError("\U0001f600" * 10**5)
    assert len(fault_payload(error, Kind.ACT, longest)) <= calls.to(Kind.ACT).max_fault_bytes
