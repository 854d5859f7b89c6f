"""No process, descriptor or file outlives its use."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
INTERFACE = sandbox.Interface(1, None, sandbox.Box((1,)))
GOOD = "class Policy:\n    def act(self, obs): return obs"
KINDS = (GOOD, "import os", "1 / 0", GOOD.replace("obs): return obs", "obs): return 1 / 0"))
CANDIDATES = int(os.environ.get("SANDBOX_CANDIDATES", "60"))


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def heap(pid):
    """Kilobytes of memory that the process has allocated.

    Not its private pages: those of libraries are private or shared as other processes come and go.
    """
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(x.split()[1]) for x in text.splitlines() if x.startswith("Anonymous:"))


def evaluate(host, source):
    try:
        with host.policy(source, INTERFACE) as policy:
            policy.begin(0)
            policy.act(np.zeros(1))
    except sandbox.ProgramError:
        pass


def test_many_candidates_leak_nothing():
    with sandbox.Host() as host:
        parent = host.parent_pid
        for source in KINDS * 3:
            evaluate(host, source)
        time.sleep(0.2)
        before = descriptors(), len(list(Path(f"/proc/{parent}/fd").iterdir()))
        memory = heap(parent)
        for n in range(CANDIDATES):
            evaluate(host, KINDS[n % len(KINDS)])
        time.sleep(0.2)
        after = descriptors(), len(list(Path(f"/proc/{parent}/fd").iterdir()))

        assert after == before
        assert len(children(parent)) <= 1, "more than the last one, which nobody has needed to reap"
        assert heap(parent) - memory < 1000


def test_closing_a_host_ends_everything():
    before = descriptors()
    host = sandbox.Host()
    policies = [host.policy(GOOD, INTERFACE) for _ in range(3)]
    pids = [host.parent_pid, *map(int, children(host.parent_pid))]
    host.close()
    host.close()

    assert len(pids) >= 4
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    for policy in policies:
        policy.close()
    assert descriptors() == before
    with pytest.raises(sandbox.SandboxError, match="closed"):
        host.policy(GOOD, INTERFACE)


def test_a_killed_host_takes_its_processes_along():
    script = (
        "import sandbox, sys, time\n"
        "i = sandbox.Interface(1, None, sandbox.Box((1,)))\n"
        "host = sandbox.Host()\n"
        "busy = 'class Policy:\\n  def __init__(self):\\n    while True: pass\\n'\n"
        "busy += '  def act(self, obs): return 0'\n"
        "policy = host.policy(busy, i)\n"
        "print(host.parent_pid, flush=True)\n"
        "policy.begin(0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    parent = int(process.stdout.readline())
    pids = [parent, *map(int, children(parent))]
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    deadline = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(pids) >= 2
    assert not any(map(is_running, pids))


def is_running(pid):
    """Whether the process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_killed_parent_takes_its_children_along_and_no_program_is_blamed():
    with sandbox.Host() as host:
        policy = host.policy(GOOD, INTERFACE)
        policy.begin(0)
        pids = list(map(int, children(host.parent_pid)))
        os.kill(host.parent_pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while any(map(is_running, pids)) and time.monotonic() < deadline:
            time.sleep(0.02)

        assert pids
        assert not any(map(is_running, pids))
        for _ in range(2):
            with pytest.raises(sandbox.SandboxFailed, match="warm parent is gone"):
                policy.act(np.zeros(1))


def test_no_empty_root_directory_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with sandbox.Host() as host:
        evaluate(host, GOOD)

    assert list(tmp_path.iterdir()) == []
