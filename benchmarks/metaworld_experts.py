"""Meta-World's scripted experts through our specs and without them: success over many episodes.

    python benchmarks/metaworld_experts.py                       # the five tasks with files
    python benchmarks/metaworld_experts.py --episodes 10 reach-v3 push-v3

Without: ``gymnasium.make("Meta-World/MT1", env_name=TASK)`` as its documentation has it. Both sides
draw goals of their own, so the rates agree within noise: the program fails where Fisher's exact
test says otherwise (p < 0.01). That the episodes of equal goals are equal bit for bit is what
``tests/env_specs/test_metaworld_specs.py`` holds.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from scipy.stats import fisher_exact

from promptpo.spec import Task, load_spec

SPECS = {
    "reach-v3": "metaworld_reach",
    "button-press-v3": "metaworld_button_press",
    "pick-place-v3": "metaworld_pick_place",
    "door-open-v3": "metaworld_door_open",
    "drawer-open-v3": "metaworld_drawer_open",
}


def through_our_spec(name: str, episodes: int) -> tuple[int, float]:
    """Successful episodes and the mean return."""
    task = Task.open(load_spec(SPECS.get(name, f"metaworld:{name}")))
    act = task.spec.expert(task.env) if task.spec.expert else None
    wins, returns = 0, []
    for seed in range(10_000, 10_000 + episodes):
        task.reset(seed)
        won, total, over = False, 0.0, False
        while not over:
            action = np.asarray(act(task.raw) if act else [], np.float64)
            _, reward, terminated, truncated, success = task.step(action)
            won, total = won or bool(success), total + reward
            over = terminated or truncated
        wins += won
        returns.append(total)
    task.close()
    return wins, float(np.mean(returns))


def without(name: str, episodes: int) -> tuple[int, float]:
    """The same with Meta-World alone."""
    import gymnasium
    import metaworld  # noqa: F401 - registers its environments
    from metaworld.policies import ENV_POLICY_MAP

    env: Any = gymnasium.make("Meta-World/MT1", env_name=name, seed=1, disable_env_checker=True)
    wins, returns = 0, []
    for _ in range(episodes):
        observation, _ = env.reset()
        policy = ENV_POLICY_MAP[name]()
        won, total, over = False, 0.0, False
        while not over:
            action = np.clip(policy.get_action(observation), -1, 1).astype(np.float32)
            observation, reward, terminated, truncated, info = env.step(action)
            won, total = won or bool(info["success"]), total + reward
            over = terminated or truncated
        wins += won
        returns.append(total)
    env.close()
    return wins, float(np.mean(returns))


def main() -> int:
    """Print a table; 1 where a success rate differs beyond noise."""
    parser = argparse.ArgumentParser(description="Meta-World's experts with and without our specs.")
    parser.add_argument("tasks", nargs="*", metavar="TASK", default=list(SPECS))
    parser.add_argument("--episodes", type=int, default=50)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Constant.s. may be too high")
    print(f"{'task':<16} {'ours':>12} {'return':>8} {'without':>12} {'return':>8} {'p':>6}")
    differ = False
    for name in options.tasks:
        n = options.episodes
        (ours, our_return), (theirs, their_return) = through_our_spec(name, n), without(name, n)
        p = float(fisher_exact([[ours, n - ours], [theirs, n - theirs]]).pvalue)
        differ |= p < 0.01
        print(
            f"{name:<16} {f'{ours}/{n}':>12} {our_return:>8.0f} "
            f"{f'{theirs}/{n}':>12} {their_return:>8.0f} {p:>6.2f}",
            flush=True,
        )
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
