"""What Ray costs, and how far one driver goes: jobs through a cluster against local processes.

    python benchmarks/executor_scaling.py overhead     one machine, in turn: local processes, Ray
    python benchmarks/executor_scaling.py scheduling   1,000 workers that only sleep

``overhead`` plays jobs of 2,500 steps of ``metaworld_reach`` (5 episodes of 500) with the same
policy and on the same cores, now in local processes and now through Ray, with all of Ray's own
processes beside it; each is opened and warmed up anew for its turn. Ratios are of medians. On a
machine with other work only that of processor time says anything, which counts Ray's own too.

``scheduling`` is a simulation: what plays is replaced by sleep, so that one machine can hold 1,000
workers. Real are the driver (what ``--executor ray`` runs, from packing a job to unpacking its
answer), Ray's calls to actors, and the size of jobs and answers. Not real are the machines: the
workers are coroutines in a few actors here, which share the cores with the driver. Workers sleep
for the times that ``--recorded`` jobs of 2,500 steps take in a local process before, scaled to
``--seconds`` on average.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import pickle
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil
from promptpo.rollout.cluster.dispatch import Dispatch
from promptpo.rollout.cluster.places import Task

from promptpo.rollout import Executor, LocalExecutor, PlayJob, PlayRun, Settings
from promptpo.rollout.cluster import Parcels, RayExecutor, connect
from promptpo.rollout.cores import available_cores
from promptpo.types import Episode

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


def recorded(jobs: int) -> list[float]:
    """How long so many jobs take one local process, relative to their mean."""

    async def each() -> list[float]:
        found = []
        await together(executor, 1, 0)
        for number in range(jobs):
            began = time.perf_counter()
            await together(executor, 1, (number + 1) * EPISODES)
            found.append(time.perf_counter() - began)
        return found

    with contextlib.closing(LocalExecutor(Settings("metaworld_reach"), 1)) as executor:
        times = asyncio.run(each())
    mean = statistics.mean(times)
    spread = statistics.pstdev(times) / mean
    print(f"{jobs} jobs in a local process: {mean:.2f} s each, spread {spread:.0%}", flush=True)
    return [seconds / mean for seconds in times]


class Dormitory:
    """Many workers of a cluster in one actor: each sleeps for as long as it is told."""

    async def do(self, job: bytes, seconds: float, answer: bytes) -> bytes:
        """Take a job, sleep, and give the answer."""
        del job
        await asyncio.sleep(seconds)
        return answer


class Sleeper:
    """A worker in a dormitory; ``slept`` are when it began to sleep, and for how long."""

    def __init__(self, actor: Any, answer: bytes, node: str) -> None:  # noqa: ANN401 - Ray's
        self._actor, self._answer, self.node = actor, answer, node
        self.slept: list[tuple[float, float]] = []

    async def open(self) -> object:
        """There is nothing to open."""
        return None

    async def do(self, task: Task) -> bytes:
        """Sleep for the task's time; its answer is a job's."""
        answer: bytes = await self._actor.do.remote(task.job, task.size, self._answer)
        self.slept.append((time.perf_counter() - task.size, task.size))
        return answer

    def kill(self) -> None:
        """Its actor ends with the driver."""


class Sleepers:
    """So many workers in a few actors."""

    def __init__(self, count: int, actors: int, answer: bytes) -> None:
        import ray

        kind = ray.remote(num_cpus=0, max_concurrency=count)(Dormitory)
        self._actors = [kind.remote() for _ in range(actors)]
        ray.get([actor.do.remote(b"", 0.0, b"") for actor in self._actors])
        self._count, self._answer = count, answer
        self.hired: list[Sleeper] = []

    def wanted(self) -> int:
        """All of them, at once."""
        return self._count

    def hire(self) -> Sleeper:
        """The next one."""
        number = len(self.hired) % len(self._actors)
        self.hired.append(Sleeper(self._actors[number], self._answer, f"node {number}"))
        return self.hired[-1]

    def busy(self, begin: float, end: float) -> float:
        """The share of their time between two moments that they slept."""
        spans = [(a, a + b) for sleeper in self.hired for a, b in sleeper.slept]
        slept = sum(max(0.0, min(b, end) - max(a, begin)) for a, b in spans)
        return slept / ((end - begin) * self._count)


class Memory(threading.Thread):
    """Notes the most memory that this process has."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self.start()

    def run(self) -> None:
        """Look twenty times a second."""
        me = psutil.Process()
        while True:
            self.most = max(self.most, me.memory_info().rss)
            time.sleep(0.05)


def scheduling(
    workers: int, each: int, seconds: float, actors: int, relative: Sequence[float]
) -> None:
    """Keep so many workers busy; print which share of their time they were.

    ``relative`` are times of jobs, relative to their mean, which workers sleep in turn.
    """
    results = tuple(Episode(n, 123.4, STEPS, True) for n in range(EPISODES))
    played = PlayRun(results, EPISODES * STEPS, clipped=(0,) * EPISODES)
    answer = pickle.dumps(("done", played))
    with contextlib.closing(connect("local", 1)):
        import ray

        crew = Sleepers(workers, actors, answer)
        dispatch = Dispatch(crew, lambda text: print(text, file=sys.stderr))
        memory = Memory()
        with contextlib.closing(dispatch):
            dispatch.begun().result(120)
            times = [seconds * relative[n % len(relative)] for n in range(workers * each)]
            before, began = os.times(), time.perf_counter()
            asyncio.run(carried_out(dispatch, Parcels(ray.put), times))
            took, after = time.perf_counter() - began, os.times()
    # Steadily: when every worker has had a job, until none waits any more.
    ends = 2 * seconds
    steady = crew.busy(began + ends, began + took - ends)
    cpu = after.user + after.system - before.user - before.system
    print(f"{workers:,} workers, {len(times):,} jobs of {seconds:g} s: {took:.1f} s")
    print(f"busy {steady:.1%} but for the first and the last {ends:g} s,", end=" ")
    print(f"{crew.busy(began, began + took):.1%} with them")
    print(f"{len(times) / took:,.0f} jobs/s; driver {cpu / took:.0%} of a core")
    print(f"driver's memory at most {memory.most / 1e6:,.0f} MB")


async def carried_out(dispatch: Dispatch, parcels: Parcels, times: Sequence[float]) -> None:
    """What an executor does for each job, with its time in place of its size."""

    async def one(number: int, seconds: float) -> None:
        task = parcels.pack(PlayJob(REACH, tuple(range(number, number + EPISODES))))
        task = replace(task, size=seconds)
        kind, run = pickle.loads(await asyncio.wrap_future(dispatch.submit(task)))  # noqa: S301
        if kind != "done" or run.steps != EPISODES * STEPS:
            sys.exit("an answer has changed on its way")

    await asyncio.gather(*(one(n, seconds) for n, seconds in enumerate(times)))


def main() -> None:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("overhead", "scheduling"))
    parser.add_argument("--rounds", type=int, default=5, help="of overhead (default: 5)")
    parser.add_argument("--jobs", type=int, default=24, help="of a round (default: 24)")
    parser.add_argument("--workers", type=int, default=1000, help="that sleep (default: 1000)")
    parser.add_argument("--each", type=int, default=10, help="jobs for each of them (default: 10)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a job (default: 2)")
    parser.add_argument("--recorded", type=int, default=20, help="jobs played (default: 20)")
    parser.add_argument("--actors", type=int, default=4, help="they share (default: 4)")
    given = parser.parse_args()
    if given.what == "overhead":
        overhead(given.rounds, given.jobs)
    else:
        relative = recorded(given.recorded)
        scheduling(given.workers, given.each, given.seconds, given.actors, relative)


if __name__ == "__main__":
    main()
