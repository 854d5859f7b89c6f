"""Time of a process from the fork to its first action, and of the next episode in it.

python benchmarks/sandbox_startup.py --count 200
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import sandbox

SOURCE = '''
import numpy as np


class Policy:
    """Moves the hand to the goal, then closes the gripper."""

    def __init__(self):
        self.phase = "approach"
        self._gain = 10.0
        self._count = 0

    def _move(self, hand, goal):
        return np.clip(self._gain * (goal - hand), -1.0, 1.0)

    def act(self, obs):
        hand, goal = obs[:3], obs[3:6]
        self._count += 1
        if self.phase == "approach" and np.linalg.norm(goal - hand) < 0.02:
            self.phase = "close"
        grip = 1.0 if self.phase == "close" else -1.0
        return np.append(self._move(hand, goal), grip)
'''


def start(count: int) -> tuple[dict[str, list[float]], str]:
    """Return seconds until a process of a compiled program is ready, has acted, acts once more."""
    interface = sandbox.Interface(6, None, sandbox.Box((4,)))
    program = sandbox.Program(SOURCE, interface)
    times: dict[str, list[float]] = {"ready": [], "first action": [], "the next episode": []}
    with sandbox.Host() as host:
        host.open(program).close()
        for number in range(count):
            begun = time.perf_counter()
            with host.open(program) as policy:
                times["ready"].append(time.perf_counter() - begun)
                policy.begin(number)
                policy.act(np.zeros(6))
                times["first action"].append(time.perf_counter() - begun)
                again = time.perf_counter()
                policy.begin(number)
                policy.act(np.zeros(6))
                times["the next episode"].append(time.perf_counter() - again)
        return times, host.isolation.level


def main() -> None:
    """Print quantiles in milliseconds."""
    parser = argparse.ArgumentParser(description="Start-up time of sandboxed policies.")
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found, level = start(options.count)
    print(f"in milliseconds, isolation {level}, one core")
    for title, times in found.items():
        low, middle, high = 1000 * np.quantile(times, [0.0, 0.5, 0.95])
        print(f"  {title:<17} min {low:.2f}  median {middle:.2f}  95% {high:.2f}")


if __name__ == "__main__":
    main()
