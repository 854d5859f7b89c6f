"""Benchmarks: a suite's plan in its folder ``OUT/bench/NAME``, and the files of its comparison.

``suite.json`` in the folder holds the suite and its runs, as they stood when it was last written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

from promptpo.common.files import write_atomically
from promptpo.comparison.comparison import csv_text
from promptpo.config import RunConfig, fields
from promptpo.errors import FileError, ModelError, UsageError, file_error
from promptpo.llm.messages import BUILTIN
from promptpo.llm.providers import EXAMPLES, check_configured
from promptpo.matrix.overview import Statuses
from promptpo.matrix.plan import BENCHMARKS, SUITE_FILE, Plan, PlanFolder, PlannedRun
from promptpo.matrix.results import CELLS, CURVES, BenchRun, read_results
from promptpo.matrix.runner import Outcome, run_plan, statuses_of
from promptpo.matrix.suite import Entrant, Suite
from promptpo.methods import find_method
from promptpo.run import settings as run_settings
from promptpo.run.settings import recording_path

#: Settings that make no difference to what is compared: they may change from session to session.
_FREE = {
    name
    for name, declared in fields(RunConfig).items()
    if declared.resumable and declared.group in ("machine", "model", "task")
} - {"model"}

#: Limits on calls of language models: nothing that bounds a run which asks none.
_OF_MODELS = ("max_calls", "max_tokens", "max_cost")


@dataclass(frozen=True)
class Bench:
    """A suite in its folder.

    Attributes:
        suite: methods, specs and seeds that are compared.
        folder: folder of the benchmark.
        plan: runs that can be carried out.
        chosen: labels of the methods that are to be run now.
        idle: runs that cannot be carried out, and why.
    """

    suite: Suite
    folder: PlanFolder
    plan: Plan
    chosen: Collection[str]
    idle: Mapping[PlannedRun, str] = field(default_factory=dict)

    def run(self, stream: TextIO, announce: Callable[[int, int | None], None]) -> Outcome:
        """Carry out what is missing; ``suite.json`` is written before and after.

        Raises UsageError where runs in the folder have other settings than the suite gives them.
        """

        def again(run: PlannedRun) -> dict[str, Any]:
            return {k: v for k, v in self.plan.settings_of(run).items() if k in _FREE}

        self.check()
        self.write({})
        outcome = run_plan(
            self.folder,
            self.plan,
            stream,
            announce,
            chosen=lambda run: run.label in self.chosen,
            again=again,
        )
        self.write(outcome.statuses)
        return outcome

    def outcome(self) -> Outcome:
        """Return how the runs stand, and write ``suite.json``; nothing is run."""
        self.check()
        statuses = statuses_of(self.folder, self.plan)
        self.write(statuses)
        return Outcome(0, statuses)

    def check(self) -> None:
        """Make the folder. Raises UsageError where runs in it have other settings, FileError."""
        path = self.folder.path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise FileError(f"{path}: {e.strerror}; give --out a folder to write in") from None
        before = _plan_in(self.folder)
        for run in self.plan.runs:
            if run not in before.own or self.folder.run_of(run) is None:
                continue
            was, now = (
                {k: v for k, v in plan.settings_of(run).items() if k not in _FREE}
                for plan in (before, self.plan)
            )
            changed = [name for name in {**was, **now} if was.get(name) != now.get(name)]
            if not changed:
                continue
            name, method = changed[0], str(now.get("method") or was.get("method"))
            declared = run_settings.fields(method)
            spelled = declared[name].flag if name in declared else f"--{name}"
            raise UsageError(
                f"{path}: {run} was run with {spelled} {was.get(name)}, and the suite now says"
                f" {now.get(name)}; give the suite another name, the method another label, or put"
                " it back"
            )

    def write(self, statuses: Statuses) -> None:
        """Write ``suite.json``: the suite, and its runs as they stand."""
        cells = [
            {
                "label": r.label,
                "spec": r.spec,
                "seed": r.seed,
                "run": r.folder,
                "problem": r.problem,
            }
            for r in self.runs(statuses)
        ]
        data = {"suite": self.suite.as_dict(), "cells": cells}
        file = self.folder.path / SUITE_FILE
        try:
            write_atomically(file, json.dumps(data, indent=2) + "\n", sync=True)
        except OSError as e:
            raise file_error(e, self.folder.path) from None

    def runs(self, statuses: Statuses) -> list[BenchRun]:
        """Return all runs of the suite, by spec, then by method, with their folders."""
        problems = dict(self.idle)
        for planned, status in statuses.items():
            if status is not None and status.status == "failed":
                problems[planned] = status.reason
        runs = []
        for planned in [*self.plan.runs, *self.idle]:
            path = self.folder.run_of(planned)
            where = str(path.relative_to(self.folder.path)) if path else ""
            problem = problems.get(planned, "")
            runs.append(BenchRun(planned.label, planned.name, planned.seed, where, problem))
        specs, labels = self.suite.specs, self.suite.labels
        return sorted(runs, key=lambda run: (specs.index(run.spec), labels.index(run.label)))


def open_bench(
    suite: Suite,
    out: Path,
    *,
    model: str | None = None,
    only: Sequence[str] = (),
    machine: Mapping[str, Any] = MappingProxyType({}),
    asks: bool = True,
) -> Bench:
    """Return a suite with its plan; nothing is begun.

    ``model`` is for the methods that ask one and name none (default: $PROMPTPO_MODEL), ``only`` the
    labels of those that are to be run now, ``machine`` settings that make no difference to what is
    compared. Raises UsageError for an unknown label and, if anything is going to be asked,
    ModelError where a model that is needed is not configured.
    """
    RunConfig(model=model, **machine)  # raises UsageError for a value that does not fit
    if unknown := next((label for label in only if label not in suite.labels), None):
        methods = ", ".join(suite.labels)
        raise UsageError(f"--only {unknown}: the methods of this suite are {methods}")
    chosen = list(only) or list(suite.labels)
    model = model or os.environ.get("PROMPTPO_MODEL", "").strip() or None
    if asks:
        _check_models([e for e in suite.entrants if e.label in chosen], model)
    folder = PlanFolder(out / BENCHMARKS / suite.name)
    before = _plan_in(folder)
    own: dict[PlannedRun, Mapping[str, Any]] = {}
    idle: dict[PlannedRun, str] = {}
    for entrant in suite.entrants:
        for name in entrant.specs or suite.specs:
            for seed in entrant.seeds or suite.seeds:
                run = PlannedRun(suite.refs[name], name, seed, entrant.label)
                settings = dict(entrant.settings)
                if _asks(entrant):
                    settings["model"] = _model_of(settings.get("model") or model, run, suite.folder)
                    if settings["model"] == BUILTIN:
                        settings |= dict.fromkeys(_OF_MODELS)
                if entrant.label not in chosen and run in before.own:
                    own[run] = before.own[run]
                elif problem := _missing_recording(settings, name):
                    idle[run] = problem
                else:
                    own[run] = settings
    return Bench(suite, folder, Plan.of(own, {**suite.budget, **machine}, own), chosen, idle)


def _asks(entrant: Entrant) -> bool:
    return find_method(str(entrant.settings["method"])).needs_model


def _check_models(entrants: Sequence[Entrant], model: str | None) -> None:
    """Raise ModelError where a model is asked that is not configured."""
    asking = [e for e in entrants if _asks(e)]
    if without := [e.label for e in asking if not (e.settings.get("model") or model)]:
        free = [e.label for e in entrants if e.label not in without]
        rest = f", or run those that need none: --only '{','.join(free)}'" if free else ""
        words = f"{', '.join(without)}: no language model is configured; use {EXAMPLES}{rest}"
        raise ModelError(words)
    for entrant in asking:
        name = str(entrant.settings.get("model") or model)
        if name == BUILTIN and not find_method(str(entrant.settings["method"])).asks_for_policies:
            what = f"{BUILTIN} writes policies, and this method asks for parameters"
            raise UsageError(f"{entrant.label}: {what}; leave it out by --only")
        check_configured(name, entrant.settings.get("api_base"))


def _model_of(name: str | None, run: PlannedRun, folder: Path) -> str | None:
    """Return the model of a run; ``{spec}`` and ``{seed}`` in a recording's path are filled in."""
    kind, _, path = (name or "").partition(":")
    if kind != "recorded" or not path:
        return name
    path = path.replace("{spec}", run.name).replace("{seed}", str(run.seed))
    return f"{kind}:{folder / path}"


def _missing_recording(settings: Mapping[str, Any], spec: str) -> str:
    """Return why a run whose replies are replayed cannot be begun; empty where it can."""
    kind, _, path = str(settings.get("model")).partition(":")
    if kind != "recorded":
        return ""
    if not path:
        ships = recording_path(kind, spec, str(settings["method"]))
        return "" if ships else "no recording of the spec ships"
    return "" if Path(path).exists() else f"no recording: {path}"


def _plan_in(folder: PlanFolder) -> Plan:
    """Return the plan of the folder's last use; an empty one where it is new."""
    return folder.read() if folder.file.is_file() else Plan((), {})


def write_comparison(folder: Path, suite: Suite, runs: Sequence[BenchRun]) -> list[Path]:
    """Write the comparison of a suite's runs into its folder; return the files.

    Runs that are missing, have failed or are still going on are shown as such. Figures and the
    LaTeX table are left out where a package for them is missing, and the page says so. Raises
    UsageError where the folder cannot be written to.
    """
    from promptpo.matrix.page import PageView

    results = read_results(folder, suite, runs)
    view = PageView(results)
    notes = list(results.notes)
    for_paper: dict[str, str | bytes] = {}
    try:
        from promptpo.matrix.paper import figures, latex_table

        for_paper["table.tex"] = latex_table(results)
        for_paper |= {f"figures/{name}": content for name, content in figures(view).items()}
    except UsageError as e:
        notes.append(f"Files for a paper are missing: {e}")
    contents: dict[str, str | bytes] = {
        "cells.csv": csv_text(CELLS, [run.as_dict() for run in results.runs]),
        "curves.csv": csv_text(CURVES, results.curve_records()),
        "comparison.json": json.dumps(results.as_dict(notes), indent=1) + "\n",
        **for_paper,
    }
    contents["index.html"] = view.page(notes, sorted(contents)).render()
    try:
        for name, content in contents.items():
            write_atomically(folder / name, content)
    except OSError as e:
        raise UsageError(str(file_error(e, folder))) from None
    return [folder / name for name in contents]
