"""What the comparison's page tells of one spec: scores, curves, and what was published."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from promptpo.common import text
from promptpo.comparison.curves import AXES, Axis
from promptpo.comparison.groups import Panel
from promptpo.comparison.measures import Measure, value
from promptpo.comparison.plot import AXIS_WORDS
from promptpo.matrix.charts import Frame, css_of, curve_line, line_charts
from promptpo.matrix.results import BenchResults, BenchRun
from promptpo.matrix.suite import Scale, Suite
from promptpo.report.score_chart import Mark, score_chart
from promptpo.report.svg import NARROW, WIDE, Charts

#: The longest name that a row of a chart of scores shows whole.
_NAME = 22


@dataclass(frozen=True)
class PublishedTable:
    """Numbers of one source and kind; ``href`` is where they stand, if that is on arXiv.

    ``rows`` are the methods with their numbers.
    """

    source: str
    href: str
    what: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SpecView:
    """A spec: a line on its scale, charts of scores and of curves (captioned), published numbers.

    ``missing`` names the runs without a score, each with its reason.
    """

    name: str
    measure: Measure
    words: str
    missing: tuple[str, ...]
    scores: Charts | None
    curves: tuple[tuple[str, Charts], ...]
    published: tuple[PublishedTable, ...]


def spec_view(played: BenchResults, spec: str) -> SpecView:
    """What there is to show of a spec."""
    measure = played.measure(spec)
    panel = played.panels.get(spec)
    references = _references(panel, measure)
    return SpecView(
        spec,
        measure,
        _scale_words(played.suite.scales.get(spec), measure),
        tuple(
            f"{label}, {words}"
            for label in played.suite.labels
            for words in missing_words(played.of(spec, label))
        ),
        _scores(played, spec, references),
        _curves(played, panel, references),
        tuple(published_tables(played.suite, spec, measure)),
    )


def number_words(number: float, measure: str) -> str:
    """A score as tables have it: ``0.87`` of a success rate; ``3,079``, ``61.5``, ``-4.20``."""
    size = abs(number)
    if measure == "success" or not math.isfinite(number):
        return f"{number:.2f}"
    return f"{number:,.0f}" if size >= 1000 else f"{number:.1f}" if size >= 10 else f"{number:.2f}"


def missing_words(cells: Sequence[BenchRun]) -> list[str]:
    """``seeds 0, 1, 2: not begun``: the runs without a score, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for played in cells:
        if played.score is None:
            reasons.setdefault(text.gist(played.why_missing), []).append(str(played.seed))
    return [
        f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(seeds)}: {reason}"
        for reason, seeds in reasons.items()
    ]


def keep_apart(marks: Sequence[Mark]) -> list[Mark]:
    """Names that the chart would cut to the same text are cut in the middle instead."""

    def short(name: str) -> str:
        return name if len(name) <= _NAME else f"{name[:12]}…{name[-9:]}"

    return [replace(mark, name=short(mark.name)) for mark in marks]


def _scale_words(scale: Scale | None, measure: Measure) -> str:
    if scale is None:
        return "No scale is known; its scores are not normalized."
    random = "unknown" if scale.random is None else number_words(scale.random, measure)
    best = "unknown" if scale.best is None else number_words(scale.best, measure)
    source = f" ({scale.source})" if scale.source else ""
    return f"Normalized scores: 0 is random actions, {random}; 1 the best known, {best}{source}."


def _references(panel: Panel | None, measure: Measure) -> dict[str, float]:
    """What known behaviours score."""
    if panel is None:
        return {}
    return {
        name: value(score, measure)
        for name, score in panel.references.items()
        if measure == "return" or score.success_rate is not None
    }


def _scores(played: BenchResults, spec: str, references: Mapping[str, float]) -> Charts | None:
    """Methods in their order, then what is known of the task."""
    measure = played.measure(spec)
    marks = []
    for label in played.suite.labels:
        found = played.scores.get((spec, label))
        if found is not None:
            shown = number_words(found.mean, measure)
            marks.append(Mark(label, found.mean, shown, found.interval, ours=True))
    if not marks:
        return None
    marks += [Mark(k, v, number_words(v, measure)) for k, v in references.items()]
    marks = keep_apart(marks)
    title = f"Held-out {measure} on {spec}"
    bounds = (-0.02, 1.02) if measure == "success" else None
    return Charts(
        score_chart(marks, title, width=WIDE, bounds=bounds),
        score_chart(marks, title, width=NARROW, bounds=bounds),
    )


def _curves(
    played: BenchResults, panel: Panel | None, references: Mapping[str, float]
) -> tuple[tuple[str, Charts], ...]:
    """A chart for each axis that anything lies on."""
    if panel is None:
        return ()
    found = ((axis, _curve_charts(played, panel, axis, references)) for axis in AXES)
    names = {"steps": "environment steps", "calls": "calls", "cost": "cost"}
    return tuple(
        (f"Best {played.measure(panel.name)} in search over {names[axis]}", charts)
        for axis, charts in found
        if charts is not None
    )


def _curve_charts(
    played: BenchResults, panel: Panel, axis: Axis, references: Mapping[str, float]
) -> Charts | None:
    measure, css = played.measure(panel.name), css_of(played.suite.labels)
    curves, right = played.drawn_curves(panel.name, axis)
    if not curves:
        return None
    lines = [curve_line(label, css[label], c, end) for label, (c, end) in curves.items()]
    frame = Frame(
        f"Best {measure} in search on {panel.name} over {AXIS_WORDS[axis]}",
        AXIS_WORDS[axis],
        right=right,
        bounds=(-0.02, 1.02) if measure == "success" else None,
    )
    return line_charts(lines, frame, references)


def published_tables(suite: Suite, spec: str, measure: Measure) -> Iterator[PublishedTable]:
    """Yield published numbers on a spec, those of one source and kind together.

    A number in another measure has its name.
    """
    kinds: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for row in suite.published:
        if row.spec != spec:
            continue
        shown = number_words(row.value, row.measure)
        if row.spread is not None:
            shown += f" ± {row.spread:,.{len(shown.partition('.')[2])}f}"
        if row.measure != measure:
            shown += f" ({row.measure})"
        kinds.setdefault((row.source, row.what, row.note), []).append((row.method, shown))
    for (source, what, note), found in kinds.items():
        arxiv = re.search(r"\d{4}\.\d{4,5}", source)
        href = f"https://arxiv.org/abs/{arxiv[0]}" if arxiv else ""
        yield PublishedTable(source, href, "; ".join(filter(None, (what, note))), tuple(found))
