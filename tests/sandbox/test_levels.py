"""What the sandbox says, and does, on machines that offer less."""

import json
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import asdict

import pytest

from sandbox import Host, detect
from sandbox.lockdown import kernel, seccomp

linux = pytest.mark.skipif(sys.platform != "linux", reason="these facilities are Linux's")

#: Makes a kernel that answers an error to one call, then runs what follows.
WITHOUT = """
import ctypes, os, struct, sys
from sandbox.lockdown import kernel, seccomp
number, error = int(sys.argv[1]), int(sys.argv[2])
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50000 + error), (6, 0, 0, 0x7fff0000)]
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
seccomp.install(b"".join(struct.pack("<HBBI", *line) for line in code))
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""
LANDLOCK, UNSHARE = ("444", "38"), ("272", "1")
DOCTOR = ("-m", "sandbox", "doctor", "--json")


def run_without(call, *command, before=()):
    """What is printed on a kernel that lacks a system call, and the exit code."""
    command = [*before, sys.executable, "-c", WITHOUT, *call, *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout, done.returncode


LESS = """
import numpy, sandbox
try:
    sandbox.Host(require="strict")
except sandbox.IsolationUnavailable as error:
    print(error.message)
with sandbox.Host() as host:
    interface = sandbox.Interface(1, None, sandbox.Discrete(2))
    with host.policy("class Policy:\\n  def act(self, o): return 1", interface) as policy:
        policy.begin(0)
        print(policy.act(numpy.zeros(1)))
"""


@linux
def test_a_kernel_without_landlock_is_reduced_and_says_why_and_strict_is_refused():
    text, code = run_without(LANDLOCK, *DOCTOR)
    record = json.loads(text)
    assert (code, record["level"]) == (1, "reduced")
    assert "Function not implemented" in record["protections"]["Landlock"]
    assert record["protections"]["seccomp"] == "on"

    refused, acted = run_without(LANDLOCK, "-c", LESS)[0].splitlines()
    assert "strict isolation is not available here (Landlock:" in refused
    assert acted == "[1.]"


@linux
def test_a_container_without_namespaces_is_still_strict():
    record = json.loads(run_without(UNSHARE, *DOCTOR)[0])

    assert record["level"] == "strict"
    assert "refused" in record["protections"]["own network namespace"]


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_an_ordinary_user_without_namespaces_is_as_strictly_isolated():
    # The one capability lets the user read an interpreter that is installed for root alone;
    # a new user namespace would take it away.
    user = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    user += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    record = json.loads(run_without(UNSHARE, *DOCTOR, before=user)[0])

    assert record["level"] == "strict"
    assert record["protections"]["own user id"] == "only root can change it"


def test_doctor_prints_every_protection_of_those_that_a_host_has():
    command = [sys.executable, "-m", "sandbox", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    record = asdict(detect())

    assert done.stdout.startswith(f"isolation: {record['level']}")
    assert all(name in done.stdout for name in record["protections"])
    assert json.loads(json.dumps(record)) == record
    with Host() as host:
        assert host.isolation == detect()
    with pytest.raises(ValueError, match="paranoid"):
        Host(require="paranoid")


@linux
def test_the_filter_is_a_whole_number_of_instructions_for_known_machines(monkeypatch):
    for machine in ("x86_64", "aarch64"):
        monkeypatch.setattr(seccomp.platform, "machine", lambda machine=machine: machine)
        program = seccomp.build(3, 4)
        steps = list(struct.iter_unpack("<HBBI", program))
        for index, (code, true, false, _) in enumerate(steps):
            if code & 7 == 5:
                assert index + 1 + max(true, false) < len(steps)
        ends = [value for code, _, _, value in steps if code == 6]
        assert (ends, steps[-len(ends)][0]) == ([0x80000000, 0x7FFF0000, 0x00050001], 6)
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "vax")
    assert seccomp.build(3, 4) is None
    with pytest.raises(OSError, match="seccomp filter"):
        kernel.prctl(kernel.PR_SET_SECCOMP, 7, what="seccomp filter")
