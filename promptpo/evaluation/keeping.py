"""Results of ``promptpo eval`` in the folder of the run whose best policy was scored.

They lie beside what the run itself did, in ``evals/``, and change nothing of it.
"""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

from promptpo.common.files import write_atomically
from promptpo.evaluation.ranking import PolicyComparison
from promptpo.version import __version__


def keep(found: PolicyComparison) -> list[Path]:
    """Write the results into ``evals/`` of every run among them; returns the files."""
    files = []
    now = time.time()
    for folder in dict.fromkeys(e.run for e in found.evaluations if e.run is not None):
        file = _free(folder / "evals", time.strftime("%Y%m%d-%H%M%S", time.localtime(now)))
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        content = {"time": stamp, "promptpo": __version__, **_seen_from(folder, found)}
        write_atomically(file, json.dumps(content, indent=2, allow_nan=False) + "\n")
        files.append(file)
    return files


def _seen_from(folder: Path, found: PolicyComparison) -> dict[str, Any]:
    """The results with policies called as they lie from a run's folder: it may be moved."""
    names = {}
    for e in found.evaluations:
        other = Path(e.policy).name if Path(e.policy).is_absolute() else e.policy
        names[e.policy] = "best/policy.py" if e.run == folder else other
    data = found.as_dict()
    for evaluation in data["evaluations"]:
        evaluation["policy"] = names[evaluation["policy"]]
    for test in data["tests"]:
        test["a"], test["b"] = names[str(test["a"])], names[str(test["b"])]
    return data


def _free(folder: Path, stamp: str) -> Path:
    """A name that no other result has."""
    names = (f"{stamp}.json" if n == 1 else f"{stamp}-{n}.json" for n in itertools.count(1))
    return next(folder / name for name in names if not (folder / name).exists())
