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
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from promptpo.spec import EnvSpec, layout, load_spec
from promptpo.spec.running.task import Task

FOLDER = Path(__file__).resolve().parent.parent / "env_specs" / "_twins" / "policies"


@dataclass(frozen=True)
class Form:
    """What a policy computes: ``weights @ features``, clipped, or the greatest for ints."""

    columns: tuple[int, ...]
    actions: int
    discrete: bool
    rate: float
    products: bool

    @property
    def size(self) -> int:
        """How many numbers of an observation it looks at."""
        return len(self.columns)

    @property
    def count(self) -> int:
        """How many features there are, the constant included."""
        pairs = self.size * (self.size + 1) // 2 if self.products else 0
        return self.size + pairs + (4 if self.rate else 0) + 1

    @property
    def length(self) -> int:
        """How many parameters there are: the weights, and the logarithm of the rate's factor."""
        return self.actions * self.count + 1

    def features(self, seen: np.ndarray, phase: float) -> np.ndarray:
        """The features of an observation, shape ``(count,)``; the constant comes last."""
        seen = seen[list(self.columns)]
        parts = [seen]
        if self.products:
            parts.append(np.outer(seen, seen)[np.triu_indices(self.size)])
        if self.rate:
            angles = (phase, phase + math.pi / 2, 2 * phase, 2 * phase + math.pi / 2)
            parts.append(np.sin(angles))
        return np.concatenate((*parts, (1.0,)))

    def action(self, weights: np.ndarray, features: np.ndarray) -> Any:  # noqa: ANN401
        """The action of the environment."""
        numbers = weights @ features
        return int(numbers.argmax()) if self.discrete else np.clip(numbers, -1.0, 1.0)


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


def form_of(task: Task, options: argparse.Namespace) -> Form:
    """The form of a policy for a task."""
    fields = layout(task.spec.observation)
    unknown = {*options.without} - {item.name for item in fields}
    if unknown:
        sys.exit(f"--without: no field {', '.join(unknown)} among {[i.name for i in fields]}")
    columns = [
        at for item in fields if item.name not in options.without
        for at in range(item.start, item.stop)
    ]  # fmt: skip
    space = task.env.action_space
    discrete = hasattr(space, "n")
    actions = int(space.n) if discrete else int(np.prod(space.shape))
    return Form(tuple(columns), actions, discrete, options.oscillator, options.products)


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


POLICY = '''\
"""Reference of twin:{name}: mean return {score:.4g}, found in {steps:.2g} steps.

{command}
"""

from typing import Any

import numpy as np


class Policy:
    """{strategy}"""

    WEIGHTS = np.array(
        [
{rows}
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
{fields}
            ]
        )
        features = [seen{features}, np.ones(1)]
        self.step += 1
        return {action}
'''

STRATEGY = {
    (False, False): "Linear in what is observed.",
    (True, False): "Linear in what is observed and in sine and cosine of a steady phase.",
    (False, True): "Linear in what is observed and in all products of two of its numbers.",
    (True, True): "Linear in what is observed, its products of two, and a steady phase.",
}


def policy_source(
    spec: EnvSpec, best: tuple[np.ndarray, float], form: Form, score: float, steps: float
) -> str:
    """The policy as a file that ``promptpo eval`` can play."""
    weights, rate = best
    rows = "\n".join(
        textwrap.indent(f"[\n{_wrapped(row)}\n],", " " * 12) for row in np.atleast_2d(weights)
    )
    seen = [item.name for item in layout(spec.observation) if item.start in form.columns]
    fields = "\n".join(f"{' ' * 16}np.ravel(obs.{name})," for name in seen)
    features = ", np.outer(seen, seen)[np.triu_indices(len(seen))]" if form.products else ""
    if form.rate:
        features += (
            f", np.sin({rate:.6g} * self.step * np.array([1, 1, 2, 2])"
            " + np.array([0, np.pi / 2, 0, np.pi / 2]))"
        )
    value = "self.WEIGHTS @ np.concatenate(features)"
    return POLICY.format(
        name=spec.ref.partition(":")[2],
        score=score,
        steps=steps,
        command=textwrap.fill(f"python {' '.join(sys.argv)}", 98, break_on_hyphens=False),
        strategy=STRATEGY[bool(form.rate), form.products],
        rows=rows,
        fields=fields,
        features=features,
        action=f"int(np.argmax({value}))" if form.discrete else f"np.clip({value}, -1.0, 1.0)",
    )


def _wrapped(row: np.ndarray) -> str:
    return textwrap.fill(
        ", ".join(f"{value:.6g}" for value in row) + ",",
        80,
        initial_indent="    ",
        subsequent_indent="    ",
    )


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
