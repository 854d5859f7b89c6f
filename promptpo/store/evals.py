"""Results of ``promptpo eval`` as JSON, and those that were kept in a run's folder.

They lie beside what the run itself did, in ``evals/``, and change nothing of it.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpo.common.files import write_atomically
from promptpo.store.codec import decode
from promptpo.types import Episode, Score
from promptpo.version import __version__

#: The folder in a run's folder.
FOLDER = "evals"

#: What the run's own best policy is called there.
OWN = "best/policy.py"


@dataclass(frozen=True)
class ScoredPolicy:
    """One policy's held-out episodes and their score; None where it failed.

    ``policy`` is what it is called, ``source_sha`` the fingerprint of its source (None: it is part
    of the task). Intervals are 95% ones, (low, high). ``worst_tenth`` is where that is the
    objective; ``metrics`` are the task's, as ``promptpo.store.codec.further_scores`` writes them.
    """

    policy: str
    source_sha: str | None
    error: str | None
    mean_return: float | None
    mean_return_interval: tuple[float, ...] | None
    success_rate: float | None
    success_rate_interval: tuple[float, ...] | None
    steps: int
    clipped: float
    episodes: tuple[Episode, ...]
    worst_tenth: float | None = None
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def score(self) -> Score:
        """Mean return, success rate and worst tenth."""
        if self.mean_return is None:
            return Score(failed=True)
        return Score(self.mean_return, self.success_rate, worst_tenth=self.worst_tenth)


@dataclass(frozen=True)
class PolicyTest:
    """Policy ``a`` against policy ``b`` by one measure, as ``promptpo.comparison`` has it."""

    measure: str
    a: str
    b: str
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    paired: bool
    count_a: int
    count_b: int


@dataclass(frozen=True)
class KeptEvaluation:
    """The results of one ``promptpo eval --keep``.

    ``time`` is in UTC, ``seed`` the run seed of the held-out episodes (None: several).
    """

    time: str
    seed: int | None
    evaluations: tuple[ScoredPolicy, ...]
    tests: tuple[PolicyTest, ...]


def keep(run: Path, results: Mapping[str, Any]) -> Path:
    """Write results, as plain values, into the folder of a run; returns the file."""
    now = time.time()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    names = (f"{stamp}.json" if n == 1 else f"{stamp}-{n}.json" for n in itertools.count(1))
    file = next(f for name in names if not (f := run / FOLDER / name).exists())
    about = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        "promptpo": __version__,
    }
    write_atomically(file, json.dumps({**about, **results}, indent=2, allow_nan=False) + "\n")
    return file


def load_evaluations(run: Path) -> tuple[tuple[KeptEvaluation, ...], tuple[str, ...]]:
    """Return the results in the folder of a run, oldest first, and a line for each damaged file."""
    results: list[KeptEvaluation] = []
    damaged = []
    for file in sorted((run / FOLDER).glob("*.json")):
        try:
            results.append(decode(KeptEvaluation, json.loads(file.read_bytes())))
        except (OSError, ValueError, RecursionError):
            damaged.append(f"{file}: not what `promptpo eval --keep` writes there; remove it")
    return tuple(results), tuple(damaged)
