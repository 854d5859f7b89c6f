"""A suite: methods x specs x seeds at one budget, and what their scores are held against.

Its folder holds the runs of the cells, each in ``LABEL/SPEC/DATE-TIME``, and ``suite.json``: the
suite and its cells, as they stood when it was last written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from promptpo.common.files import write_atomically
from promptpo.errors import RunError, file_error

#: What a score is: the mean return, or the share of episodes in which the task was achieved.
Measure = Literal["return", "success"]

#: The file in a suite's folder.
FILE = "suite.json"


@dataclass(frozen=True)
class Entrant:
    """A method as it takes part.

    Attributes:
        label: its name in the comparison.
        settings: what its runs are given beside the budget: ``method``, ``model``, options.
        specs: those that it runs on; None: all of the suite.
        seeds: those of its runs; None: all of the suite.
    """

    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    specs: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Published:
    """A published number, which no run of ours stands behind.

    Attributes:
        spec: name of the spec here that is its task.
        method: as the source calls it.
        value: in the units of ``measure``.
        measure: what it counts.
        source: where it was published, e.g. ``arXiv 2605.08315``.
        what: what kind of number it is, e.g. the best of 100 means of 20 episodes, mean of 10 runs.
        spread: its standard deviation over runs, where one is told.
        note: what to know where the tasks or the budgets differ; may be empty.
    """

    spec: str
    method: str
    value: float
    measure: Measure
    source: str
    what: str = ""
    spread: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Scale:
    """What 0 and 1 are on the normalized scale of a spec; None where it is not known.

    ``source`` says where ``best`` comes from; ``random`` is the spec's own reference value.
    """

    measure: Measure
    random: float | None
    best: float | None
    source: str = ""


@dataclass(frozen=True)
class Cell:
    """One run of the suite.

    Attributes:
        label: the entrant.
        spec: name of the spec.
        seed: of the run.
        run: its folder, relative to that of the suite; empty where it has not begun.
        problem: why it was not begun, or why its process failed, where that is so; ``run.json``
            has how a run ended.
    """

    label: str
    spec: str
    seed: int
    run: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Suite:
    """What is compared.

    Attributes:
        name: that of its folder.
        title: one line.
        specs: their names, in the order in which they are shown.
        seeds: of the runs of each method on each spec.
        budget: the limits of every run, by the names of settings (``max_env_steps`` counts the
            steps of search, ``max_calls``, ``max_tokens``, ``max_cost``, ``max_time``).
        entrants: the methods, in the order in which they are shown.
        scales: by spec.
        published: reference rows, on these specs only.
        absent: tasks that the suite would have and that no spec here is, and why.
    """

    name: str
    title: str
    specs: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: Mapping[str, float]
    entrants: tuple[Entrant, ...]
    scales: Mapping[str, Scale] = field(default_factory=dict)
    published: tuple[Published, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)


def write_suite(folder: Path, suite: Suite, cells: Sequence[Cell]) -> None:
    """Replace ``suite.json``."""
    data = {"suite": asdict(suite), "cells": [asdict(cell) for cell in cells]}
    write_atomically(folder / FILE, json.dumps(data, indent=2) + "\n", sync=True)


def read_suite(folder: Path) -> tuple[Suite, list[Cell]]:
    """What ``suite.json`` says. Raises RunError where it cannot be read."""
    file = folder / FILE
    try:
        data = json.loads(file.read_bytes())
        told = data["suite"]
        suite = Suite(
            **{
                **told,
                "specs": tuple(told["specs"]),
                "seeds": tuple(told["seeds"]),
                "entrants": tuple(map(_entrant, told["entrants"])),
                "scales": {name: Scale(**scale) for name, scale in told["scales"].items()},
                "published": tuple(Published(**row) for row in told["published"]),
            }
        )
        return suite, [Cell(**cell) for cell in data["cells"]]
    except OSError as e:
        raise RunError(str(file_error(e, file))) from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as e:
        raise RunError(
            f"{file}: not what promptpo writes there ({e}); `promptpo bench` with the suite's file"
            " writes it anew"
        ) from None


def _entrant(told: Mapping[str, Any]) -> Entrant:
    some = {key: None if told[key] is None else tuple(told[key]) for key in ("specs", "seeds")}
    return Entrant(**{**told, **some})
