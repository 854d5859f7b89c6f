"""What the sandbox says, and does, on machines that offer less."""

import json
import os
import shutil
import struct
import subprocess
import sys

import pytest

from sandbox import Host, IsolationUnavailable, detect
from sandbox.lockdown import kernel, seccomp

linux = pytest.mark.skipif(sys.platform != "linux", reason="these facilities are Linux's")

#: Makes a kernel that answers ENOSYS to one call, then runs what follows.
WITHOUT = """
import ctypes, os, struct, sys
from sandbox.lockdown import kernel, seccomp
number, error = int(sys.argv[1]), int(sys.argv[2])
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50000 + error), (6, 0, 0, 0x7fff0000)]
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
seccomp.install(b"".join(struct.pack("<HBBI", *line) for line in code))
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""


def doctor_without(call, error=38):
    """The doctor's record on a kernel that lacks a system call."""
    command = [sys.executable, "-c", WITHOUT, str(call), str(error)]
    command += ["-m", "sandbox", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, json.loads(done.stdout)


@linux
def test_a_kernel_without_landlock_is_reduced_and_says_why():
    code, record = doctor_without(444)

    assert (code, record["level"]) == (1, "reduced")
    assert "Function not implemented" in record["protections"]["Landlock"]
    assert record["protections"]["seccomp"] == "on"


@linux
def test_a_container_without_namespaces_is_still_strict():
    _, record = doctor_without(272, error=1)

    assert record["level"] == "strict"
    assert "refused" in record["protections"]["own network namespace"]


@linux
def test_strict_is_refused_with_one_line_where_something_is_missing():
    script = (
        "import sandbox\n"
        "try:\n    sandbox.Host(require='strict')\n"
        "except sandbox.IsolationUnavailable as error:\n    print(error.message)\n"
    )
    command = [sys.executable, "-c", WITHOUT, "444", "38", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.count("\n") == 1
    assert "strict isolation is not available here (Landlock:" in done.stdout


@linux
def test_a_reduced_host_still_runs_policies():
    script = (
        "import numpy, sandbox\n"
        "with sandbox.Host() as host:\n"
        "    i = sandbox.Interface(1, None, sandbox.Discrete(2))\n"
        "    with host.policy('class Policy:\\n  def act(self, o): return 1', i) as p:\n"
        "        p.begin(0)\n"
        "        print(p.act(numpy.zeros(1)))\n"
    )
    command = [sys.executable, "-c", WITHOUT, "444", "38", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.strip() == "[1.]"


def test_what_is_detected_is_what_a_host_has():
    with Host() as host:
        assert host.isolation == detect()


def test_the_record_is_json():
    record = detect().as_dict()

    assert json.loads(json.dumps(record)) == record
    assert record["level"] in ("strict", "reduced", "minimal")


def test_doctor_prints_every_protection():
    done = subprocess.run(
        [sys.executable, "-m", "sandbox", "doctor"], capture_output=True, text=True, check=False
    )

    assert done.stdout.startswith("isolation: ")
    assert "seccomp" in done.stdout
    assert "Landlock" in done.stdout


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_an_ordinary_user_without_namespaces_is_as_strictly_isolated():
    # The one capability lets the user read an interpreter that is installed for root alone;
    # a new user namespace would take it away.
    command = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    command += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    command += [sys.executable, "-c", WITHOUT, "272", "1", "-m", "sandbox", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    record = json.loads(done.stdout)

    assert record["level"] == "strict"
    assert record["protections"]["own user id"] == "only root can change it"


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


@linux
def test_failing_calls_tell_the_reason():
    with pytest.raises(OSError, match="seccomp filter"):
        kernel.prctl(kernel.PR_SET_SECCOMP, 7, what="seccomp filter")


def test_an_unknown_requirement_is_no_level():
    with pytest.raises((IsolationUnavailable, ValueError)):
        Host(require="paranoid")
