"""Runs by task and settings, each with its learning curve.

Runs that differ in nothing but their seed are a group; scores of two tasks never meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpo import config
from promptpo.common import text
from promptpo.common.text import side_by_side
from promptpo.comparison.scores import Measure
from promptpo.store.run import Run, load_run
from promptpo.types import Rollout, Score

#: Settings that say where, how fast or of which seed a run is, not what is being compared.
_CIRCUMSTANCES = {
    *("spec", "out", "seed", "policy_seed", "workers", "sandbox", "env_timeout"),
    *("api_base", "max_concurrency", "call_timeout", "executor", "ray_address"),
}


@dataclass(frozen=True)
class Point:
    """The best search score once so much was spent: steps of search and tuning, calls, US dollars.

    ``cost`` is None once the price of a reply is unknown.
    """

    steps: int
    calls: int
    cost: float | None
    best: Score


@dataclass(frozen=True)
class History:
    """A run, and its learning curve: one point for each candidate that got through its episodes."""

    run: Run
    points: tuple[Point, ...]

    @property
    def is_over(self) -> bool:
        """Whether the run came to its own end or a limit, so that its best stays what it is."""
        return self.run.status in ("finished", "stopped")

    @property
    def held_out(self) -> Rollout | None:
        """The held-out episodes of its best policy; None where they are missing or failed."""
        test = self.run.test
        return None if test is None or test.error is not None or not test.returns else test


def read_history(folder: Path) -> History:
    """A run's history from its folder. Raises RunError where it cannot be read."""
    run, best = load_run(folder), Score(failed=True)
    scored = [trial for trial in run.trials.values() if not trial.score.failed]
    points = []
    for trial in sorted(scored, key=lambda t: (t.at_steps, t.at.calls)):
        best = max(best, trial.score)
        points.append(Point(trial.at_steps, trial.at.calls, trial.at.cost, best))
    return History(run, tuple(points))


@dataclass(frozen=True)
class Group:
    """Runs of one task with the same settings; ``label`` says what sets them apart from others."""

    label: str
    runs: tuple[History, ...]

    @property
    def tests(self) -> tuple[Rollout, ...]:
        """The held-out episodes of the runs that have some."""
        return tuple(run.held_out for run in self.runs if run.held_out is not None)


@dataclass(frozen=True)
class Panel:
    """One task and the groups that worked on it; ``name`` is the spec's."""

    name: str
    groups: tuple[Group, ...]

    @property
    def twin_of(self) -> str:
        """Name of the task that this one is a twin of; empty for all others."""
        return self.groups[0].runs[0].run.twin_of

    @property
    def references(self) -> dict[str, Score]:
        """What known behaviours score on the task."""
        return self.groups[0].runs[0].run.references

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What its scores can be read as, the one that candidates are ranked by first."""
        success = any(h.run.defines_success for g in self.groups for h in g.runs)
        return ("success", "return") if success else ("return",)


def panels(histories: Sequence[History]) -> tuple[Panel, ...]:
    """Runs by task, then by settings, each in the order in which they first come.

    A task's twins come after it.

    Runs of a spec whose file has changed between them are on different tasks; the name of such a
    spec is followed by the first digits of its fingerprint.
    """
    tasks: dict[tuple[str, str], list[History]] = {}
    for history in side_by_side(histories, lambda h: (h.run.spec, h.run.twin_of)):
        sha = str(history.run.header.get("spec", {}).get("sha") or "")
        tasks.setdefault((history.run.spec, sha), []).append(history)
    names = [name for name, _ in tasks]
    return tuple(
        Panel(name if names.count(name) == 1 else f"{name} ({sha[:6]})", _groups(found))
        for (name, sha), found in tasks.items()
    )


def _groups(histories: Sequence[History]) -> tuple[Group, ...]:
    by_settings: dict[tuple[object, ...], list[History]] = {}
    for history in histories:
        by_settings.setdefault(tuple(_identity(history).items()), []).append(history)
    settings = [_identity(runs[0]) for runs in by_settings.values()]
    names = dict.fromkeys(name for s in settings for name in s)
    differ = [k for k in names if len({str(s[k]) for s in settings if k in s}) > 1]
    labels = [_label(s, differ or ["method", "model"]) for s in settings]
    return tuple(
        Group(label, tuple(runs)) for label, runs in zip(labels, by_settings.values(), strict=True)
    )


def _label(settings: Mapping[str, Any], names: Sequence[str]) -> str:
    """Some settings in words, and that facts were withheld.

    A method has options of its own, and may ask no model.
    """
    names = [*names, "facts"] if settings.get("facts") is False and "facts" not in names else names
    there = [n for n in names if n in settings and (n != "model" or settings[n] is not None)]
    return ", ".join(_words(name, settings[name]) for name in there)


def _identity(history: History) -> dict[str, Any]:
    """The settings that are compared, method and model first; defaults where a log has none."""
    known = {n: s.default for n, s in config.fields(config.RunConfig).items() if n != "facts"}
    known |= history.run.settings
    first = {name: known.pop(name) for name in ("method", "model")}
    return {**first, **{k: v for k, v in known.items() if k not in _CIRCUMSTANCES}}


def _words(name: str, value: object) -> str:
    """A setting in a label: ``gpt-5``, ``10 rounds``, ``no reflection``, ``temperature 0.7``."""
    if name == "method":
        return str(value)
    if name == "model":
        path = str(value).removeprefix("recorded:")
        replayed = path != str(value)
        return f"recorded:{'/'.join(Path(path).parts[-2:])}" if replayed else path
    if isinstance(value, bool):
        return name if value else f"no {name}"
    word = name.replace("_", " ")
    if value is None:
        return f"default {word}"
    if isinstance(value, int) and word.endswith("s"):
        return text.plural(value, word.removesuffix("s"))
    return f"{word} {value}"
