"""Frames: what parses, what does not, and what becomes of a process that forges them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import CALLS, forger, policy_over, written

from sandbox import Box, Limits, ProcessDied, ProtocolError, TimeLimit
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
from sandbox.host import Together

ACTIONS = CALLS.to(Kind.ACT, 16)


@given(st.binary(max_size=64), st.integers(0, 2**40))
def test_any_bytes_are_a_header_or_a_frame_error(data, sequence):
    try:
        kind, length = parse_header(data, sequence)
    except FrameError:
        return
    assert data[:16] == header(kind, sequence, length)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_any_numbers_in_a_header_are_checked(kind, sequence, length):
    data = HEADER.pack(MAGIC, kind, sequence, length)
    try:
        got, size = parse_header(data, 7)
    except FrameError:
        return
    assert (sequence, got.value, size) == (7, kind, length)
    assert Kind(kind) > 16


@given(st.binary(max_size=200))
def test_any_bytes_are_a_fault_or_a_frame_error(data):
    try:
        fault = parse_fault(data)
    except FrameError:
        return
    assert fault.code < len(REPORTED)


@pytest.mark.slow
@given(
    st.integers(0, len(REPORTED) - 1),
    st.integers(-1, 2**31 - 1),
    st.text(max_size=100),
    st.text(max_size=100),
)
def test_a_fault_survives_the_way(code, number, message, output):
    fault = parse_fault(pack_fault(Fault(code, number, message, output)))

    expected = clean(message.encode("utf-8", "replace"))
    assert (fault.message, fault.line, fault.code) == (expected, number, code)


@given(st.binary(max_size=200))
def test_text_from_the_sandbox_has_no_control_characters(data):
    assert all(c.isprintable() or c in "\n\t" for c in clean(data))


FORGERIES = {
    "noise": "os.write(W, os.urandom(4096))",
    "a short frame": "os.write(W, struct.pack('<IIII', MAGIC, 18, 1, 8) + b'x' * 8)",
    "a long frame": "os.write(W, struct.pack('<IIII', MAGIC, 18, 1, 24) + b'x' * 24)",
    "a huge length": "os.write(W, struct.pack('<IIII', MAGIC, 18, 1, 2**32 - 1))",
    "a huge text": "os.write(W, struct.pack('<IIII', MAGIC, 20, 1, 2**31) + b'x' * 60000)",
    "more than it said": "os.write(W, struct.pack('<IIII', MAGIC, 18, 1, 16) + b'x' * 17)",
    "two replies": "os.write(W, (struct.pack('<IIII', MAGIC, 18, 1, 16) + b'x' * 16) * 2)",
    "another number": "os.write(W, struct.pack('<IIII', MAGIC, 18, 2, 16) + b'x' * 16)",
    "another kind": "os.write(W, struct.pack('<IIII', MAGIC, 17, 1, 16) + b'x' * 16)",
    "a request": "os.write(W, struct.pack('<IIII', MAGIC, 3, 1, 16) + b'x' * 16)",
    "a longer reply in parts": "os.write(W, struct.pack('<IIII', MAGIC, 18, 1, 16) + b'x' * 9)\n"
    "time.sleep(0.02); os.write(W, b'x' * 8)",
    "code": "os.write(W, struct.pack('<IIII', MAGIC, 22, 1, 16) + b'x' * 16)",
    "a broken fault": "os.write(W, struct.pack('<IIII', MAGIC, 20, 1, 24) + b'\\xff' * 24)",
}


def ask(channel, seconds=10.0):
    """The numbers of a reply, read as any reply is."""
    return bytes(channel.request(Kind.ACT, b"", replace(ACTIONS, seconds=seconds)))


def ask_in_place(channel, seconds=10.0):
    """The same, read as the replies of policies are."""
    actions, errors = Together([policy_over(channel, Box((2,)), seconds)]).act(np.zeros((1, 1)))
    for error in errors.values():
        raise error
    return actions.tobytes()


WAYS = pytest.mark.parametrize("ask", [ask, ask_in_place])


@WAYS
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_frame_ends_the_process(name, ask):
    channel, process = forger(FORGERIES[name] + "\ntime.sleep(60)")

    with pytest.raises(ProtocolError):
        ask(channel)

    assert process.poll() is not None
    assert not channel.alive


@WAYS
def test_a_reply_may_come_in_pieces(ask):
    parts = "struct.pack('<II', MAGIC, 18)", "struct.pack('<II', 1, 16) + b'abc'", "b'd' * 13"
    channel, _ = forger("".join(f"os.write(W, {part})\ntime.sleep(0.02)\n" for part in parts))

    assert ask(channel) == b"abc" + b"d" * 13


@WAYS
def test_half_a_frame_is_late(ask):
    channel, process = forger("os.write(W, struct.pack('<IIII', MAGIC, 18, 1, 16))\ntime.sleep(60)")

    with pytest.raises(TimeLimit, match=r"act\(\) did not return for long"):
        ask(channel, 0.02)

    assert process.poll() is not None


def test_a_process_that_does_not_read_is_late():
    channel, _ = forger("time.sleep(60)")

    with pytest.raises(TimeLimit):
        channel.request(Kind.ACT, bytes(10**7), replace(ACTIONS, seconds=0.02))


def test_the_time_of_all_calls_together_is_limited():
    script = (
        "for n in range(1, 100):\n"
        "    os.read(R, 4096)\n    while time.process_time() < n / 10: pass\n"
        "    os.write(W, struct.pack('<IIII', MAGIC, 17, n, 0))\n"
    )
    channel, _ = forger(script, Limits(total_seconds=0.5, wall_seconds=10))

    with pytest.raises(TimeLimit, match=r"used up its 0\.5 s of processor time in all"):
        for _ in range(100):
            channel.request(Kind.BEGIN, b"", CALLS.to(Kind.BEGIN))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("os._exit(3)", "ended in act"),
        ("os.kill(os.getpid(), 11)", "SIGSEGV"),
        ("os.kill(os.getpid(), 31)", "system call that is not allowed"),
    ],
)
@WAYS
def test_the_death_of_a_process_is_told(script, words, ask):
    channel, _ = forger(script)

    with pytest.raises(ProcessDied, match=words):
        ask(channel)

    with pytest.raises(ProcessDied, match="already"):
        ask(channel)


@WAYS
@settings(max_examples=25, deadline=None)
@given(data=st.binary(min_size=1, max_size=300))
def test_any_bytes_from_a_process_are_a_fault(ask, data):
    channel = written(data)
    with pytest.raises((ProtocolError, ProcessDied, *REPORTED)):
        ask(channel)
    assert not channel.alive
