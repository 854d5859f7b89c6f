"""Searches for a policy that shows what is possible on a twin, with millions of steps.

python benchmarks/twin_references.py mujoco_hopper --steps 4e6 --oscillator 2.0

Augmented Random Search (Mania, Guy and Recht 2018, arXiv 1803.07055, version V2-t) on a policy that
is linear in the observation, or in it and the sine and cosine of a phase that turns at a constant
rate (``--oscillator``), or in it and all products of two of its numbers (``--products``). Prints
the best mean of fresh episodes and writes the policy to ``env_specs/_twins/policies/NAME.py``; then

python -m promptpo.spec.baselines twin:mujoco_hopper --json env_specs/_twins/references.json

``--original`` searches on the original instead, to compare with, and writes nothing.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from linear_policies import Form, form_of, policy_source

from promptpo.spec import load_spec
from promptpo.spec.task import Task

FOLDER = Path(__file__).resolve().parent.parent / "env_specs" / "_twins" / "policies"


@dataclass
class Moments:
    """Running mean and variance of the features, by which they are normalized."""

    count: float = 1e-4
    mean: Any = 0.0
    squares: Any = 0.0

    def add(self, count: int, mean: np.ndarray, squares: np.ndarray) -> None:
        """Take in the moments of so many more (Chan et al. 1979)."""
        total = self.count + count
        difference = mean - self.mean
        self.squares = self.squares + squares + difference**2 * self.count * count / total
        self.mean = self.mean + difference * count / total
        self.count = total

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations; 1 where a feature does not change."""
        found = np.sqrt(np.asarray(self.squares) / self.count)
        return np.where(found < 1e-8, 1.0, found)


class Player:
    """Plays episodes in a process of its own."""

    task: Task
    form: Form

    @classmethod
    def open(cls, ref: str, options: argparse.Namespace) -> None:
        """Build the task, once for each process."""
        cls.task = Task.open(load_spec(ref))
        cls.form = form_of(cls.task, options)

    @classmethod
    def play(cls, job: tuple[np.ndarray, float, int, float]) -> tuple[float, float, int, Any]:
        """Return, return less the bonus of each step, length, moments of the features."""
        weights, rate, seed, bonus = job
        form, task = cls.form, cls.task
        seen, total, step, done = task.reset(seed), 0.0, 0, False
        rows = []
        while not done:
            rows.append(form.features(seen, rate * step))
            row = np.atleast_1d(np.asarray(form.action(weights, rows[-1]), dtype=np.float64))
            seen, reward, terminated, truncated, _ = task.step(row)
            total, step, done = total + reward, step + 1, terminated or truncated
        table = np.array(rows)
        mean = table.mean(axis=0)
        return total, total - bonus * step, step, (step, mean, ((table - mean) ** 2).sum(axis=0))


@dataclass
class Search:
    """The state of one search; the weights are for normalized features."""

    form: Form
    options: argparse.Namespace
    pool: Any
    rng: np.random.Generator
    moments: Moments = field(default_factory=Moments)
    steps: int = 0
    seed: int = 0

    def plain(self, parameters: np.ndarray) -> tuple[np.ndarray, float]:
        """The weights for features as they are, and the phase of a step."""
        weights = parameters[:-1].reshape(self.form.actions, self.form.count)
        scaled = weights / self.moments.deviation
        mean = np.broadcast_to(self.moments.mean, weights.shape[1:])
        scaled[:, -1] = weights[:, -1] - scaled[:, :-1] @ mean[:-1]
        return scaled, self.form.rate * math.exp(parameters[-1])

    def played(self, candidates: list[np.ndarray], episodes: int, bonus: float) -> np.ndarray:
        """Returns of all candidates on common fresh episodes, shape (candidates, episodes)."""
        seeds = range(self.seed, self.seed + episodes)
        self.seed += episodes
        jobs = [(*self.plain(c), seed, bonus) for c in candidates for seed in seeds]
        results = self.pool.map(Player.play, jobs, chunksize=max(len(jobs) // 8, 1))
        for _, _, length, moments in results:
            self.steps += length
            self.moments.add(*moments)
        which = 1 if bonus else 0
        return np.array([r[which] for r in results]).reshape(len(candidates), episodes)

    def iteration(self, parameters: np.ndarray) -> np.ndarray:
        """One update from the best of the directions."""
        o = self.options
        directions = [self.rng.standard_normal(parameters.shape) for _ in range(o.directions)]
        tried = [parameters + s * o.noise * d for d in directions for s in (1.0, -1.0)]
        returns = self.played(tried, o.episodes, o.bonus).mean(axis=1).reshape(-1, 2)
        best = np.argsort(-returns.max(axis=1))[: o.best]
        spread = returns[best].std() + 1e-8
        update = sum((returns[i, 0] - returns[i, 1]) * directions[i] for i in best)
        return parameters + o.step / (len(best) * spread) * update


def search(options: argparse.Namespace, ref: str) -> tuple[tuple[np.ndarray, float], Form, float]:
    """The best weights and rate that were met, their form, their mean return on fresh episodes."""
    Player.open(ref, options)
    form = Player.form
    parameters = np.zeros(form.length)
    began, best, score = time.monotonic(), (np.zeros((form.actions, form.count)), 0.0), -math.inf
    with multiprocessing.Pool(options.processes, Player.open, (ref, options)) as pool:
        state = Search(form, options, pool, np.random.default_rng(options.seed))
        state.seed = 1_000_000 + 100_000 * options.seed
        state.played([parameters], 4, 0.0)
        number = 0
        while state.steps < options.steps:
            parameters = state.iteration(parameters)
            number += 1
            if number % options.every:
                continue
            mean = state.played([parameters], 10, 0.0).mean()
            if mean > score:
                better = state.played([parameters], 30, 0.0).mean()
                if better > score:
                    best, score = state.plain(parameters), better
            minutes = (time.monotonic() - began) / 60
            print(
                f"{ref}  {state.steps:,} steps  {minutes:.1f} min  {mean:.1f}  best {score:.1f}",
                flush=True,
            )
    return best, form, score


def main() -> None:
    """Search, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", help="a spec that has twins")
    parser.add_argument("--original", action="store_true")
    parser.add_argument("--steps", type=float, default=2e6)
    parser.add_argument("--oscillator", type=float, default=0.0, help="rad of phase in a step")
    parser.add_argument("--products", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], help="fields that it does not look at")
    parser.add_argument("--step", type=float, default=0.02, help="length of an update")
    parser.add_argument("--noise", type=float, default=0.03)
    parser.add_argument("--directions", type=int, default=16)
    parser.add_argument("--best", type=int, default=8, help="directions that count")
    parser.add_argument("--episodes", type=int, default=1, help="for each sign of a direction")
    parser.add_argument(
        "--bonus", type=float, default=0.0, help="reward of a step that is left out"
    )
    parser.add_argument("--every", type=int, default=10, help="updates between two evaluations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    ref = options.name if options.original else f"twin:{options.name}"
    best, form, score = search(options, ref)
    print(f"{ref}: {score:.1f}")
    if not options.original:
        text = policy_source(load_spec(ref), best, form, score, options.steps)
        (FOLDER / f"{options.name}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
