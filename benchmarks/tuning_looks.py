"""How often the last word of tuning errs, and what it notices: looks at simulated differences.

    python benchmarks/tuning_looks.py [--times 1000] [--seed 1]

The paired differences (tuned less written) of each comparison are drawn, five a look, as tuning
plays them, and judged by ``promptpo.tuning.judging.verdict`` at the levels of the tuner. Shares of
"better" at a mean difference of 0 are errors, at others they are the power. Beside it Student's t
at the same levels, and "a better estimate": the share in which what is open has the better mean.
"""

import argparse
from collections.abc import Callable

import numpy as np

from promptpo.outcomes import Episode, Rollout
from promptpo.tuning.judging import better, verdict
from promptpo.tuning.tuner import FINAL, LEVELS

Draw = Callable[[np.random.Generator, int], np.ndarray]


def _rare(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return 1 for a hundredth of the episodes, else 0."""
    return (rng.random(count) < 0.01).astype(float)


#: Differences of mean 0 and, but for their tails, standard deviation 1.
KINDS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Student's t, 2 degrees of freedom": lambda rng, n: rng.standard_t(2, size=n),
    "1% catastrophes of 100 in either": lambda rng, n: (
        rng.normal(size=n) + 100 * (_rare(rng, n) - _rare(rng, n))
    ),
    "1% catastrophes of 100 as written alone": lambda rng, n: (
        rng.normal(size=n) + 100 * _rare(rng, n) - 1
    ),
    "1% catastrophes of 100 as tuned alone": lambda rng, n: (
        rng.normal(size=n) - 100 * _rare(rng, n) + 1
    ),
}


def outcome(differences: np.ndarray, looks: int) -> tuple[bool, bool, bool]:
    """Return whether the looks end with "better", by t too, and whether an open end is ahead."""
    zeros = np.zeros_like(differences)
    level, by_t, sign = LEVELS[looks], False, 0
    for look in range(1, looks + 1):
        count = look * FINAL
        met = {(i,): _rollout(x[:count]) for i, x in enumerate((zeros, differences))}
        by_t = by_t or better(met, (1,), (0,), level)
        sign = sign or verdict(met, (1,), (0,), level)
    return sign > 0, by_t, not sign and differences.mean() > 0


def shares(draw: Draw, shift: float, looks: int, times: int, seed: int) -> list[float]:
    """Return the shares of ``outcome`` over so many comparisons at a mean difference."""
    rng = np.random.default_rng(seed)
    ends = [outcome(draw(rng, looks * FINAL) + shift, looks) for _ in range(times)]
    return [float(np.mean(column)) for column in zip(*ends, strict=True)]


def _rollout(returns: np.ndarray) -> Rollout:
    episodes = tuple(Episode(i, float(r), 1) for i, r in enumerate(returns))
    return Rollout("selection", tuple(range(len(returns))), episodes, len(returns))


def main() -> None:
    """Print a table, a row for each kind of differences, number of looks and mean."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=1000, help="comparisons of each row")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print("| differences | looks | mean | better | better by t | open, ahead |")
    print("|---|---|---|---|---|---|")
    for name, draw in KINDS.items():
        for looks in (2, 8):
            for shift in (0.0, 1.0, 2.0):
                row = shares(draw, shift, looks, arguments.times, arguments.seed)
                cells = " | ".join(f"{share:.3f}" for share in row)
                print(f"| {name} | {looks} | {shift:g} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
