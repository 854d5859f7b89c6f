"""What isolation costs: environment steps per second, sandboxed against a bare in-process loop.

    python benchmarks/sandbox_throughput.py                 # all environments, all modes
    python benchmarks/sandbox_throughput.py --environments grid --modes one-core

Modes, each measured against the bare loop of the same policy and episodes in the same run:

    one-core    worker and policy process on one core, the other core idle
    idle-core   the policy process on a second core, two groups of episodes in turn
    saturated   a pair of worker and policy process on each core, against a bare loop on each core
    default     as one-core, with 5 episodes per candidate
    spanning    5 episodes each of several candidates, in turn
    held-out    50 episodes through the executor, as a run plays its held-out ones: a worker on each
                core, against one bare loop
    held-out-1  as held-out, with one worker, on the core of the bare loop
    free        as idle-core, but the actions of the bare loop come for nothing, from no process:
                what stepping many environments in turn costs, and so the bound of idle-core

Each round runs both sides, one right after the other and in changing order, and gives a ratio;
shown are the median and the quartiles of these, so that what else happens on the machine meets both
sides alike. Rounds are spread over fresh processes: where the pages of a process happen to lie
decides what its caches hold, which moves a ratio by a few hundredths. Returns must agree bit for
bit; the program fails if not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from sandbox_cases import CASES, Case, Env, Result, Told, joined

import sandbox
from sandbox.interface import FloatArray

HELD_OUT = ("held-out", "held-out-1")
MODES = ("one-core", "idle-core", "saturated", "default", "spanning", *HELD_OUT, "free")
DEFAULT_EPISODES = 5
#: That share a worker where lockstep spans candidates.
CANDIDATES = 4


def to_actions(case: Case, rows: FloatArray) -> list[object]:
    """Actions as the environments want them."""
    if isinstance(case.interface.action, sandbox.Discrete):
        return list(rows.ravel().astype(int).tolist())
    return list(rows)


def bare(case: Case, envs: Sequence[Env], seeds: Sequence[int]) -> list[float]:
    """The in-process loop: one episode after the other."""
    namespace: dict[str, Any] = {"np": np}
    exec(compile(case.source, "<bare>", "exec"), namespace)  # noqa: S102 - the benchmark's own text
    returns = []
    for env, seed in zip(envs, seeds, strict=True):
        policy, total = namespace["Policy"](), 0.0
        observation = np.array(env.reset(seed), np.float64)
        for _ in range(case.steps):
            raw, reward = env.step(policy.act(observation))
            observation = np.array(raw, np.float64)
            total += reward
        returns.append(total)
    return returns


class Group:
    """Lockstep episodes that share hand-overs."""

    def __init__(self, case: Case, policy: sandbox.Policy | Told, envs: Sequence[Env]) -> None:
        self.case, self.policy, self.envs = case, policy, envs
        self.table = np.zeros((len(envs), case.interface.observation_size or 0))

    def start(self, slots: Sequence[int], seeds: Sequence[int]) -> None:
        """Begin the episodes."""
        self.slots = list(slots)
        self.policy.reset(self.slots, seeds)
        self.returns = [0.0] * len(self.envs)
        for row, (env, seed) in enumerate(zip(self.envs, seeds, strict=True)):
            self.table[row] = env.reset(seed)

    def begin(self) -> None:
        """Hand the observations over."""
        self.policy.begin(self.slots, self.table)

    def step(self) -> None:
        """Take the actions and step the environments."""
        actions = to_actions(self.case, self.policy.finish())
        rows = []
        for index, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            raw, reward = env.step(action)
            rows.append(raw)
            self.returns[index] += reward
        self.table[:] = rows


def lockstep(group: Group, seeds: Sequence[int]) -> list[float]:
    """All episodes in one group: hand over, wait, step."""
    group.start(range(len(seeds)), seeds)
    for _ in range(group.case.steps):
        group.begin()
        group.step()
    return group.returns


def in_turn(groups: Sequence[Group], seeds: Sequence[int]) -> list[float]:
    """Two groups of one policy: while it works on one, the environments of the other step."""
    first, second = groups
    half = len(first.envs)
    first.start(range(half), seeds[:half])
    second.start(range(half, len(seeds)), seeds[half:])
    first.begin()
    second.begin()
    for step in range(first.case.steps):
        for group in groups:
            group.step()
            if step + 1 < first.case.steps:
                group.begin()
    return first.returns + second.returns


def spanning(groups: Sequence[Group], seeds: Sequence[int]) -> list[float]:
    """A few episodes each of several candidates: hand over to all, then step one after another."""
    share = len(groups[0].envs)
    for index, group in enumerate(groups):
        group.start(range(share), seeds[index * share : (index + 1) * share])
    for _ in range(groups[0].case.steps):
        for group in groups:
            group.begin()
        for group in groups:
            group.step()
    return [total for group in groups for total in group.returns]


def measure(case: Case, mode: str, rounds: int, core: int, other: int, barrier: Barrier) -> Result:
    """Alternate between the bare loop and the sandboxed one."""
    os.sched_setaffinity(0, {other if mode == "idle-core" else core})
    with sandbox.Host() as host:
        os.sched_setaffinity(0, {core})
        count = {
            "default": DEFAULT_EPISODES,
            "spanning": CANDIDATES * DEFAULT_EPISODES,
            "idle-core": case.in_turn,
            "free": case.in_turn,
        }.get(mode, case.episodes)
        envs = [case.make() for _ in range(count)]
        told = Told(case, envs[0])
        run, policies = _sandboxed(case, mode, host, envs, told)
        result = Result([], [], True)
        steps = count * case.steps
        sides = (lambda s: bare(case, envs, s), run)
        for number in range(rounds + 1):
            seeds = [number * 1000 + index for index in range(count)]
            times, returns = [0.0, 0.0], [[0.0], [0.0]]
            if mode == "free":
                told.learn(seeds)
            for side in (0, 1) if number % 2 else (1, 0):
                barrier.wait()
                start = time.perf_counter()
                returns[side] = sides[side](seeds)
                times[side] = time.perf_counter() - start
            result.identical &= returns[0] == returns[1]
            if number:
                result.bare.append(times[0] / steps)
                result.sandboxed.append(times[1] / steps)
        for policy in policies:
            policy.close()
    return result


def _sandboxed(
    case: Case, mode: str, host: sandbox.Host, envs: Sequence[Env], told: Told
) -> tuple[Callable[[Sequence[int]], list[float]], list[sandbox.Policy]]:
    limits = sandbox.Limits(total_seconds=3600)
    if mode == "spanning":
        policies = [host.policy(case.source, case.interface, limits) for _ in range(CANDIDATES)]
        size = DEFAULT_EPISODES
        groups = [
            Group(case, policy, envs[index * size : (index + 1) * size])
            for index, policy in enumerate(policies)
        ]
        return (lambda seeds: spanning(groups, seeds)), policies
    policy = host.policy(case.source, case.interface, limits)
    if mode in ("idle-core", "free"):
        half, who = len(envs) // 2, told if mode == "free" else policy
        pair = [Group(case, who, envs[:half]), Group(case, who, envs[half:])]
        return (lambda seeds: in_turn(pair, seeds)), [policy]
    group = Group(case, policy, envs)
    return (lambda seeds: lockstep(group, seeds)), [policy]


def _worker(
    name: str,
    mode: str,
    rounds: int,
    cores: tuple[int, int],
    barrier: Barrier,
    results: multiprocessing.Queue[Result],
) -> None:
    if mode in HELD_OUT:
        import held_out

        results.put(held_out.measure(name, cores[:1] if mode == "held-out-1" else cores, rounds))
    else:
        results.put(measure(CASES[name], mode, rounds, *cores, barrier))


def in_processes(name: str, mode: str, rounds: int, cores: tuple[int, int]) -> Result:
    """One measuring process, or for saturated cores one on each, in step with each other."""
    context = multiprocessing.get_context("spawn")
    places = [(core, core) for core in cores] if mode == "saturated" else [cores]
    barrier, results = context.Barrier(len(places)), context.Queue()
    workers = [
        context.Process(target=_worker, args=(name, mode, rounds, place, barrier, results))
        for place in places
    ]
    for worker in workers:
        worker.start()
    found = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return joined(found)


def main() -> int:
    """Print a table; 1 if any returns differ."""
    parser = argparse.ArgumentParser(description="Throughput of isolation against a bare loop.")
    parser.add_argument("--environments", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--rounds", type=int, default=5, help="in each process")
    parser.add_argument("--processes", type=int, default=5, help="one after the other")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    pair = cores[0], cores[-1]
    print(
        f"{'environment':<12} {'mode':<10} {'ratio':>6} {'quartiles':>12} {'goal':>5} "
        f"{'bare us/step':>13}  returns"
    )
    failed = False
    for name in options.environments:
        case = CASES[name]
        for mode in options.modes:
            result = joined(
                [in_processes(name, mode, options.rounds, pair) for _ in range(options.processes)]
            )
            goal = case.goals.get(mode)
            median, low, high = result.ratios
            failed |= not result.identical
            print(
                f"{name:<12} {mode:<10} {median:>6.3f} {low:.3f}-{high:.3f}  {goal or '-':>5} "
                f"{1e6 * np.median(result.bare):>13.2f}  "
                f"{'identical' if result.identical else 'DIFFER'}",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
