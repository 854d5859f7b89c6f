"""What scores are held against: the best known of each task, and published numbers.

``best_known.toml`` and ``published.toml`` beside this module hold them, each with its source.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from promptpo.bench.suite import Measure, Published, Scale
from promptpo.common.values import unknown_name
from promptpo.errors import UsageError
from promptpo.spec import EnvSpec

#: References of a spec that say what is possible, the better one first.
_POSSIBLE = ("optimum", "expert")


def scale_of(spec: EnvSpec, measure: Measure | None = None) -> Scale:
    """What 0 and 1 are for a spec: random actions, and the best known.

    The measure is success where the task defines it, unless one is given.
    """
    references = spec.reference_scores
    chance = references.get("random")
    if measure is None:
        measure = "success" if spec.success is not None else "return"
    elif measure == "success" and spec.success is None:
        raise UsageError(f"{spec.name} defines no success; measure its return")
    told = [(name, references[name]) for name in _POSSIBLE if name in references]
    if measure == "success":
        rates = [(r.success_rate, name) for name, r in told if r.success_rate is not None]
        best, source = rates[0] if rates else (1.0, "the most that is possible")
        return Scale(measure, chance.success_rate if chance else None, best, _by_spec(source))
    at_random = chance.mean_return if chance else None
    if row := _best_known().get(spec.name):
        return Scale(measure, at_random, float(row["best"]), str(row["source"]))
    if not told:
        return Scale(measure, at_random, None)
    name, reference = told[0]
    return Scale(measure, at_random, reference.mean_return, _by_spec(name))


def _by_spec(name: str) -> str:
    return f"the spec's {name}" if name in _POSSIBLE else name


def published(tables: Iterable[str], specs: Iterable[str]) -> list[Published]:
    """The rows of some tables of ``published.toml`` on some specs, in the order of both.

    Raises UsageError, naming the nearest, for a table that there is not.
    """
    known, wanted, rows = _published(), list(specs), list[Published]()
    for name in tables:
        if name not in known:
            raise UsageError(unknown_name("table of published numbers", name, known))
        table = known[name]
        about = {key: table.get(key, "") for key in ("source", "what", "note", "measure")}
        for spec in wanted:
            for method, numbers in table["values"].get(spec, {}).items():
                value, *spread = map(float, numbers)
                told = spread[0] if spread else None
                rows.append(Published(spec, method, value, spread=told, **about))
    return rows


@functools.cache
def _best_known() -> Mapping[str, Mapping[str, Any]]:
    return _data("best_known.toml")


@functools.cache
def _published() -> Mapping[str, Mapping[str, Any]]:
    return _data("published.toml")


def _data(name: str) -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
