"""Time until a fresh sandboxed process has acted, and until it has acted in its next episode.

Wanted on a quiet machine: under 5 ms, and under 1 ms. The program is compiled already, as it is for
all processes of a program but the first.

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


#: Seconds between two programs.
_GAP = 0.05


def measure(count: int) -> tuple[dict[str, list[float]], str]:
    """Return seconds of each kind of beginning, and the level of isolation."""
    interface, observation = sandbox.Interface(6, None, sandbox.Box((4,))), np.zeros(6)
    found: dict[str, list[float]] = {"compiled": [], "started": [], "next": [], "same object": []}
    with sandbox.Host() as host:
        for number in range(count):
            program = sandbox.Program(SOURCE, interface)
            for kind in ("compiled", "started"):
                begun = time.perf_counter()
                policy = host.open(program)
                policy.begin(number)
                policy.act(observation)
                found[kind].append(time.perf_counter() - begun)
                if kind == "compiled":
                    policy.close()
            for kind, fresh in (("next", True), ("same object", False)):
                begun = time.perf_counter()
                policy.begin(number + 1, fresh=fresh)
                policy.act(observation)
                found[kind].append(time.perf_counter() - begun)
            policy.close()
            time.sleep(_GAP)
        return found, host.isolation.level


def main() -> None:
    """Print quantiles in milliseconds."""
    parser = argparse.ArgumentParser(description="Start-up time of sandboxed policies.")
    parser.add_argument("--count", type=int, default=100)
    found, level = measure(parser.parse_args().count)
    print(f"milliseconds until the first action of an episode ({level})")
    titles = {
        "compiled": "a program's first process",
        "started": "its other processes",
        "next": "the next episode",
        "same object": "the same object's next",
    }
    for kind, title in titles.items():
        low, middle, high = 1000 * np.quantile(found[kind], [0.0, 0.5, 0.95])
        print(f"  {title:<26} min {low:6.2f}  median {middle:6.2f}  95% {high:6.2f}")


if __name__ == "__main__":
    main()
