"""Results of ``promptpo eval`` in the folders of the runs whose best policies were scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from promptpo.evaluation.ranking import PolicyComparison
from promptpo.store import evals


def keep(found: PolicyComparison) -> list[Path]:
    """Write the results into every run among them; returns the files."""
    folders = dict.fromkeys(e.run for e in found.evaluations if e.run is not None)
    return [evals.keep(folder, _seen_from(folder, found)) for folder in folders]


def _seen_from(folder: Path, found: PolicyComparison) -> dict[str, Any]:
    """The results with policies called as they lie from a run's folder: it may be moved."""
    names = {}
    for e in found.evaluations:
        other = Path(e.policy).name if Path(e.policy).is_absolute() else e.policy
        names[e.policy] = evals.OWN if e.run == folder else other
    data = found.as_dict()
    for evaluation in data["evaluations"]:
        evaluation["policy"] = names[evaluation["policy"]]
    for test in data["tests"]:
        test["a"], test["b"] = names[test["a"]], names[test["b"]]
    return data
