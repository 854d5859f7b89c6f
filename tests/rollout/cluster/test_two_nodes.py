"""A Ray cluster of two nodes on this machine: the results of local processes, whatever is killed.

Its nodes have a core each; ``Cluster`` starts and kills raylets as machines come and go.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest
from own_cartpole import own_cartpole
from scripted import BAD, FEEDBACK, GOOD, policy, replies

from promptpo.cli import main
from promptpo.errors import ClusterError, SpecError
from promptpo.rollout import LocalExecutor, PlayJob, Settings, evaluate
from promptpo.rollout import cluster as clusters
from promptpo.rollout.cluster import RAY_ENVIRONMENT, RayExecutor
from promptpo.rollout.jobs import InstancesJob, PrepareJob, SummaryJob

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NOISY = policy("return int(np.random.random() < 0.5)")
#: Keeps the pole up for all 500 steps, and computes for seconds: its sleep would take no time.
SLOW = GOOD.replace("        lean", "        sum(range(60_000))\n        lean", 1)
SEEDS = tuple(range(12))


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one core."""
    os.environ.update(RAY_ENVIRONMENT)
    from ray.cluster_utils import Cluster

    for left in (2, 1, 0):  # a node that needs more than 15 s is given up (ray-project/ray#65983)
        made = Cluster()
        try:
            made.add_node(include_dashboard=False, **NODE)
            made.add_node(**NODE)
            break
        except Exception:
            made.shutdown()
            if not left:
                raise
    try:
        yield made
    finally:
        made.shutdown()


NODE = {"num_cpus": 1, "object_store_memory": 100 << 20}


def on_cluster(cluster, spec="cartpole", **how):
    """An executor on all cores of the cluster."""
    settings = Settings(spec, sandbox="strict", **how)
    return contextlib.closing(RayExecutor(settings, address=cluster.address))


def locally(spec="cartpole", **how):
    return contextlib.closing(LocalExecutor(Settings(spec, sandbox="strict", **how), 1))


async def everything(executor, data):
    """What comes of one job of most kinds, and what it costs."""
    played = await evaluate(executor, NOISY, "search", range(23), keep=(3, 21))
    episodes = played[1]
    failed, _ = await evaluate(executor, policy("return 7"), "search", (1, 2, 3))
    constants = tuple((n / 10,) for n in range(12))
    leaning = policy("return int(obs.pole_angle > 0.5 - 0.5)")
    row = leaning.splitlines().index("        return int(obs.pole_angle > 0.5 - 0.5)") + 1
    column = leaning.splitlines()[row - 1].index("0.5")
    place = (row, column, row, column + 3, False)
    instances = await executor.run(InstancesJob(leaning, (place,), constants, (1, 2), bar=20.0))
    told = await executor.run(SummaryJob(FEEDBACK, episodes))
    learned = await executor.run(PrepareJob(LEARNS, str(data), 20.0))
    return played[0], [e.observations.tobytes() for e in episodes], failed, instances, told, learned


LEARNS = """
import numpy as np
def prepare(data):
    return {"size": float(len(data))}
class Policy:
    def __init__(self, prepared):
        self.size = prepared["size"]
    def act(self, obs):
        return 0
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file of recorded episodes as ``prepare`` reads it."""
    import sandbox

    file = tmp_path_factory.mktemp("data") / "round_1"
    with file.open("wb") as out:
        sandbox.write_recorded(out, [], {}, 10)
    return file


@pytest.fixture
def own(tmp_path):
    """A spec with a helper and a file beside it that are nowhere else, and its folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    text = own_cartpole()
    head, mark, rest = text.partition("from promptpo.spec import")
    assert mark
    (folder / "mine.py").write_text(f"{head}import helper_of_mine\n{mark}{rest}")
    (folder / "helper_of_mine.py").write_text(
        "from pathlib import Path\n"
        "WORD = Path(__file__).with_name('word.txt').read_text()\n"
        "assert WORD == 'as it was'\n"
    )
    (folder / "word.txt").write_text("as it was")
    return folder


def test_a_spec_of_ones_own_travels_by_content_and_brings_the_same_results(cluster, own, data):
    spec = str(own / "mine.py")
    with locally(spec) as executor:
        described = asyncio.run(executor.describe())
        expected = asyncio.run(everything(executor, data))
    with on_cluster(cluster, spec) as executor:
        shutil.rmtree(own)  # from here on it is only where it has been sent
        assert asyncio.run(executor.describe()) == described
        found = asyncio.run(everything(executor, data))
        assert executor.about | {"nodes": 2, "workers": 2} == executor.about
    for here, there in zip(expected, found, strict=True):
        if isinstance(here, type(expected[-1])):  # seconds of processor time differ
            assert (here.values, here.error) == (there.values, there.error)
        else:
            assert here == there


def test_what_is_wrong_with_a_spec_is_said_of_the_authors_file(cluster, own):
    spec = own / "mine.py"
    spec.write_text(spec.read_text().replace("import helper_of_mine", "import absent_there"))
    with on_cluster(cluster, str(spec)) as executor, pytest.raises(SpecError) as caught:
        asyncio.run(executor.describe())
    assert str(caught.value).startswith("node ")
    assert f"{spec}:" in str(caught.value)
    assert "absent_there" in str(caught.value)


def test_a_node_of_another_version_is_named_with_the_remedy(cluster, monkeypatch):
    wanted = {**clusters.likeness(), "promptpo": "9.9.9"}
    monkeypatch.setattr(clusters, "likeness", lambda: wanted)
    with on_cluster(cluster) as executor, pytest.raises(ClusterError) as caught:
        asyncio.run(executor.describe())
    assert str(caught.value).startswith("node ")
    assert "pip install promptpo==9.9.9" in str(caught.value)


def test_no_cluster_at_an_address_is_one_line(tmp_path, capsys):
    arguments = ("cartpole", "--ray-address", "127.0.0.1:1", "--out", str(tmp_path))
    assert main([*arguments, "--model", "recorded"]) == 9
    assert "--ray-address 127.0.0.1:1" in capsys.readouterr().err


def below(cluster, name):
    """Processes of the cluster's nodes whose command line holds a name."""
    found = []
    for node in cluster.list_all_nodes():
        raylet = node.all_processes["raylet"][0].process.pid
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(raylet).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if name in " ".join(process.cmdline()):
                        found.append(process.pid)
    return found


SEAT, WORKER = "ray::answer", "popen_loky"


async def disturbed(executor, *blows):
    """A long job in the middle of which something happens, and happens again."""
    job = asyncio.ensure_future(executor.run(PlayJob(SLOW, SEEDS)))
    for blow in blows:
        await asyncio.sleep(0.5)
        while not blow():  # nothing to strike yet
            await asyncio.sleep(0.1)
            assert not job.done()
    return await job


@pytest.fixture(scope="module")
def undisturbed():
    with locally() as executor:
        return asyncio.run(executor.run(PlayJob(SLOW, SEEDS)))


def test_whatever_is_lost_nothing_is_lost_or_counted_twice(cluster, undisturbed):
    """Policies, a worker, a seat; then a node, and another joins."""
    with on_cluster(cluster) as executor:
        asyncio.run(executor.describe())

        def kill(name):
            found = below(cluster, name)
            for pid in found[:1]:
                os.kill(pid, signal.SIGKILL)
            return found

        def kill_policies():
            struck = False
            for worker in below(cluster, WORKER):
                under = psutil.Process(worker).children(recursive=True)
                policies = [p for p in under if p.ppid() != worker]  # the warm parent's children
                policies.sort(key=lambda p: sum(p.cpu_times()[:2]))
                for policy in policies[-1:]:  # the one that plays
                    policy.kill()
                    struck = True
            return struck

        def lose():
            node = next(n for n in cluster.list_all_nodes() if not n.head)
            os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)
            cluster.remove_node(node, allow_graceful=False)
            return True

        def join():
            return cluster.add_node(**NODE)

        blows = (kill_policies, lambda: kill(WORKER), lambda: kill(SEAT), lose, join)
        found = asyncio.run(disturbed(executor, *blows))
        assert found.error is None
        assert found == undisturbed
        deadline = time.monotonic() + 60
        while executor.about["nodes"] != 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert executor.about["nodes"] == 2
        found = asyncio.run(executor.run(PlayJob(SLOW, SEEDS[:2])))
        assert found.results == undisturbed.results[:2]


SMALL = (
    *("--spec", "cartpole", "--set", "policy_seed=7"),
    *("--rounds", "1", "--candidates", "2", "--episodes", "3", "--set", "probe=0"),
    *("--test-episodes", "3", "--selection-episodes", "2"),
)


def events(folder):
    """What a run has found out, without times."""
    kept = []
    for line in (folder / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["type"] in ("candidate", "rollout", "feedback", "round", "finished"):
            kept.append({k: v for k, v in event.items() if k not in ("time", "seconds")})
    return sorted(json.dumps(event, sort_keys=True) for event in kept)


def folder_in(out):
    return next((f for f in out.glob("cartpole/*") if not f.name.startswith(".")), None)


def test_a_driver_that_is_killed_leaves_nothing_and_its_run_is_resumed(cluster, tmp_path):
    small = (*SMALL, "--model", replies([GOOD, BAD]).write(tmp_path / "replies.jsonl"))
    assert main([*small, "--workers", "1", "--out", str(tmp_path / "local")]) == 0
    address = ("--ray-address", cluster.address)
    command = [sys.executable, "-m", "promptpo", *small, *address, "--out", str(tmp_path / "ray")]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not ((folder := folder_in(tmp_path / "ray")) and events(folder)):
        assert driver.poll() is None, driver.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    driver.kill()
    driver.communicate()
    deadline = time.monotonic() + 30
    while (left := below(cluster, SEAT) + below(cluster, WORKER)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
    assert main(["--resume", str(folder)]) == 0
    assert events(folder) == events(folder_in(tmp_path / "local"))
    assert json.loads((folder / "run.json").read_text())["executor"]["name"] == "ray"
