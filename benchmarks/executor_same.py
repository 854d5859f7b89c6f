"""Are results on a Ray cluster those of local processes, whatever is killed in the middle?

    python benchmarks/executor_same.py reach     10 rounds of 10 candidates on metaworld_reach
    python benchmarks/executor_same.py tune      100,000 steps of tuning on a twin of Hopper
    python benchmarks/executor_same.py smoke     the suite ``smoke``

Starts two Ray nodes of one core on this machine and runs the command there. Meanwhile, in turn and
again and again, SIGKILL ends a policy's process, a worker, a worker's actor, and a node's raylet,
whereupon another node joins; once it ends the driver, and the run is resumed. Then the same command
runs in local processes. What the two logs say must be equal but for times, line by line in an order
of their own, and so must the policies that were found.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from promptpo.rollout.cluster import RAY_ENVIRONMENT

HERE = Path(__file__).resolve().parent
NODE = {"num_cpus": 1, "object_store_memory": 200 << 20}
#: A run that has no other end than its rounds, asks no provider, and plays the same on any day.
ALIKE = ("--set", "policy_seed=7", "--test-episodes", "20", "--sandbox", "strict")
COMMANDS = {
    "reach": (
        *("run", "metaworld_reach", "--model", "builtin", "--rounds", "10", "--candidates", "10"),
        *("--patience", "0", "--set", "early_stop=false", *ALIKE),
    ),
    "tune": (
        *("tune", str(HERE.parent / "env_specs/_twins/policies/mujoco_hopper.py")),
        *("twin:mujoco_hopper", "--set", "constants=auto", "--steps", "100000", *ALIKE),
    ),
    "smoke": ("bench", "smoke.toml"),
}
#: Moments, and what a machine or a place changes: all else has to be equal.
TIMES = ("time", "seconds", "latency")
ABOUT = ("run", "resumed")
FOUND = re.compile(r"^Found by .*$", re.MULTILINE)  # when, and the run's folder


def known(folder: Path) -> dict[str, list[str]]:
    """What the logs below a folder say, by the run's place in it, and the policies' texts."""
    found = {}
    for log in sorted(folder.rglob("events.jsonl")):
        events = [json.loads(line) for line in log.read_text().splitlines()]
        lines = sorted(
            json.dumps({k: v for k, v in event.items() if k not in TIMES}, sort_keys=True)
            for event in events
            if event["type"] not in ABOUT
        )
        place = f"{log.parent.parent.relative_to(folder)} seed {events[0]['config']['seed']}"
        best = log.parent / "best" / "policy.py"
        text = best.read_text() if best.exists() else "no policy"
        found[place] = [*lines, FOUND.sub("", text)]
    return found


class Nodes:
    """Two nodes of one core, and what can happen to them."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster()
        for head in (True, False):
            self.cluster.add_node(**NODE, **({"include_dashboard": False} if head else {}))

    def below(self, name: str) -> list[psutil.Process]:
        """Processes of the nodes whose command line holds a name."""
        found = []
        for node in self.cluster.list_all_nodes():
            with contextlib.suppress(psutil.Error):
                raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
                for process in raylet.children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        if name in " ".join(process.cmdline()):
                            found.append(process)
        return found

    def policy(self) -> None:
        """Kill the process of a policy, below a worker's warm parent."""
        for worker in self.below("popen_loky"):
            playing = [p for p in worker.children(recursive=True) if p.ppid() != worker.pid]
            if playing:
                max(playing, key=lambda p: sum(p.cpu_times()[:2])).kill()
                return

    def worker(self) -> None:
        """Kill a process that has environments."""
        for found in self.below("popen_loky")[:1]:
            found.kill()

    def seat(self) -> None:
        """Kill a Ray actor."""
        for found in self.below("ray::Seat")[:1]:
            found.kill()

    def node(self) -> None:
        """Kill a raylet, and start another node."""
        lost = next(n for n in self.cluster.list_all_nodes() if not n.head)
        psutil.Process(lost.all_processes["raylet"][0].process.pid).kill()
        self.cluster.remove_node(lost, allow_graceful=False)
        self.cluster.add_node(**NODE)


def blows(nodes: Nodes) -> Iterator[tuple[str, Any]]:
    """What happens, in turn."""
    for name in itertools.cycle(("policy", "worker", "seat", "node")):
        yield name, getattr(nodes, name)


def disturbed(command: list[str], out: Path, nodes: Nodes, every: float) -> None:
    """Run a command to its end on nodes that things happen to, the driver among them."""
    told: dict[str, int] = {}
    happening = blows(nodes)
    driver = subprocess.Popen(command)  # noqa: S603 - our own program
    began = time.monotonic()
    while driver.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.wait(every)
            break
        if told.get("node") and not told.get("driver"):
            driver.kill()
            driver.wait()
            told["driver"] = 1
            driver = subprocess.Popen(again(command, out))  # noqa: S603 - our own program
            continue
        name, blow = next(happening)
        with contextlib.suppress(psutil.NoSuchProcess):
            blow()
        told[name] = told.get(name, 0) + 1
    if driver.returncode:
        sys.exit(f"the command on Ray ended with {driver.returncode}")
    print(f"on Ray: {time.monotonic() - began:.0f} s; killed: {told}", flush=True)


def again(command: list[str], out: Path) -> list[str]:
    """The command that goes on after a kill: a suite's own, else ``--resume``."""
    if "bench" in command:
        return command
    log = next(out.rglob("events.jsonl"))
    return [*command[:3], "--resume", str(log.parent)]


def main() -> int:
    """Run one of the three twice; 0 when the results are the same."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=COMMANDS)
    parser.add_argument("--every", type=float, default=8.0, help="seconds between blows")
    given = parser.parse_args()
    os.environ.update(RAY_ENVIRONMENT)
    base = [sys.executable, "-m", "promptpo", *COMMANDS[given.what]]
    with tempfile.TemporaryDirectory() as made:
        ray, local = Path(made, "ray"), Path(made, "local")
        if given.what == "smoke":
            base[-1] = str(Path(made, base[-1]))
            text = (HERE.parent / "promptpo/matrix/suites/smoke.toml").read_text()
            settings = "[settings]\npolicy-seed = 7"  # which each run draws for itself else
            Path(base[-1]).write_text(text.replace("[settings]", settings))
        nodes = Nodes()
        try:
            address = nodes.cluster.address
            disturbed([*base, "--out", str(ray), "--ray-address", address], ray, nodes, given.every)
        finally:
            nodes.cluster.shutdown()
        began = time.monotonic()
        subprocess.run([*base, "--out", str(local)], check=True)  # noqa: S603 - our own program
        print(f"locally: {time.monotonic() - began:.0f} s", flush=True)
        one, other = known(ray), known(local)
    differing = 0
    for place in sorted(one.keys() | other.keys()):
        pairs = itertools.zip_longest(one.get(place, []), other.get(place, []))
        for first, second in ((a, b) for a, b in pairs if a != b):
            print(f"different: {place}\n  on Ray:  {first}\n  locally: {second}")
            differing += 1
            break
    lines = sum(map(len, other.values()))
    print(f"{len(other)} runs, {lines} lines of log, {differing} runs differ")
    return 1 if differing or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
