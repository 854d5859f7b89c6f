"""Time until a fresh sandboxed policy, compiled and locked down, is ready to act.

python benchmarks/sandbox_startup.py --count 200
"""

from __future__ import annotations

import argparse
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


def start(count: int, gap: float) -> tuple[list[float], list[float], str]:
    """Seconds until ready, and until the first action came back; ``gap`` seconds in between."""
    interface = sandbox.Interface(6, None, sandbox.Box((4,)))
    ready, acted = [], []
    with sandbox.Host() as host:
        for number in range(count):
            begin = time.perf_counter()
            policy = host.policy(SOURCE, interface)
            ready.append(time.perf_counter() - begin)
            policy.reset([0], [number])
            policy.act([0], np.zeros((1, 6)))
            acted.append(time.perf_counter() - begin)
            policy.close()
            time.sleep(gap)
        return ready, acted, host.isolation.level


def main() -> None:
    """Print quantiles in milliseconds."""
    parser = argparse.ArgumentParser(description="Start-up time of sandboxed policies.")
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    for name, gap in (("candidates that run for 50 ms", 0.05), ("back to back", 0.0)):
        ready, acted, level = start(options.count, gap)
        print(f"{name} ({level})")
        for title, times in (("ready", ready), ("first action", acted)):
            low, middle, high = 1000 * np.quantile(times, [0.0, 0.5, 0.95])
            print(f"  {title:<13} min {low:.2f}  median {middle:.2f}  95% {high:.2f} ms")


if __name__ == "__main__":
    main()
