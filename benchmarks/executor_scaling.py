"""What Ray costs: the same jobs through a cluster and in local processes, on the same cores.

    python benchmarks/executor_scaling.py --rounds 3

Plays jobs of 2,500 steps of ``metaworld_reach`` (5 episodes of 500) with the same policy, now in
local processes and now through Ray, with all of Ray's own processes beside it; each is opened and
warmed up anew for its turn. Ratios are of medians. On a machine with other work only that of
processor time says anything, which counts Ray's own too.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil

from promptpo.rollout import Executor, LocalExecutor, PlayJob, Settings
from promptpo.rollout.cluster import RayExecutor
from promptpo.rollout.cores import available_cores

#: Moves the hand towards the goal: as cheap as a policy for this task can be.
REACH = """
import numpy as np
class Policy:
    def act(self, obs):
        action = np.zeros(4)
        action[:3] = np.clip(10.0 * (obs.goal_position - obs.hand_position), -1, 1)
        return action
"""
EPISODES, STEPS = 5, 500


async def together(executor: Executor, jobs: int, first: int) -> None:
    """Play so many jobs, all asked for at once."""
    seeds = [range(first + n * EPISODES, first + (n + 1) * EPISODES) for n in range(jobs)]
    runs = await asyncio.gather(*(executor.run(PlayJob(REACH, tuple(s))) for s in seeds))
    for run in runs:
        if run.error or run.steps != EPISODES * STEPS:
            sys.exit(f"not {EPISODES * STEPS} steps, but {run.steps}: {run.error}")


def rates(executor: Executor, jobs: int, first: int) -> tuple[float, float]:
    """Steps per second, and per second of processor time, once the executor is warm."""
    with contextlib.closing(executor):
        asyncio.run(executor.describe())
        asyncio.run(together(executor, 2 * available_cores(), 0))
        spent, began = processor_seconds(), time.perf_counter()
        asyncio.run(together(executor, jobs, first))
        steps = jobs * EPISODES * STEPS
        return steps / (time.perf_counter() - began), steps / (processor_seconds() - spent)


def processor_seconds() -> float:
    """What this process and all below it have taken, Ray's own and those that have ended too."""
    me = psutil.Process()
    found = 0.0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            found += sum(process.cpu_times()[:4])
    return found


def overhead(rounds: int, jobs: int) -> None:
    """Alternate between local processes and Ray; print both, and their ratio."""
    settings = Settings("metaworld_reach")
    found: dict[str, list[tuple[float, float]]] = {"local": [], "ray": []}
    for round_ in range(rounds):
        for name in ("local", "ray") if round_ % 2 == 0 else ("ray", "local"):
            opened = LocalExecutor(settings) if name == "local" else RayExecutor(settings)
            found[name].append(rates(opened, jobs, 1000 * (round_ + 1)))
            wall, processor = found[name][-1]
            words = f"{wall:9,.0f} steps/s {processor:9,.0f} steps a second of processor time"
            print(f"round {round_ + 1}  {name:6} {words}", flush=True)
    for number, what in enumerate(("steps/s", "steps a second of processor time")):
        local, ray = (statistics.median(r[number] for r in found[n]) for n in ("local", "ray"))
        print(f"median {what}: local {local:,.0f}, ray {ray:,.0f}: ratio {ray / local:.3f}")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=20, help="in each round")
    options = parser.parse_args()
    overhead(options.rounds, options.jobs)


if __name__ == "__main__":
    main()
