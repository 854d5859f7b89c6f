import asyncio
import contextlib
import os
import subprocess
import sys

import psutil
import pytest

from promptpo.rollout import LocalExecutor, Settings
from promptpo.rollout.cores import available_cores

CORES = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="needs Linux and two cores")

CLAIM = """
import os, sys
from promptpo.rollout.cores import claim_core
os.sched_setaffinity(0, {int(core) for core in sys.argv[2].split(",")})
core = claim_core(sys.argv[1])
if len(sys.argv) > 3:
    import psutil, sandbox
    source = "class Policy:\\n    def act(self, obs):\\n        return 1\\n"
    host = sandbox.Host()
    policy = host.policy(source, sandbox.Interface(1, None, sandbox.Discrete(2)))
    children = psutil.Process().children(recursive=True)  # the warm parent and the policy's process
    print(len(children), *{tuple(process.cpu_affinity()) for process in children}, flush=True)
print(core, *sorted(os.sched_getaffinity(0)), flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def claim(names, cores, *more):
    """A process that claims one of ``cores``; its core, then those that it is kept to."""
    command = [sys.executable, "-c", CLAIM, f"{names}-{os.getpid()}", ",".join(map(str, cores))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, *more], **pipes) as process:
        try:
            yield process, process.stdout.readline().split()
        finally:
            process.kill()


def test_a_core_belongs_to_one_worker_and_its_policies_until_that_is_killed():
    core = CORES[0]
    with claim("one", [core], "with a policy") as (first, (count, *affinities)):
        assert int(count) >= 2
        assert affinities == [f"({core},)"]
        assert first.stdout.readline().split() == [str(core), str(core)]
        with claim("one", [core]) as (_, second):
            assert second == ["None", str(core)]
        first.kill()
        first.wait()
        with claim("one", [core]) as (_, third):
            assert third == [str(core), str(core)]


def test_workers_spread_over_the_cores_and_what_is_left_over_keeps_to_none():
    pair = CORES[:2]
    with claim("two", pair) as (_, one), claim("two", pair) as (_, two), claim("two", pair) as last:
        assert [one[1:], two[1:]] == [[str(core)] for core in pair]
        assert last[1] == ["None", *map(str, pair)]


def test_with_fewer_workers_than_cores_all_cores_may_be_used():
    with contextlib.closing(LocalExecutor(Settings("cartpole"), workers=1)) as executor:
        asyncio.run(executor.describe())
        found = [p for p in psutil.Process().children() if "popen_loky" in " ".join(p.cmdline())]
        cores = os.sched_getaffinity(found[-1].pid)

    assert len(cores) == available_cores()
