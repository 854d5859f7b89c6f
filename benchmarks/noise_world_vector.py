"""How much faster many NoiseWorlds step together than one by one.

    python benchmarks/noise_world_vector.py
    python benchmarks/noise_world_vector.py --board 5 --environments 64 --steps 500

Three ways to play the same seeds with the same actions: a Python loop over single environments,
Gymnasium's SyncVectorEnv, and the numpy implementation that ``gymnasium.make_vec`` gives. All that
they return must be equal bit for bit; the program fails if not. The rate is that of the fastest of
the repeats, so that what else happens on the machine meets all three less.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import gymnasium
import numpy as np
from numpy.typing import NDArray

from env_specs._noise_world.world import ENV_ID, NoiseWorld

Step = tuple[Any, ...]
Way = Callable[[int, NDArray[np.int64]], Iterator[Step]]


def loop(board: int, actions: NDArray[np.int64]) -> Iterator[Step]:
    """Single environments one after the other; a step after an episode's end resets."""
    envs = [NoiseWorld(board) for _ in range(actions.shape[1])]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    over = [False] * len(envs)
    for row in actions.tolist():
        results: list[Step] = []
        for index, env in enumerate(envs):
            if over[index]:
                results.append((env.reset()[0], 0.0, False, False))
            else:
                results.append(env.step(row[index])[:4])
            over[index] = results[-1][2] or results[-1][3]
        yield tuple(np.array(part) for part in zip(*results, strict=True))


def vectorized(mode: str) -> Way:
    """An environment of ``gymnasium.make_vec``."""

    def play(board: int, actions: NDArray[np.int64]) -> Iterator[Step]:
        count = actions.shape[1]
        envs = gymnasium.make_vec(ENV_ID, count, vectorization_mode=mode, board=board)
        envs.reset(seed=0)
        for row in actions:
            yield envs.step(row)[:4]

    return play


WAYS: dict[str, Way] = {
    "single environments": loop,
    "SyncVectorEnv": vectorized("sync"),
    "make_vec": vectorized("vector_entry_point"),
}


def rate(way: Way, board: int, actions: NDArray[np.int64], repeats: int) -> float:
    """Environment steps a second, construction and first reset left out."""
    best = float("inf")
    for _ in range(repeats):
        steps = way(board, actions)
        next(steps)
        began = time.perf_counter()
        for _ in steps:
            pass
        best = min(best, time.perf_counter() - began)
    return float(actions[1:].size / best)


def check_equal(board: int, actions: NDArray[np.int64]) -> None:
    """Exit if one of the ways returns anything else than the others."""
    for number, results in enumerate(zip(*(w(board, actions) for w in WAYS.values()), strict=True)):
        for other in results[1:]:
            if not all(map(np.array_equal, results[0], other)):
                sys.exit(f"step {number}: the ways differ")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--board", type=int, default=1)
    parser.add_argument("--environments", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    shape = (options.steps, options.environments)
    actions = np.random.default_rng(0).integers(0, 4, shape)
    check_equal(options.board, actions)
    rates = {n: rate(way, options.board, actions, options.repeats) for n, way in WAYS.items()}
    print(f"board {options.board}, {options.environments} environments, {options.steps} steps each")
    for name, steps in rates.items():
        ratio = steps / rates["single environments"]
        print(f"  {name:20} {steps:12,.0f} steps/s   {ratio:5.1f} x")


if __name__ == "__main__":
    main()
