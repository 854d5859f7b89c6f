"""How fast policies are tuned: environment steps per second on all cores, against one bare loop.

    python benchmarks/tuning_throughput.py                        # HalfCheetah
    python benchmarks/tuning_throughput.py --spec cartpole --policy my_policy.py

A generation of constants is played as tuning plays it (``promptpo.rollout.jobs.InstancesJob``, a
worker and a sandboxed process on each core), and beside it, in turn, a bare loop on one core: the
environment made by the spec, stepped in this process with the same actions, which come for nothing.
The same loop on every core at once says what this machine's cores are worth together: those of
virtual machines are often halves of one. And with the policy's own ``act`` in it, in this process
and without a sandbox, it says what no tuner can go beyond. Each round gives ratios; shown are the
median and the quartiles of these.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from promptpo.policies.constants import Tunable, chosen
from promptpo.rollout import LocalExecutor, Settings
from promptpo.rollout.jobs import InstancesJob
from promptpo.spec import Task, load_spec, standalone_source

#: An oscillator for each joint, with PD tracking: 14 constants.
OSCILLATORS = """import numpy as np

class Policy:
    FREQUENCY = 3.0  # Hz
    GAIN, DAMPING = 2.0, 0.1
    AMPLITUDES = np.array([0.4, 0.3, 0.2, 0.4, 0.3, 0.2])
    PHASES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])

    def __init__(self):
        self.t = 0

    def act(self, obs):
        wave = np.sin(2 * np.pi * self.FREQUENCY * 0.05 * self.t + self.PHASES)
        self.t += 1
        wanted = self.AMPLITUDES * wave
        return self.GAIN * (wanted - obs.joint_angles) - self.DAMPING * obs.joint_velocities
"""


def bare(spec: str, episodes: int, source: str = "") -> float:
    """Steps per second of one environment in this process, with actions that are drawn already.

    With the ``source`` of a policy it chooses them, as plain Python.
    """
    task = Task.open(load_spec(spec))
    generator = np.random.default_rng(0)
    drawn, _ = task.decoded(generator.uniform(-1, 1, (task.horizon, task.action_size)))
    env: Any = task.env
    steps, took = 0, 0.0
    for seed in range(episodes):
        seen = task.reset(seed)
        policy = _plain(task, source) if source else None
        began = time.perf_counter()
        for action in drawn:
            if policy is None:
                _, _, terminated, truncated, _ = env.step(action)
            else:
                seen, _, terminated, truncated, _ = task.step(policy(seen))
            steps += 1
            if terminated or truncated:
                break
        took += time.perf_counter() - began
    task.close()
    return steps / took


def _plain(task: Task, source: str) -> Callable[[Any], Any]:
    """``act`` of a fresh policy for observations as they come, without a sandbox."""
    names: dict[str, Any] = {}
    for text in (standalone_source(task.spec.observation), source):
        exec(text, names)  # noqa: S102 - this benchmark's own policy, or a file that its user names
    policy, observation = names["Policy"](), names["Observation"]
    return lambda seen: np.asarray(policy.act(observation(seen)), np.float64)


def tuned(executor: LocalExecutor, found: Tunable, samples: int, round_: int) -> float:
    """Steps per second of a generation: ``samples`` vectors, two episodes each."""
    generator = np.random.default_rng(round_)
    vectors = tuple(
        tuple(
            c.clipped(c.value + 0.1 * float(generator.normal()) * (c.high - c.low))
            for c in found.constants
        )
        for _ in range(samples)
    )
    places = tuple(c.place for c in found.constants)
    job = InstancesJob(found.source, places, vectors, (2 * round_, 2 * round_ + 1))
    began = time.perf_counter()
    runs = asyncio.run(executor.run(job))
    took = time.perf_counter() - began
    failed = [run.error for run in runs if run.error]
    if failed:
        raise SystemExit(f"a sample failed: {failed[0]}")
    return sum(run.steps for run in runs) / took


def main() -> None:
    """Print the speeds, and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spec", default="mujoco_halfcheetah")
    parser.add_argument("--policy", type=Path, help="a policy's file (default: oscillators)")
    parser.add_argument("--samples", type=int, default=12, help="vectors of a generation")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    source = arguments.policy.read_text("utf-8") if arguments.policy else OSCILLATORS
    found = chosen(source, "either")
    cores = len(os.sched_getaffinity(0))
    rows = []
    executor = LocalExecutor(Settings(arguments.spec), cores)
    with contextlib.closing(executor), ProcessPoolExecutor(cores) as pool:
        tuned(executor, found, arguments.samples, 0)  # environments are opened
        for round_ in range(1, arguments.rounds + 1):
            one = bare(arguments.spec, 4)
            most = sum(pool.map(partial(bare, arguments.spec), [4] * cores))
            acting = sum(pool.map(partial(bare, arguments.spec, source=found.source), [4] * cores))
            all_ = tuned(executor, found, arguments.samples, round_)
            rows.append((one, most, all_, acting))
    all_cores = f"{cores} cores"
    labels = ("bare, one core", f"bare, {all_cores}", f"tuning, {all_cores}", f"plain, {all_cores}")
    for column, label in enumerate(labels):
        print(f"{label:22} {statistics.median(row[column] for row in rows):9,.0f} steps/s")
    told = (
        ("tuning, of one core", 2, 0),
        ("bare, of one core", 1, 0),
        ("plain, of one core", 3, 0),
        ("tuning, of bare", 2, 1),
        ("tuning, of plain", 2, 3),
    )
    for label, over, under in told:
        low, middle, high = statistics.quantiles([row[over] / row[under] for row in rows], n=4)
        print(f"{label:22} {middle:9.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
