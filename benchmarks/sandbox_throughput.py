"""What isolation costs: environment steps per second, sandboxed against a bare in-process loop.

    python benchmarks/sandbox_throughput.py                 # all environments, all modes
    python benchmarks/sandbox_throughput.py --environments grid --modes one-core

Modes, each measured against the bare loop of the same policy and episodes in the same run:

    one-core    16 episodes in flight, each in a process of its own, all on one core
    five        as one-core, with 5 episodes
    lone        as one-core, with one episode
    saturated   as one-core, on each of two cores, against a bare loop on each
    held-out    50 episodes through the executor, as a run plays its held-out ones, alone: a worker
                on each core, against one bare loop

The environment ``nothing`` costs nothing: what a step takes longer there is the hand-over alone.

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
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from sandbox_cases import CASES, Case, Env, Result, joined

import sandbox
from sandbox.interface import FloatArray

#: Episodes in flight.
IN_FLIGHT = {"one-core": 16, "five": 5, "lone": 1, "saturated": 16}
MODES = (*IN_FLIGHT, "held-out")


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


def together(
    case: Case, players: Sequence[sandbox.Policy], envs: Sequence[Env], seeds: Sequence[int]
) -> list[float]:
    """All episodes at once: hand over to all, wait for all, step."""
    policies, returns = sandbox.Together(players), [0.0] * len(envs)
    table = np.zeros((len(envs), case.interface.observation_size or 0))
    for row, (env, policy, seed) in enumerate(zip(envs, players, seeds, strict=True)):
        policy.begin(seed)
        table[row] = env.reset(seed)
    for _ in range(case.steps):
        actions, errors = policies.act(table)
        for error in errors.values():
            raise error
        rows = []
        for row, (env, action) in enumerate(zip(envs, to_actions(case, actions), strict=True)):
            raw, reward = env.step(action)
            rows.append(raw)
            returns[row] += reward
        table[:] = rows
    return returns


def measure(case: Case, mode: str, rounds: int, core: int, barrier: Barrier) -> Result:
    """Alternate between the bare loop and the sandboxed one."""
    os.sched_setaffinity(0, {core})
    count = IN_FLIGHT[mode]
    envs = [case.make() for _ in range(count)]
    program = sandbox.Program(case.source, case.interface, sandbox.Limits(total_seconds=3600))
    with sandbox.Host() as host:
        players = [host.open(program) for _ in range(count)]
        sides = (lambda s: bare(case, envs, s), lambda s: together(case, players, envs, s))
        result = Result([], [], True)
        for number in range(rounds + 1):
            seeds = [number * 1000 + index for index in range(count)]
            times, returns = [0.0, 0.0], [[0.0], [0.0]]
            for side in (0, 1) if number % 2 else (1, 0):
                barrier.wait()
                start = time.perf_counter()
                returns[side] = sides[side](seeds)
                times[side] = time.perf_counter() - start
            result.identical &= returns[0] == returns[1]
            if number:
                result.bare.append(times[0] / (count * case.steps))
                result.sandboxed.append(times[1] / (count * case.steps))
    return result


def _worker(
    name: str,
    mode: str,
    rounds: int,
    cores: tuple[int, ...],
    barrier: Barrier,
    results: multiprocessing.Queue[Result],
) -> None:
    if mode == "held-out":
        import held_out

        results.put(held_out.measure(name, cores, rounds))
    else:
        results.put(measure(CASES[name], mode, rounds, cores[0], barrier))


def in_processes(name: str, mode: str, rounds: int, cores: tuple[int, int]) -> Result:
    """One measuring process, or for saturated cores one on each, in step with each other."""
    context = multiprocessing.get_context("spawn")
    places = [(core,) for core in cores] if mode == "saturated" else [cores]
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
        f"{'environment':<12} {'mode':<10} {'ratio':>6} {'quartiles':>12} {'wanted':>6} "
        f"{'bare us/step':>13} {'added us/step':>14}  returns"
    )
    failed = False
    for name in options.environments:
        case = CASES[name]
        for mode in options.modes:
            if (name, mode) == ("nothing", "held-out"):
                continue
            result = joined(
                [in_processes(name, mode, options.rounds, pair) for _ in range(options.processes)]
            )
            wanted = case.wanted if mode == "one-core" else None
            median, low, high = result.ratios
            failed |= not result.identical
            print(
                f"{name:<12} {mode:<10} {median:>6.3f} {low:.3f}-{high:.3f}  {wanted or '-':>6} "
                f"{1e6 * np.median(result.bare):>13.2f} {result.added:>14.2f}  "
                f"{'identical' if result.identical else 'DIFFER'}",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
