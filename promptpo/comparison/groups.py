"""Runs by task and settings.

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
from promptpo.comparison.scores import Measure, measures_of
from promptpo.store.run import Run
from promptpo.types import Rollout, Score

#: Settings that say where, how fast or of which seed a run is, not what is being compared.
_CIRCUMSTANCES = {
    *("spec", "name", "out", "seed", "policy_seed", "workers", "sandbox", "env_timeout"),
    *("api_base", "max_concurrency", "call_timeout", "executor", "ray_address"),
}


@dataclass(frozen=True)
class Group:
    """Runs of one task with the same settings; ``label`` says what sets them apart from others."""

    label: str
    runs: tuple[Run, ...]

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
        return self.groups[0].runs[0].twin_of

    @property
    def references(self) -> dict[str, Score]:
        """Scores of known behaviours on the task."""
        return self.groups[0].runs[0].references

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measures of its scores, the one that candidates are ranked by first."""
        tested = measures_of([test for group in self.groups for test in group.tests])
        success = any(h.defines_success for g in self.groups for h in g.runs)
        return ("success", *tested) if success and "success" not in tested else tested


def panels(runs: Sequence[Run]) -> tuple[Panel, ...]:
    """Runs by task, then by settings, each in the order in which they first come.

    A task's twins come after it.

    Runs of a spec whose file has changed between them are on different tasks; the name of such a
    spec is followed by the first digits of its fingerprint.
    """
    tasks: dict[tuple[str, str], list[Run]] = {}
    for run in side_by_side(runs, lambda h: (h.spec, h.twin_of)):
        sha = str(run.header.get("spec", {}).get("sha") or "")
        tasks.setdefault((run.spec, sha), []).append(run)
    names = [name for name, _ in tasks]
    return tuple(
        Panel(name if names.count(name) == 1 else f"{name} ({sha[:6]})", _groups(runs))
        for (name, sha), runs in tasks.items()
    )


def _groups(runs: Sequence[Run]) -> tuple[Group, ...]:
    by_settings: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        by_settings.setdefault(tuple(_identity(run).items()), []).append(run)
    settings = [_identity(group[0]) for group in by_settings.values()]
    names = dict.fromkeys(name for s in settings for name in s)
    differ = [k for k in names if len({str(s[k]) for s in settings if k in s}) > 1]
    labels = [_label(s, differ or ["method", "model"]) for s in settings]
    return tuple(
        Group(label, tuple(group))
        for label, group in zip(labels, by_settings.values(), strict=True)
    )


def _label(settings: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return some settings in words, and that facts were withheld.

    A method has options of its own, and may ask no model.
    """
    names = [*names, "facts"] if settings.get("facts") is False and "facts" not in names else names
    there = [n for n in names if n in settings and (n != "model" or settings[n] is not None)]
    return ", ".join(_words(name, settings[name]) for name in there)


def _identity(run: Run) -> dict[str, Any]:
    """Return the settings that are compared, method and model first."""
    settings = {n: s.default for n, s in config.fields(config.RunConfig).items() if n != "facts"}
    settings |= run.settings
    first = {name: settings.pop(name) for name in ("method", "model")}
    return {**first, **{k: v for k, v in settings.items() if k not in _CIRCUMSTANCES}}


def _words(name: str, value: object) -> str:
    """Return a setting in a label: ``gpt-5``, ``10 rounds``, ``no reflection``."""
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
