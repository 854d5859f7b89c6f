"""What isolation costs: environment steps per second, sandboxed against a bare in-process loop.

    python benchmarks/sandbox_throughput.py                 # all environments, all modes
    python benchmarks/sandbox_throughput.py --environments nothing --modes sixteen

Modes, each measured against the bare loop of the same policy and episodes in the same run:

    sixteen     16 episodes at the same time, each policy in a process of its own, all on one core
    lockstep    16 episodes step by step in one process, as search and tuning play them
    five        5 episodes, as a candidate of a search plays them
    lone        one episode: each hand-over waits for the process
    turns       16 episodes step by step in turn, without a sandbox: what sharing caches costs alone
    saturated   as sixteen, on every core at once, against a bare loop on every core
    held-out    50 episodes through the executor, as a run plays its held-out ones: a worker on each
                core, against one bare loop
    held-out-1  as held-out, with one worker, on the core of the bare loop

The first line is the least that sixteen processes can do: plain Python that sends back what it is
sent, without any isolation.

Each round runs both sides, one right after the other and in changing order, and gives a ratio;
shown are the median and the quartiles of these, and the processor time in microseconds that an
episode and step of the sandboxed side takes beyond the bare one, on both sides of the pipes.
Rounds are spread over fresh processes: where the pages of a process happen to lie decides what its
caches hold. Returns must agree bit for bit; the program fails if not.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from sandbox_cases import CASES, Case, Env, Result, joined

import sandbox
from sandbox.interface import FloatArray

HELD_OUT = ("held-out", "held-out-1")
TOGETHER = {"sixteen": 16, "lockstep": 16, "five": 5, "lone": 1, "turns": 16, "saturated": 16}
MODES = (*TOGETHER, *HELD_OUT)
#: Takes observations to actions, and to errors by row.
Acts = Callable[[FloatArray], tuple[FloatArray, dict[int, sandbox.SandboxError]]]


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


def in_turn(case: Case, envs: Sequence[Env], seeds: Sequence[int]) -> list[float]:
    """All episodes step by step in turn, in this process."""
    namespace: dict[str, Any] = {"np": np}
    exec(compile(case.source, "<bare>", "exec"), namespace)  # noqa: S102 - the benchmark's own text
    policies = [namespace["Policy"]() for _ in envs]
    seen = [np.array(env.reset(seed), np.float64) for env, seed in zip(envs, seeds, strict=True)]
    returns = [0.0] * len(envs)
    for _ in range(case.steps):
        for index, (policy, env) in enumerate(zip(policies, envs, strict=True)):
            raw, reward = env.step(policy.act(seen[index]))
            seen[index] = np.array(raw, np.float64)
            returns[index] += reward
    return returns


def together(
    case: Case,
    policies: Sequence[sandbox.Seat],
    act: Acts,
    envs: Sequence[Env],
    seeds: Sequence[int],
) -> list[float]:
    """All episodes at the same time: hand over, wait, step."""
    table = np.zeros((len(envs), case.interface.observation_size or 0))
    for row, (policy, env, seed) in enumerate(zip(policies, envs, seeds, strict=True)):
        table[row] = env.reset(seed)
        policy.begin(seed)
    returns = [0.0] * len(envs)
    for _ in range(case.steps):
        rows, errors = act(table)
        if errors:
            raise next(iter(errors.values()))
        seen = []
        for index, (env, action) in enumerate(zip(envs, to_actions(case, rows), strict=True)):
            raw, reward = env.step(action)
            seen.append(raw)
            returns[index] += reward
        table[:] = seen
    return returns


def measure(case: Case, mode: str, rounds: int, core: int, barrier: Barrier) -> Result:
    """Alternate between the bare loop and the sandboxed one."""
    os.sched_setaffinity(0, {core})
    count = TOGETHER[mode]
    program = sandbox.Program(case.source, case.interface, sandbox.Limits(total_seconds=3600))
    with sandbox.Host() as host:
        lockstep = host.lockstep(program, count) if mode == "lockstep" else None
        policies = lockstep.seats if lockstep else [host.open(program) for _ in range(count)]
        act = lockstep.together(policies) if lockstep else sandbox.Together(policies).act
        envs = [case.make() for _ in range(count)]
        sides = (
            lambda seeds: bare(case, envs, seeds),
            lambda seeds: (
                in_turn(case, envs, seeds)
                if mode == "turns"
                else together(case, policies, act, envs, seeds)
            ),
        )
        result, steps = Result([], [], True), count * case.steps
        for number in range(rounds + 1):
            seeds = [number * 1000 + index for index in range(count)]
            times, used, returns = [0.0, 0.0], [0.0, 0.0], [[0.0], [0.0]]
            for side in (0, 1) if number % 2 else (1, 0):
                barrier.wait()
                start, before = time.perf_counter(), _processor_time(policies)
                returns[side] = sides[side](seeds)
                times[side] = time.perf_counter() - start
                used[side] = _processor_time(policies) - before
            result.identical &= returns[0] == returns[1]
            if number:
                result.bare.append(times[0] / steps)
                result.sandboxed.append(times[1] / steps)
                result.extra.append((used[1] - used[0]) / steps)
    return result


def _processor_time(policies: Sequence[sandbox.Seat]) -> float:
    """Seconds of this process and those of the policies."""
    channels = {policy.channel for policy in policies}
    return time.process_time() + sum(channel.used for channel in channels)


def echo(count: int = 16, rounds: int = 20, steps: int = 200) -> float:
    """Seconds that a hand-over to one of ``count`` processes that only echo takes, at best."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    script = "import os\nwhile data := os.read(0, 64): os.write(1, data)"
    command, message = [sys.executable, "-S", "-c", script], bytes(48)
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(  # noqa: S603 - our own script
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
                )
            )
            for _ in range(count)
        ]
        pipes = [(p.stdin.fileno(), p.stdout.fileno()) for p in processes if p.stdin and p.stdout]
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(steps):
                for writer, _ in pipes:
                    os.write(writer, message)
                for _, reader in reversed(pipes):
                    os.read(reader, 64)
            times.append((time.perf_counter() - start) / steps / count)
        for process in processes:
            process.kill()
    return min(times)


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
        results.put(measure(CASES[name], mode, rounds, cores[0], barrier))


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
        f"{'bare us/step':>13} {'beyond it':>10}  returns"
    )
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # it keeps to one core
        print(f"{'echo':<12} {'sixteen':<10} {'':>32} {1e6 * pool.apply(echo):>23.2f}", flush=True)
    failed = False
    for name in options.environments:
        case = CASES[name]
        for mode in options.modes:
            if name == "nothing" and mode in HELD_OUT:
                continue
            result = joined(
                [in_processes(name, mode, options.rounds, pair) for _ in range(options.processes)]
            )
            goal = case.goal if mode in ("sixteen", "lockstep") else None
            extra = f"{1e6 * np.median(result.extra):.2f}" if result.extra else "-"
            median, low, high = result.ratios
            failed |= not result.identical
            print(
                f"{name:<12} {mode:<10} {median:>6.3f} {low:.3f}-{high:.3f}  {goal or '-':>5} "
                f"{1e6 * np.median(result.bare):>13.2f} {extra:>10}  "
                f"{'identical' if result.identical else 'DIFFER'}",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
