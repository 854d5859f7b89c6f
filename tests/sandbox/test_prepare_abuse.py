"""Programs whose ``prepare`` misbehaves, and processes that forge what it returned."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_process import RawProcesses
from restricted import programs
from speaking import LIMITS as FEW
from speaking import forger, written
from test_prepare import COLUMNS, EPISODES, GOOD_POLICY, INTERFACE, recording, run

import sandbox
from sandbox import CompileError, Limits, PolicyError, Program, ProgramError, ProtocolError
from sandbox.frames import Kind, header
from sandbox.host.policy import Preparing
from sandbox.prepared import LIMIT

ABUSE = programs("prepare_abuse")
PACKED = sandbox.pack({"A": np.eye(3) * 2, "v": np.array([3.0, 1.0, 2.0]), "n": 4})
SMALL = Limits(prepare_seconds=0.2, init_seconds=2, memory_mb=128)


def marked(titles, slow):
    return [pytest.param(t, marks=pytest.mark.slow) if t in slow else t for t in titles]


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


@pytest.fixture(scope="module")
def recorded():
    with recording(EPISODES, COLUMNS) as file:
        yield file


@pytest.mark.parametrize("what", ["observations", "rewards", "episodes[1].observations"])
def test_nobody_else_sees_what_is_written_to_data(host, recorded, what):
    body = f"""def prepare(data):
    import numpy as np
    v = data.{what}
    tries = [
        lambda: np.copyto(v, 0), lambda: v.sort(axis=0), lambda: np.add(v, 1, out=v),
        lambda: setattr(v.flags, "writeable", True), lambda: v.fill(0), lambda: v.base.fill(0),
        lambda: np.asarray(v.base).fill(0), lambda: setattr(data, "rewards", v),
        lambda: setattr(data.episodes[0], "rewards", v), lambda: setattr(data, "new", v),
        lambda: data.episodes.append(v), lambda: data.columns.update(x=1),
        lambda: data.__init__(None, None, None), lambda: v[:1].fill(0),
        lambda: v.view(np.int64).fill(0), lambda: v.reshape(-1).fill(0),
    ]
    for attempt in tries:
        try:
            attempt()
        except Exception:
            pass
    return {{}}
"""
    before = sandbox.unpack(run(host, f"return {{'now': data.{what}}}", recorded).values)
    run(host, body, recorded)
    after = sandbox.unpack(run(host, f"return {{'now': data.{what}}}", recorded).values)

    assert np.array_equal(after["now"], before["now"])


# Time, memory, output.


LONG = {title for title in ABUSE if "timeout or" in title or "or timeout" in title}


@pytest.mark.parametrize("title", marked(ABUSE, LONG))
def test_what_misbehaves_is_the_fault_that_it_is(host, title):
    source = "import numpy as np\ndef prepare(data):\n"
    source += "".join(f"    {line}\n" for line in ABUSE[title].splitlines())
    with pytest.raises(ProgramError) as caught:
        run(host, source, limits=SMALL)

    assert caught.value.kind in title.partition(" | ")[2].split(" or ")
    assert len(caught.value.message) < 3000


def test_megabytes_of_output_are_cut_with_a_note(host):
    output = run(host, "for _ in range(10**4): print('x' * 1000)\n    return {}").output

    assert 4000 <= len(output) <= 4100
    assert "cut" in output


# The mapped file, by the process layer alone: ordinary Python with ctypes.

RAW = programs("raw_mapped")
ADDRESS = """
def address():
    import numpy as np
    return np.frombuffer(pages, np.uint8).__array_interface__["data"][0]
"""


@pytest.fixture(scope="module")
def mapped_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "data"
    path.write_bytes(bytes(range(256)) * 32)
    path.parent.chmod(0o755)
    raw = RawProcesses({"MAPPED": str(path)})
    yield raw, path
    raw.close()


@pytest.mark.skipif(
    sys.platform != "linux" or sandbox.detect().level != "strict", reason="needs strict isolation"
)
@pytest.mark.parametrize("title", RAW)
def test_a_locked_down_process_cannot_alter_the_file(mapped_file, title):
    raw, path = mapped_file

    result = raw.run(ADDRESS + RAW[title])

    assert not result["text"].startswith("returned True"), result
    assert path.read_bytes() == bytes(range(256)) * 32


def test_a_locked_down_process_can_read_the_file(mapped_file):
    raw, _ = mapped_file
    text = raw.run(ADDRESS + "def attack():\n    return pages[255], address() > 0")["text"]
    assert text == "returned (255, True)"


# From one ``prepare`` to another.

LEAVES = """
import numpy as np, random, decimal, typing, functools
count = []
def prepare(data):
    seen = [np.random.random(), random.random(), np.random.default_rng().random(), len(count)]
    seen += [float(str(np.float64(1 / 3))), float(decimal.Decimal(1) / 3), hash("x") % 1000]
    count.append(1)
    np.random.seed(5)
    random.seed(5)
    decimal.localcontext().__enter__().prec = 3
    np.errstate(all="raise").__enter__()
    np.printoptions(precision=2).__enter__()
    for attempt in (
        lambda: setattr(np, "left", 1), lambda: setattr(typing, "left", 1),
        lambda: setattr(np.mean, "left", 1), lambda: setattr(prepare, "left", 1),
        lambda: data.columns.update(left=1), lambda: count.append(2),
    ):
        try:
            attempt()
        except Exception:
            pass
    return {"seen": seen, "left": hasattr(np, "left") + hasattr(np.mean, "left")}
"""


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


# Forged replies.


PROGRAM = Program(GOOD_POLICY, INTERFACE, FEW, role="prepare")


class Begun(Preparing):
    """A session with whatever process, whose program is loaded already."""

    def __init__(self, channel):
        self.program, self.channel, self._output = PROGRAM, channel, ""


def forged(payload, kind=Kind.DATA, number=1, length=None):
    """What the host makes of such an answer to its request to prepare."""
    length = len(payload) if length is None else length
    return Begun(written(header(kind, number, length) + payload)).run()


def test_an_honest_reply_is_taken():
    assert forged(PACKED).values == PACKED


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_other_bytes_break_the_protocol(payload):
    with pytest.raises(ProtocolError):
        forged(payload)


@settings(deadline=None)
@given(st.integers(0, len(PACKED) - 1), st.integers(0, 255))
def test_altered_bytes_are_refused_or_plain_values(at, byte):
    altered = bytearray(PACKED)
    altered[at] = byte
    try:
        values = sandbox.unpack(forged(bytes(altered)).values)
    except ProtocolError:
        return
    assert len(values) == 3


@pytest.mark.parametrize(
    "options",
    [
        {"length": LIMIT + 1},
        {"length": 0xFFFFFFFF},
        {"number": 3},
        {"kind": Kind.TEXT},
        {"kind": Kind.DONE},
        {"kind": Kind.FAULT},
        {"kind": Kind.READY},
    ],
    ids=str,
)
def test_a_frame_that_is_no_answer_breaks_the_protocol(options):
    with pytest.raises(ProtocolError):
        forged(PACKED, **options)


def test_a_reply_that_is_cut_off_is_a_death():
    with pytest.raises(sandbox.SandboxError):
        forged(PACKED[:100], length=len(PACKED))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("say(22, b'x' * 1000)", ProtocolError),
        ("say(22, b'', 1 << 31)", ProtocolError),
        ("fault(0, b'refused')", CompileError),
        ("fault(1, b'\\x1b[2J' * 4000, b'\\x07' * 4000)", PolicyError),
        ("os.write(W, bytes(3))", sandbox.SandboxError),
        ("os._exit(0)", sandbox.ProcessDied),
    ],
)
def test_a_hostile_process_ends_in_an_error(answer, error):
    channel, _ = forger(f"ask(); say(22); ask(); {answer}")
    with pytest.raises(error) as caught:
        Preparing(PROGRAM, channel).run()

    text = caught.value.message + getattr(caught.value, "output", "")
    assert all(c.isprintable() or c in "\n\t" for c in text)
