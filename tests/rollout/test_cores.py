import asyncio
import contextlib
import os
import subprocess
import sys

import psutil
import pytest

from promptpo.rollout import LocalExecutor, Settings
from promptpo.rollout.cores import available_cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cores are claimed on Linux only")

CORES = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []

CLAIM = """
import os, sys
from promptpo.rollout.cores import claim_core
os.sched_setaffinity(0, {int(core) for core in sys.argv[2].split(",")})
print(claim_core(sys.argv[1]), *sorted(os.sched_getaffinity(0)), flush=True)
sys.stdin.read()
"""
POLICY_PROCESS = """
import sys
import psutil
import sandbox
from promptpo.rollout.cores import claim_core
core = claim_core(sys.argv[1])
source = "class Policy:\\n    def act(self, obs):\\n        return 1\\n"
interface = sandbox.Interface(1, None, sandbox.Discrete(2))
with sandbox.Host() as host, host.policy(source, interface):
    of_policies = psutil.Process().children(recursive=True)
    print(core, {tuple(process.cpu_affinity()) for process in of_policies}, len(of_policies))
"""


def claimants(test):
    """A name that no other claim bears."""
    return f"test-{test}-{os.getpid()}"


@contextlib.contextmanager
def claim(names, cores):
    """A process that claims one of ``cores``; its core, then those that it is kept to."""
    with subprocess.Popen(
        [sys.executable, "-c", CLAIM, names, ",".join(map(str, cores))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process, process.stdout.readline().split()
        finally:
            process.kill()


def test_a_core_belongs_to_one_worker_until_that_is_killed():
    names, core = claimants("one"), CORES[0]
    with claim(names, [core]) as (first, claimed):
        assert claimed == [str(core), str(core)]
        with claim(names, [core]) as (_, second):
            assert second == ["None", str(core)]
        first.kill()
        first.wait()
        with claim(names, [core]) as (_, third):
            assert third == [str(core), str(core)]


@pytest.mark.skipif(len(CORES) < 2, reason="there is one core")
def test_workers_spread_over_the_cores_and_what_is_left_over_keeps_to_none():
    names, pair = claimants("two"), CORES[:2]
    with (
        claim(names, pair) as (_, first),
        claim(names, pair) as (_, second),
        claim(names, pair) as (_, third),
    ):
        assert [first[1:], second[1:]] == [[str(core)] for core in pair]
        assert third == ["None", *map(str, pair)]


def test_the_policy_process_is_on_the_core_of_its_worker():
    shown = subprocess.run(
        [sys.executable, "-c", POLICY_PROCESS, claimants("policy")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split(maxsplit=1)

    assert shown[0] == str(CORES[0])
    assert shown[1].startswith(f"{{({CORES[0]},)}} ")
    assert int(shown[1].split()[-1]) >= 2  # the warm parent and the policy's process


@pytest.mark.skipif(len(CORES) < 2, reason="there is one core")
def test_with_fewer_workers_than_cores_all_cores_may_be_used():
    with contextlib.closing(LocalExecutor(Settings("cartpole"), workers=1)) as executor:
        asyncio.run(executor.describe())
        found = [p for p in psutil.Process().children() if "popen_loky" in " ".join(p.cmdline())]
        cores = os.sched_getaffinity(found[-1].pid)

    assert len(cores) == available_cores()
