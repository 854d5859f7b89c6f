"""Programs whose ``prepare`` misbehaves, and processes that forge what it returned."""

from pathlib import Path

import numpy as np
import pytest
from acting import indented
from restricted import programs
from speaking import LIMITS as FEW
from speaking import forger
from test_prepare import COLUMNS, EPISODES, GOOD_POLICY, INTERFACE, recording, run

import sandbox
from sandbox import CompileError, Limits, PolicyError, Program, ProgramError, ProtocolError
from sandbox.host.policy import Preparing

ABUSE = programs("prepare_abuse")
SMALL = Limits(prepare_seconds=0.2, init_seconds=2, memory_mb=128)


@pytest.fixture(scope="module")
def recorded():
    with recording(EPISODES, COLUMNS) as file:
        yield file


WRITES = programs("attempts")["writes to data"]


@pytest.mark.parametrize("what", ["observations", "rewards", "episodes[1].observations"])
def test_nobody_else_sees_what_is_written_to_data(host, recorded, what):
    def now():
        return sandbox.unpack(run(host, f"return {{'now': data.{what}}}", recorded).values)["now"]

    before = now()
    run(host, WRITES.replace("WHAT", what), recorded)

    assert np.array_equal(now(), before)


def cases():
    for title in ABUSE:
        slow = "timeout or" in title or "or timeout" in title
        yield pytest.param(title, marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize("title", list(cases()))
def test_what_misbehaves_is_the_fault_that_it_is(host, title):
    source = f"import numpy as np\ndef prepare(data):\n{indented(ABUSE[title], 4)}"
    with pytest.raises(ProgramError) as caught:
        run(host, source, limits=SMALL)

    assert caught.value.kind in title.partition(" | ")[2].split(" or ")
    assert len(caught.value.message) < 3000


def test_megabytes_of_output_are_cut_with_a_note(host):
    output = run(host, "for _ in range(10**4): print('x' * 1000)\nreturn {}").output

    assert 4000 <= len(output) <= 4100
    assert "cut" in output


LEAVES = programs("attempts")["leaves something behind for another prepare"]


def test_nothing_passes_from_one_prepare_to_another(host, recorded):
    first = [run(host, LEAVES, recorded).values for _ in range(3)]
    with sandbox.Host() as another:
        alone = run(another, LEAVES, recorded).values

    assert {*first} == {alone}


def test_no_descriptor_and_no_process_is_left_behind(host, recorded):
    def held():
        parent = Path(f"/proc/{host.parent_pid}")
        children = (parent / f"task/{host.parent_pid}/children").read_text().split()
        fds = (len(list(path.iterdir())) for path in (parent / "fd", Path("/proc/self/fd")))
        return *fds, len(children)

    run(host, "return {}", recorded)
    before = held()
    for n in range(6):
        try:
            run(host, "return {}" if n % 2 else "return 1 / 0", recorded)
        except PolicyError:
            continue
    assert held() == before


# Forged replies; those of any other kind are in test_replies.py, other bytes in test_prepared.py.

PACKED = sandbox.pack({"A": np.eye(3) * 2, "v": np.array([3.0, 1.0, 2.0]), "n": 4})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (f"say(22, {PACKED!r}); ask(); say(TEXT)", None),
        (f"say(22, {PACKED[:100]!r}, {len(PACKED)}); os._exit(0)", sandbox.ProcessDied),
        ("say(22, b'x' * 1000)", ProtocolError),
        ("fault(0, b'refused')", CompileError),
        ("fault(1, b'\\x1b[2J' * 4000, b'\\x07' * 4000)", PolicyError),
    ],
)
def test_a_reply_is_what_was_packed_or_an_error(answer, error):
    program = Program(GOOD_POLICY, INTERFACE, FEW, role="prepare")
    preparing = Preparing(program, forger(f"ask(); say(22); ask(); {answer}")[0])
    if error is None:
        assert preparing.run().values == PACKED
        return
    with pytest.raises(error) as caught:
        preparing.run()
    text = caught.value.message + getattr(caught.value, "output", "")
    assert all(c.isprintable() or c in "\n\t" for c in text)
