"""No process, descriptor or file outlives its use."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from acting import ONE, acts, policy

import sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
GOOD = policy("return obs")
KINDS = (GOOD, "import os", "1 / 0", policy("return 1 / 0"))
CANDIDATES = int(os.environ.get("SANDBOX_CANDIDATES", "60"))


def descriptors(pid="self"):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def children(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def heap(pid):
    """Kilobytes of memory that the process has allocated.

    Not its private pages: those of libraries are private or shared as other processes come and go.
    """
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(x.split()[1]) for x in text.splitlines() if x.startswith("Anonymous:"))


def evaluated(host, candidates):
    """What is held after so many of them."""
    parent = host.parent_pid
    for n in range(candidates):
        try:
            acts(host, KINDS[n % len(KINDS)])
        except sandbox.ProgramError:
            continue
    time.sleep(0.2)
    return descriptors(), descriptors(parent), heap(parent)


def test_many_candidates_leak_nothing():
    with sandbox.Host() as host:
        *before, memory = evaluated(host, 12)
        *after, now = evaluated(host, CANDIDATES)

        assert after == before
        assert now - memory < 1000
        left = children(host.parent_pid)
        assert len(left) <= 1, "more than the last one, which nobody has needed to reap"


def test_closing_a_host_ends_everything(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = descriptors()
    host = sandbox.Host()
    policies = [host.policy(GOOD, ONE) for _ in range(3)]
    pids = [host.parent_pid, *children(host.parent_pid)]
    host.close()
    host.close()

    assert len(pids) >= 4
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    for made in policies:
        made.close()
    assert descriptors() == before
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(sandbox.SandboxError, match="closed"):
        host.policy(GOOD, ONE)


def all_end(pids):
    """Whether all of these processes end, or are zombies, within ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        states = [Path(f"/proc/{pid}/stat") for pid in pids if Path(f"/proc/{pid}").exists()]
        try:
            if all(") Z" in state.read_text() for state in states):
                return True
        except OSError:
            continue
        time.sleep(0.02)
    return False


BUSY = """
import sandbox
from acting import ONE, policy
host = sandbox.Host()
running = host.policy(policy("return 0", "def __init__(self):\\n    while True: pass"), ONE)
print(host.parent_pid, flush=True)
running.begin(0)
"""


def test_a_killed_host_takes_its_processes_along():
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", BUSY]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
    parent = int(process.stdout.readline())
    pids = [parent, *children(parent)]
    time.sleep(0.2)
    process.kill()
    process.communicate()

    assert len(pids) >= 2
    assert all_end(pids)


def test_a_killed_parent_takes_its_children_along_and_no_program_is_blamed():
    with sandbox.Host() as host, host.policy(GOOD, ONE) as running:
        running.begin(0)
        pids = children(host.parent_pid)
        os.kill(host.parent_pid, 9)

        assert pids
        assert all_end(pids)
        for _ in range(2):
            with pytest.raises(sandbox.SandboxFailed, match="warm parent is gone"):
                running.act(np.zeros(1))
