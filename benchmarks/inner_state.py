"""What it costs to trace a policy's attributes, and to count its lines.

    python benchmarks/inner_state.py [--rounds 15] [--episodes 5]

Processor time of both sides, so that a busy machine tells the same. Of a loop over episodes,
environment included: steps per second with three names in ``TRACE``, all episodes being kept,
against the same policy without, both in every round. Then one episode of recorded observations,
fed to a policy whose lines are counted, against a plain one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from sandbox_cases import CASES, Case, Env

import sandbox
from sandbox.interface import FloatArray

CARTPOLE = """
class Policy:
    {trace}
    def __init__(self):
        self.t = 0
    def act(self, obs):
        x, v, angle, spin = obs
        self.t += 1
        self.lean = angle + 0.3 * spin + 0.05 * x + 0.1 * v
        self.phase = "catch" if abs(self.lean) > 0.05 else "hold"
        return 1 if self.lean > 0 else 0
"""
CHEETAH = """
import numpy as np
class Policy:
    {trace}
    def __init__(self):
        self.t = 0
        self.offsets = np.array([0.0, 0.9, 1.8, 3.1, 4.0, 4.9])
    def act(self, obs):
        self.t += 1
        self.lean = obs[8]
        self.phase = "fast" if self.lean > 2 else "slow"
        return np.tanh(np.sin(0.5 * self.t + self.offsets) - 0.1 * self.lean)
"""
SOURCES = {"cartpole": CARTPOLE, "halfcheetah": CHEETAH}
TRACE = 'TRACE = ("t", "lean", "phase")'
STEPS = 1000


def spent(policies: Sequence[sandbox.Policy]) -> float:
    """Processor seconds of this process and of the policies'."""
    return time.process_time() + sum(policy.channel.used for policy in policies)


def play(
    case: Case, policies: Sequence[sandbox.Policy], envs: Sequence[Env], *, kept: bool
) -> tuple[float, FloatArray]:
    """Processor seconds of an episode in each environment, and the observations of the first."""
    seen = []
    began = spent(policies)
    for seed, policy in enumerate(policies):
        policy.begin(seed, traced=kept)
    table = np.array([env.reset(seed) for seed, env in enumerate(envs)], np.float64)
    together = sandbox.Together(policies)
    for _ in range(STEPS):
        seen.append(table[0].copy())
        rows, _ = together.act(table)
        for number, (env, row) in enumerate(zip(envs, rows, strict=True)):
            action = int(row[0]) if isinstance(case.interface.action, sandbox.Discrete) else row
            table[number] = env.step(action)[0]
    traces = [policy.trace() for policy in policies]
    assert all(len(trace) == (3 if kept else 0) for trace in traces)  # noqa: S101
    return spent(policies) - began, np.array(seen)


def traced(host: sandbox.Host, name: str, rounds: int, episodes: int) -> FloatArray:
    """Print one line about a case; returns observations of an episode."""
    case, source = CASES[name], SOURCES[name]
    envs = [case.make() for _ in range(episodes)]
    programs = [sandbox.Program(source.format(trace=t), case.interface) for t in ("", TRACE)]
    plain, tracing = ([host.open(program) for _ in envs] for program in programs)
    pairs, observations = [], np.zeros((0, 0))
    for number in range(rounds + 1):
        order = [(plain, False), (tracing, True)]
        seconds = {}
        for policies, kept in order if number % 2 else reversed(order):
            seconds[kept], observations = play(case, policies, envs, kept=kept)
        pairs.append((seconds[False], seconds[True]))
    for policy in (*plain, *tracing):
        policy.close()
    ratios = [before / after for before, after in pairs[1:]]  # the first warms up
    rate = episodes * STEPS / statistics.median(before for before, _ in pairs[1:])
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(
        f"{name}, {episodes} episodes at the same time: with a TRACE of 3 names {middle:.3f}"
        f" ({low:.3f} to {high:.3f}) of {rate:,.0f} steps/s"
    )
    return observations


def counted(host: sandbox.Host, name: str, observations: FloatArray, rounds: int) -> None:
    """Print one line about feeding an episode again."""
    case, source = CASES[name], SOURCES[name].format(trace="")
    took: dict[str, list[float]] = {"policy": [], "counting": []}
    for _ in range(rounds + 1):
        for role, seconds in took.items():
            began = time.process_time()
            with host.policy(source, case.interface, role=role) as policy:
                policy.begin(0)
                for row in observations:
                    policy.act(row)
                if role == "counting":
                    policy.line_hits()
                seconds.append(spent([policy]) - began)
    plain, counting = (statistics.median(seconds[1:]) for seconds in took.values())
    print(
        f"{name}, {len(observations)} observations fed again: {1000 * counting:.0f} ms with"
        f" counted lines, {counting / plain:.2f} times as long as without"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="The cost of TRACE and of counted lines.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--episodes", type=int, default=5)
    given = parser.parse_args()
    with sandbox.Host() as host:
        for name in SOURCES:
            observations = traced(host, name, given.rounds, given.episodes)
            counted(host, name, observations, given.rounds)


if __name__ == "__main__":
    main()
