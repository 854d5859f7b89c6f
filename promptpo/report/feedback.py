"""The Feedback classes of a run: their source, and since when each describes episodes."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from promptpo.report.code import DiffRow, highlighted, side_by_side
from promptpo.store.run import Run
from promptpo.store.standings import FeedbackClass, feedback_classes


@dataclass(frozen=True)
class ClassView:
    """A Feedback class; ``title`` says where it came from, ``diff`` what a revision changed."""

    title: str
    source: tuple[Markup, ...]
    diff: tuple[DiffRow, ...] = ()


def class_views(run: Run) -> list[ClassView]:
    """All that have described episodes, in the order of their first use."""
    views: list[ClassView] = []
    before = ""
    for found in feedback_classes(run):
        diff = side_by_side(before, found.source) if before else ()
        views.append(ClassView(_title(found), highlighted(found.source), diff))
        before = found.source
    return views


def _title(found: FeedbackClass) -> str:
    """``Feedback class``, ``Feedback class as revised before round 3``."""
    if found.key.role.startswith("reflection"):
        return f"Feedback class as revised before round {found.key.round}"
    if found.key.role == "feedback":
        return "Feedback class"
    when = f"in round {found.key.round}" if found.key.round else "before round 1"
    return f"Feedback class as repaired {when}"
