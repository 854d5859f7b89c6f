"""Attacks on the process layer alone: ordinary Python, ctypes included, that is locked down."""

import os
import socket
import sys
from pathlib import Path

import pytest
from raw_process import RawProcesses
from restricted import programs

from sandbox import detect

ATTACKS = programs("raw")
TRACE = Path("/tmp/sandbox-escape")  # noqa: S108 - where the attacks try to write
CANARY = "only-the-host-knows-this"
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or detect().level != "strict", reason="needs strict isolation"
)


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """What an attack might reach: a file, a listening port, the environment, the parent."""
    victim = tmp_path_factory.mktemp("outside") / "victim"
    victim.write_text("untouched")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        names = {"VICTIM": str(victim), "PORT": server.getsockname()[1]}
        raw = RawProcesses(names)
        yield raw, victim, server
        raw.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_locked_down_process_has_no_effect_outside(outside, name):
    raw, victim, server = outside

    result = raw.run(ATTACKS[name])

    assert not result["text"].startswith("returned True"), result
    assert "root:" not in result["text"]
    assert not TRACE.exists()
    assert not TRACE.is_symlink()
    assert victim.read_text() == "untouched"
    assert victim.stat().st_mode & 0o777 == 0o644
    with pytest.raises(BlockingIOError):
        server.accept()


def test_each_attack_is_refused_or_ends_the_process(outside):
    raw, _, _ = outside

    results = {name: raw.run(source) for name, source in ATTACKS.items()}

    odd = {
        name: result
        for name, result in results.items()
        if result["status"] == 0 and not result["text"].startswith(("raised", "returned False"))
    }
    assert odd == {}


def test_no_process_is_left_behind(outside):
    raw, _, _ = outside
    for name in ("fork", "fork bomb", "outlive the parent", "new session"):
        raw.run(ATTACKS[name])

    children = Path(f"/proc/{raw.pid}/task/{raw.pid}/children").read_text().split()

    assert children == []
    assert os.path.exists(f"/proc/{raw.pid}")  # noqa: PTH110 - as said


def test_computing_still_works(outside):
    raw, _, _ = outside

    result = raw.run("def attack():\n    return sorted(bytearray(10 ** 7))[-1] + sum(range(100))")

    assert (result["status"], result["text"]) == (0, "returned 4950")
