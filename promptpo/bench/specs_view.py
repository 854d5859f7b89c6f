"""What the comparison's page tells of one spec: scores, curves, and what was published."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from promptpo.bench.cells import Played, PlayedCell
from promptpo.bench.charts import css_of, curve_line
from promptpo.bench.suite import Measure, Published, Scale
from promptpo.common import text
from promptpo.common.blocks import Chart, Figure, Mark, Scores
from promptpo.comparison.curves import AXES, Axis, curve
from promptpo.comparison.groups import Panel
from promptpo.comparison.measures import value
from promptpo.comparison.plot import AXIS_WORDS


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
    scores: Figure | None
    curves: tuple[Figure, ...]
    published: tuple[PublishedTable, ...]


def spec_view(played: Played, spec: str) -> SpecView:
    """What there is to show of a spec."""
    measure = played.measure(spec)
    panel = next((p for p in played.panels if p.name == spec), None)
    references = _references(panel, measure)
    return SpecView(
        spec,
        measure,
        _scale_words(played.suite.scales.get(spec), measure),
        tuple(
            f"{label}, {words}"
            for label in played.labels
            for words in missing_words(played.of(spec, label))
        ),
        _scores(played, spec, references),
        _curves(played, panel, references),
        tuple(published_tables([r for r in played.suite.published if r.spec == spec], measure)),
    )


def number_words(number: float, measure: str) -> str:
    """A score as tables have it: ``0.87`` of a success rate; ``3,079``, ``61.5``, ``-4.20``."""
    size = abs(number)
    if measure == "success" or not math.isfinite(number):
        return f"{number:.2f}"
    return f"{number:,.0f}" if size >= 1000 else f"{number:.1f}" if size >= 10 else f"{number:.2f}"


def missing_words(cells: Sequence[PlayedCell]) -> list[str]:
    """``seeds 0, 1, 2: not begun``: the runs without a score, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for played in cells:
        if played.score is None:
            reasons.setdefault(text.gist(played.why_missing), []).append(str(played.cell.seed))
    return [
        f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(seeds)}: {reason}"
        for reason, seeds in reasons.items()
    ]


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


def _scores(played: Played, spec: str, references: Mapping[str, float]) -> Figure | None:
    """Methods in their order, then what is known of the task."""
    measure = played.measure(spec)
    marks = []
    for label in played.labels:
        found = played.score(spec, label)
        if found is not None:
            shown = number_words(found.mean, measure)
            marks.append(Mark(label, found.mean, shown, found.interval, ours=True))
    if not marks:
        return None
    marks += [Mark(k, v, number_words(v, measure)) for k, v in references.items()]
    drawn = Scores(
        f"Held-out {measure} on {spec}",
        tuple(marks),
        (-0.02, 1.02) if measure == "success" else None,
    )
    return Figure(f"Held-out {measure}, and what it lies between", drawn)


def _curves(
    played: Played, panel: Panel | None, references: Mapping[str, float]
) -> tuple[Figure, ...]:
    """A chart for each axis that anything lies on."""
    if panel is None:
        return ()
    found = ((axis, _curve_chart(played, panel, axis, references)) for axis in AXES)
    names = {"steps": "environment steps", "calls": "calls", "cost": "cost"}
    return tuple(
        Figure(f"Best {played.measure(panel.name)} in search over {names[axis]}", chart)
        for axis, chart in found
        if chart is not None
    )


def _curve_chart(
    played: Played, panel: Panel, axis: Axis, references: Mapping[str, float]
) -> Chart | None:
    measure, css = played.measure(panel.name), css_of(played.labels)
    curves = {group: curve(group, axis, measure) for group in panel.groups}
    # A method that asks no model has spent nothing: over calls and cost it has no curve.
    drawn = {g: c for g, c in curves.items() if c is not None and (axis == "steps" or c.x[-1] > 0)}
    if not drawn:
        return None
    right = 1.03 * max(float(c.x[-1]) for c in drawn.values())  # so that the last rise shows
    lines = []
    for group, found in drawn.items():
        over = all(run.is_over for run in group.runs if run.points)
        end = right if over else float(found.x[-1])
        lines.append(curve_line(group.label, css[group.label], found, end))
    return Chart(
        f"Best {measure} in search on {panel.name} over {AXIS_WORDS[axis]}",
        AXIS_WORDS[axis],
        tuple(lines),
        references,
        (-0.02, 1.02) if measure == "success" else None,
        right=right,
    )


def published_tables(rows: Sequence[Published], measure: Measure) -> Iterator[PublishedTable]:
    """Published numbers, those of one source and kind together; another measure is named."""
    kinds: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for row in rows:
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
