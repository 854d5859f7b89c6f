"""The sandbox's own processes die, stop or talk nonsense: no program is blamed for it."""

import json
import os
import resource
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from acting import ONE, acts, policy

import sandbox
from sandbox import Disturbed, ProcessDied, SandboxFailed
from sandbox.host import process as processes
from sandbox.host import warm_parent
from sandbox.isolation import REQUIRED

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
GOOD = policy("return obs")


def speaking(monkeypatch, script):
    """Warm parents run this script from now on; ``s`` is their control socket."""
    script = f"import socket, sys\ns = socket.socket(fileno=int(sys.argv[1]))\n{script}"
    monkeypatch.setattr(warm_parent, "_BOOT", script.replace("{", "{{").replace("}", "}}"))


@pytest.fixture
def lone(monkeypatch):
    """A host whose warm parent has reported a full set of protections and died."""
    report = json.dumps({"isolation": dict.fromkeys(REQUIRED, "on")})
    speaking(monkeypatch, f"s.sendall({report!r}.encode() + b'\\n')")
    with sandbox.Host("strict") as running:
        yield running


def works(host):
    """Whether a program runs."""
    return acts(host, GOOD, rows=[[3.0]]) == [[3.0]]


def test_a_warm_parent_that_dies_is_replaced(host):
    before = host.parent_pid
    os.kill(before, signal.SIGKILL)
    assert works(host)
    assert host.parent_pid != before


def test_a_warm_parent_that_is_stopped_is_ended_and_replaced(host, monkeypatch):
    before = host.parent_pid
    os.kill(before, signal.SIGSTOP)
    with monkeypatch.context() as patched, pytest.raises(SandboxFailed, match="not answered"):
        patched.setattr(warm_parent, "_ANSWER_SECONDS", 0.2)
        host._parents[()].spawn(sandbox.Limits(), strict=False)
    assert not Path(f"/proc/{before}").exists()
    assert works(host)


def test_warm_parents_that_all_die_are_the_sandbox_s_fault(lone):
    with pytest.raises(SandboxFailed, match=r"warm parent is gone \(tried 2 times\)$"):
        works(lone)


def test_isolation_that_has_become_weaker_is_not_accepted(lone, monkeypatch):
    speaking(monkeypatch, """s.sendall(b'{"isolation": {}}\\n')""")
    with pytest.raises(sandbox.IsolationUnavailable, match=r"weaker .* process group: not rep"):
        works(lone)


NONSENSE = {
    "a flood": "while True: s.sendall(b'x' * 4096)",
    "no JSON": "s.sendall(b'{\\n')",
    "a list": "s.sendall(b'[]\\n')",
    "a failure": 's.sendall(b\'{"error": "out of processes"}\\n\')',
    "pieces for ever": "import time\nwhile True: s.sendall(b' '); time.sleep(0.02)",
}


@pytest.mark.parametrize("name", NONSENSE)
def test_what_a_warm_parent_says_is_bounded_in_time_and_size(monkeypatch, name):
    speaking(monkeypatch, NONSENSE[name])
    if name.startswith("pieces"):
        monkeypatch.setattr(warm_parent, "_ANSWER_SECONDS", 0.3)
    with pytest.raises(SandboxFailed, match=r"warm parent (is gone|failed|has not|does not)"):
        warm_parent.WarmParent()


def test_an_interrupted_question_does_not_leave_its_answer_to_the_next(host, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(warm_parent.WarmParent, "_reply", interrupted)
        works(host)
    assert works(host)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, 40])
def test_a_process_that_is_killed_from_outside_is_told_as_that(host, number):
    with host.policy(GOOD, ONE) as running:
        running.begin(0)
        os.kill(running.pid, number)
        # The first process of a namespace of its own ignores all signals but SIGKILL.
        ignored = host.isolation.protections.get("own process ids") == "on"
        if ignored and number != signal.SIGKILL:
            running.act(np.zeros(1))
            return
        with pytest.raises(Disturbed, match="killed from outside") as caught:
            running.act(np.zeros(1))
    assert ("memory" in caught.value.message) is (number == signal.SIGKILL)


def test_a_crash_is_the_program_s():
    assert isinstance(processes.exit_error(-signal.SIGSEGV, "act()"), ProcessDied)


def open_in(pid):
    return sorted(int(fd.name) for fd in Path(f"/proc/{pid}/fd").iterdir())


@contextmanager
def files_open(most):
    """At most so many files may be open; those in the list are closed in the end."""
    limits, taken = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    try:
        yield taken
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into such a process")
def test_a_process_has_its_two_pipes_and_nothing_else():
    """However high the number of the control socket is in the process that makes the host."""
    many = 4200
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < many + 100:
        pytest.skip("so many files cannot be opened here")
    with files_open(many + 100) as taken:
        taken += [os.dup(0) for _ in range(many - len(open_in("self")))]
        with sandbox.Host() as host, host.policy(GOOD, ONE) as running:
            assert open_in(running.pid) == [3, 4]
            assert max(open_in(host.parent_pid)) < 20


def test_what_the_host_is_given_is_not_passed_on(host):
    before = open_in("self")
    with host.policy(GOOD, ONE):
        new = [fd for fd in open_in("self") if fd not in before]
        new = [fd for fd in new if Path(f"/proc/self/fd/{fd}").exists()]
        assert len(new) >= 2
        assert not any(map(os.get_inheritable, new))


def test_a_host_with_too_many_open_files_says_so(host):
    with files_open(max(open_in("self")) + 1) as taken:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        with pytest.raises(SandboxFailed, match="too many files are open"):
            host._parents[()].spawn(sandbox.Limits(), strict=False)
