"""Runs the cells of a suite side by side, goes on where it was interrupted, and keeps account.

A suite is a sweep whose runs have labels: its folder, ``OUT/bench/NAME``, is that of one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO

from promptpo.bench.suite import Cell, Entrant, Suite, write_suite
from promptpo.bench.suite_file import SuiteFile
from promptpo.config import RunConfig, fields
from promptpo.errors import FileError, ModelError, UsageError, file_error
from promptpo.llm.messages import BUILTIN
from promptpo.llm.providers import EXAMPLES, check_configured
from promptpo.methods import asks_for_policies, find_method
from promptpo.run.options import flag
from promptpo.run.settings import recording_path
from promptpo.sweep.course import Ended, Statuses, go_on, standing
from promptpo.sweep.folder import BENCHMARKS, SweepFolder
from promptpo.sweep.plan import Member, Plan
from promptpo.sweep.schedule import Task

#: Settings that make no difference to what is compared: they may change from session to session.
_FREE = {
    name
    for name, declared in fields().items()
    if declared.metadata["resumable"] and declared.metadata["group"] in ("machine", "model", "task")
} - {"model"}


@dataclass(frozen=True)
class Bench:
    """A suite in its folder.

    Attributes:
        suite: what is compared.
        folder: where.
        plan: the cells that can be run.
        chosen: labels of those that are to be run now.
        idle: cells that cannot be run, and why.
    """

    suite: Suite
    folder: SweepFolder
    plan: Plan
    chosen: Collection[str]
    idle: Mapping[Member, str] = field(default_factory=dict)

    def run(self, stream: TextIO, announce: Callable[[Sequence[Task], int | None], None]) -> Ended:
        """Carry out what is missing; ``suite.json`` stands before and is renewed after it.

        Raises UsageError where runs in the folder have other settings than the suite gives them.
        """
        self.check()
        self.record({})

        def is_chosen(member: Member) -> bool:
            return member.label in self.chosen

        def again(member: Member) -> dict[str, Any]:
            return {k: v for k, v in self.plan.settings_of(member).items() if k in _FREE}

        ended = go_on(self.folder, self.plan, stream, announce, chosen=is_chosen, again=again)
        self.record(ended.statuses)
        return ended

    def standing(self) -> Ended:
        """How the cells stand, and ``suite.json`` that says so; nothing is run."""
        self.check()
        statuses = standing(self.folder, self.plan)
        self.record(statuses)
        return Ended(0, statuses)

    def record(self, statuses: Statuses) -> None:
        """Write ``suite.json``: the suite, and its cells as they stand."""
        problems = dict(self.idle)
        for member, status in statuses.items():
            if status is not None and status.status == "failed":
                problems[member] = status.reason
        cells = []
        for member in [*self.plan.members, *self.idle]:
            run = self.folder.run_of(member)
            where = str(run.relative_to(self.folder.path)) if run else ""
            problem = problems.get(member, "")
            cells.append(Cell(member.label, member.name, member.seed, where, problem))
        order = _order(self.suite)
        cells.sort(key=lambda c: order[c.spec, c.label])
        try:
            write_suite(self.folder.path, self.suite, cells)
        except OSError as e:
            raise file_error(e, self.folder.path) from None

    def check(self) -> None:
        """Make the folder. Raises UsageError where runs in it have other settings, FileError."""
        path = self.folder.path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise FileError(f"{path}: {e.strerror}; give --out a folder to write in") from None
        before = _plan_in(self.folder)
        for member in self.plan.members:
            if member not in before.own or self.folder.run_of(member) is None:
                continue
            was, now = _settings(before, member), _settings(self.plan, member)
            if changed := [name for name in {**was, **now} if was.get(name) != now.get(name)]:
                name, method = changed[0], str(now.get("method") or was.get("method"))
                try:
                    spelled = flag(name, method)
                except KeyError:
                    spelled = f"--{name}"
                raise UsageError(
                    f"{path}: {member} was run with {spelled} {was.get(name)}, and the suite now"
                    f" says {now.get(name)}; give the suite another name, the method another"
                    " label, or put it back"
                )


def open_bench(
    file: SuiteFile,
    out: Path,
    *,
    model: str | None = None,
    only: Sequence[str] = (),
    machine: Mapping[str, Any] = MappingProxyType({}),
    asks: bool = True,
) -> Bench:
    """A suite with its plan; nothing is begun.

    ``model`` is for the methods that ask one and name none (default: $PROMPTPO_MODEL), ``only`` the
    labels of those that are to be run now, ``machine`` settings that make no difference to what is
    compared. Raises UsageError for a label that there is not, and,
    if anything is going to be asked, ModelError where a model that is needed is not configured.
    """
    RunConfig(model=model, **machine)  # or it says what is wrong
    suite = file.suite
    labels = [entrant.label for entrant in suite.entrants]
    if unknown := next((label for label in only if label not in labels), None):
        raise UsageError(f"--only {unknown}: the methods of this suite are {', '.join(labels)}")
    chosen = list(only) or labels
    model = model or os.environ.get("PROMPTPO_MODEL", "").strip() or None
    if asks:
        _check_models([e for e in suite.entrants if e.label in chosen], model)
    folder = SweepFolder(out / BENCHMARKS / suite.name)
    before = _plan_in(folder)
    own: dict[Member, Mapping[str, Any]] = {}
    idle: dict[Member, str] = {}
    for entrant in suite.entrants:
        for name in entrant.specs or suite.specs:
            for seed in entrant.seeds or suite.seeds:
                member = Member(file.refs[name], name, seed, entrant.label)
                settings = dict(entrant.settings)
                if _asks(entrant):
                    settings["model"] = _model_of(settings.get("model") or model, member, file)
                    if settings["model"] == BUILTIN:
                        settings |= dict.fromkeys(_OF_MODELS)
                if entrant.label not in chosen and member in before.own:
                    own[member] = before.own[member]
                elif problem := _unreplayable(settings, name):
                    idle[member] = problem
                else:
                    own[member] = settings
    shared = {**suite.budget, **machine}
    plan = Plan.of(own, shared, own)
    return Bench(suite, folder, plan, chosen, idle)


#: Limits on what language models are asked and cost: nothing that bounds what asks none.
_OF_MODELS = ("max_calls", "max_tokens", "max_cost")


def _asks(entrant: Entrant) -> bool:
    """Whether a method asks a model."""
    return find_method(str(entrant.settings["method"])).needs_model


def _check_models(entrants: Sequence[Entrant], model: str | None) -> None:
    """Raises ModelError where a model is asked that is not configured."""
    asking = [e for e in entrants if _asks(e)]
    if without := [e.label for e in asking if not (e.settings.get("model") or model)]:
        free = [e.label for e in entrants if e.label not in without]
        rest = f", or run those that need none: --only '{','.join(free)}'" if free else ""
        words = f"{', '.join(without)}: no language model is configured; use {EXAMPLES}{rest}"
        raise ModelError(words)
    for entrant in asking:
        name = str(entrant.settings.get("model") or model)
        if name == BUILTIN and not asks_for_policies(str(entrant.settings["method"])):
            what = f"{BUILTIN} writes policies, and this method asks for parameters"
            raise UsageError(f"{entrant.label}: {what}; leave it out by --only")
        check_configured(name, entrant.settings.get("api_base"))


def _model_of(name: str | None, member: Member, file: SuiteFile) -> str | None:
    """The model of a cell: in the path of a recording, {spec} and {seed} stand for its own."""
    kind, _, path = (name or "").partition(":")
    if kind != "recorded" or not path:
        return name
    path = path.replace("{spec}", member.name).replace("{seed}", str(member.seed))
    return f"{kind}:{file.folder / path}"


def _unreplayable(settings: Mapping[str, Any], spec: str) -> str:
    """Why a cell whose replies are replayed cannot be run; empty where it can."""
    kind, _, path = str(settings.get("model")).partition(":")
    if kind != "recorded":
        return ""
    if not path:
        ships = recording_path(kind, spec, str(settings["method"]))
        return "" if ships else "no recording of the spec ships"
    return "" if Path(path).exists() else f"no recording: {path}"


def _plan_in(folder: SweepFolder) -> Plan:
    """What the folder was to hold when it was last used; nothing where it is new."""
    return folder.read() if folder.file.is_file() else Plan((), {})


def _settings(plan: Plan, member: Member) -> dict[str, Any]:
    """What may not change from one session to the next."""
    return {k: v for k, v in plan.settings_of(member).items() if k not in _FREE}


def _order(suite: Suite) -> dict[tuple[str, str], int]:
    """Places of the cells: by spec, then by method."""
    pairs = [(spec, entrant.label) for spec in suite.specs for entrant in suite.entrants]
    return {pair: number for number, pair in enumerate(pairs)}
