"""A suite's folder with runs of a test's choice."""

import random

from written_runs import written_run

from promptpo.matrix.results import BenchRun
from promptpo.matrix.suite import Entrant, Published, Scale, Suite

PUBLISHED = Published(
    "walk", "R2PO & co", 61.5, "return", "arXiv 2605.08315", "the best of 100 means", 3.0
)


def suite_of(specs=("walk", "reach"), labels=("alpha", "beta"), seeds=(0, 1, 2), **rest):
    scales = {name: Scale("return", 20.0, 95.0, "an expert") for name in specs}
    if "reach" in specs:
        scales["reach"] = Scale("success", 0.0, 1.0, "all of them")
    entrants = tuple(Entrant(label) for label in labels)
    return Suite(
        "small", "Two methods on toys", tuple(specs), tuple(seeds), {"max_env_steps": 1000},
        entrants, rest.pop("scales", scales), (PUBLISHED,), {"pong": "no spec is it"},
    )  # fmt: skip


def cell(folder, label, spec, seed, **how):
    """A run of a cell; without ``search`` and ``test``, numbers that the names decide."""
    rng = random.Random(f"{label} {spec} {seed}")
    level = 55.0 + 25 * rng.random() - 10 * (label != "alpha")
    how = {
        "search": [level * share for share in (0.3, 0.7, 0.6, 1.05)],
        "test": [level + rng.gauss(0, 12) for _ in range(20)],
        "successes": spec == "reach",
        **how,
    }
    run = written_run(folder / label, spec=spec, seed=seed, **how)
    return BenchRun(label, spec, seed, str(run.relative_to(folder)))


def whole(folder, suite, **how):
    """All runs of a suite, played."""
    return [
        cell(folder, entrant.label, spec, seed, **how)
        for entrant in suite.entrants
        for spec in suite.specs
        for seed in suite.seeds
    ]
