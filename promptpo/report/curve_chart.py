"""The learning curve: every candidate's search score over the search's environment steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from promptpo.common import text
from promptpo.report.svg import Scale, spread, tag, tick_label, ticks
from promptpo.stats import Interval
from promptpo.store.codec import score_data
from promptpo.store.run import Run
from promptpo.store.trials import RoundRecord, Trial
from promptpo.types import Rollout, Score

LEFT, _RIGHT, _TOP, _AXIS, _STRIP = 52, 14, 26, 44, 22

#: Height of a line of text.
_LINE = 14

#: The number of a score that a panel shows; None where there is none.
Measure = Callable[[Score], float | None]


@dataclass(frozen=True)
class Panel:
    """One curve: what is measured, its name, and the bounds of its axis if they are known."""

    title: str
    measure: Measure
    interval: Callable[[Rollout | None], Interval | None]
    bounds: tuple[float, float] | None = None


def panels(run: Run) -> list[Panel]:
    """Success rate where the task defines it, and the return."""
    both = [Panel("Mean return", lambda s: s.mean_return, _of_return)]
    if run.defines_success:
        rate = Panel("Success rate", lambda s: s.success_rate, _of_success, (-0.04, 1.04))
        both.insert(0, rate)
    return both


def _of_return(played: Rollout | None) -> Interval | None:
    return played.return_interval if played else None


def _of_success(played: Rollout | None) -> Interval | None:
    return played.success_interval if played else None


def curve_chart(run: Run, panel: Panel, *, width: int, height: int) -> Markup:
    """One panel as an SVG of ``width`` by ``height`` units."""
    ended = [t for t in run.policies if t.ended]
    bottom = height - _AXIS - _STRIP
    scored = [t for t in ended if not t.score.failed]
    values = [v for t in scored if (v := panel.measure(t.score)) is not None]
    references = _references(run, panel, values)
    margin = margin_for(run.references, width)  # the same for every panel
    steps = max([t.at_steps for t in ended], default=0)
    x = Scale(0, steps * 1.02 or 1, LEFT, width - margin)
    low, high = panel.bounds or spread([*values, *references.values()])
    y = Scale(low, high, bottom, _TOP)
    failed = [t for t in ended if t.score.failed]
    won = [r.winner for r in run.round_records]  # drawn last, on top
    parts = [
        tag("title", f"{panel.title} of each candidate over environment steps"),
        tag("desc", _description(run, panel)),
        *_rounds(run, x, bottom),
        *_axes(x, y, bottom, height, _label(run)),
        *reference_lines(references, x, y, margin),
        _winners_line(run.round_records, panel, x, y),
        *(_point(t, run, panel, x, y) for t in sorted(scored, key=lambda t: t in won)),
        *_failures(failed, x, bottom),
    ]
    return tag("svg", *parts, class_="chart", viewBox=f"0 0 {width} {height}", role="img")


def _references(run: Run, panel: Panel, values: Sequence[float]) -> dict[str, float]:
    """Reference values that can be drawn without flattening the curve."""
    known = {k: v for k, s in run.references.items() if (v := panel.measure(s)) is not None}
    if panel.bounds or not values:
        return known
    low, high = min(values), max(values)
    room = 4 * (high - low) if high > low else math.inf
    return {k: v for k, v in known.items() if low - room <= v <= high + room}


def _rounds(run: Run, x: Scale, bottom: float) -> list[Markup]:
    """A band for every other round, with the number of each at its top."""
    parts = []
    start = 0
    for r in run.round_records:
        stop = max([t.at_steps for t in r.trials], default=start) or start
        if stop <= start:
            continue
        left, right = x(start), x(stop)
        if r.number % 2:
            size = {"width": right - left, "height": bottom + _STRIP - _TOP}
            parts.append(tag("rect", class_="band", x=left, y=_TOP, **size))
        label = f"round {r.number}" if right - left > 64 else str(r.number)
        place = {"x": (left + right) / 2, "y": _TOP - 9}
        parts.append(tag("text", label, class_="tick", text_anchor="middle", **place))
        start = stop
    return parts


def vertical_axis(right: float, y: Scale) -> list[Markup]:
    """Lines across the chart, up to ``right``, with the values that they stand for."""
    parts = []
    for value in ticks(y.low, y.high, 5):
        at = y(value)
        label = tick_label(value)
        parts.append(tag("line", class_="grid", x1=LEFT, x2=right, y1=at, y2=at))
        parts.append(tag("text", label, class_="tick", x=LEFT - 8, y=at + 4, text_anchor="end"))
    return parts


def _label(run: Run) -> str:
    tuned = run.usage.steps.get("tuning")
    return f"environment steps of {'search and tuning' if tuned else 'the search'}"


def _axes(x: Scale, y: Scale, bottom: float, height: int, words: str) -> list[Markup]:
    parts = vertical_axis(x.stop, y)
    base = bottom + _STRIP
    parts.append(tag("line", class_="axis", x1=LEFT, x2=x.stop, y1=base, y2=base))
    for value in ticks(x.low, x.high, 6 if x.stop > 500 else 3):
        at = x(value)
        label = tick_label(value)
        parts.append(tag("line", class_="axis", x1=at, x2=at, y1=base, y2=base + 4))
        parts.append(tag("text", label, class_="tick", x=at, y=base + 18, text_anchor="middle"))
    middle = (x.start + x.stop) / 2
    parts.append(tag("text", words, class_="tick", x=middle, y=height - 6, text_anchor="middle"))
    return parts


def reference_lines(
    references: dict[str, float], x: Scale, y: Scale, margin: float
) -> list[Markup]:
    """Dashed lines, named in the margin where there is one, else above their right end.

    Names that would lie on each other move down in the margin, and are left out elsewhere.
    """
    parts = []
    free = -math.inf
    for name, value in sorted(references.items(), key=lambda item: -item[1]):
        at = y(value)
        parts.append(tag("line", class_="reference", x1=x.start, x2=x.stop, y1=at, y2=at))
        if margin > _RIGHT:
            place = {"x": x.stop + 8, "y": max(at + 4, free)}
        else:
            place = {"x": x.stop - 4, "y": at - 5 if at - 5 > _TOP + 8 else at + 13}
            if place["y"] < free:
                continue
        free = place["y"] + _LINE
        anchor = "start" if margin > _RIGHT else "end"
        parts.append(tag("text", _short(name), class_="halo tick", text_anchor=anchor, **place))
    return parts


def margin_for(names: Iterable[str], width: int) -> float:
    """Room on the right for the names of reference values; on a narrow chart there is none."""
    longest = max([len(_short(name)) for name in names], default=0)
    return _RIGHT + 7 * longest if width > 500 and longest else _RIGHT


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def _winners_line(rounds: Sequence[RoundRecord], panel: Panel, x: Scale, y: Scale) -> Markup:
    points = []
    for r in rounds:
        value = panel.measure(r.winner.score) if r.winner else None
        if r.winner and value is not None:
            points.append(f"{x(r.winner.at_steps):.1f},{y(value):.1f}")
    return tag("polyline", class_="winners", points=" ".join(points))


def _point(trial: Trial, run: Run, panel: Panel, x: Scale, y: Scale) -> Markup:
    value = panel.measure(trial.score)
    won = any(r.winner is trial for r in run.round_records)
    where = {"cx": x(trial.at_steps), "cy": y(value if value is not None else math.nan)}
    score = text.score(score_data(trial.score))
    title = tag("title", f"{trial.name}: {score}, after {trial.at_steps:,} steps")
    css = "dot winner" if won else "dot"
    dot = tag("circle", title, class_=css, r=5.5 if won else 4, **where)
    bounds = panel.interval(trial.candidate.pooled) if won else None
    if bounds is None or bounds.low == bounds.high:
        return dot
    ends = (max(bounds.low, y.low), min(bounds.high, y.high))
    x1 = where["cx"]
    return Markup("").join(
        [tag("line", class_="spread", x1=x1, x2=x1, y1=y(ends[0]), y2=y(ends[1])), dot]
    )


def _failures(failed: Sequence[Trial], x: Scale, bottom: float) -> list[Markup]:
    """A cross for each, in a strip of its own below the scores."""
    parts = []
    at = bottom + _STRIP / 2 + 2
    for trial in failed:
        cx = x(trial.at_steps)
        d = f"M{cx - 4:.1f} {at - 4:.1f}l8 8m0 -8l-8 8"
        parts.append(tag("path", tag("title", f"{trial.name}: failed"), class_="failure", d=d))
    if failed:
        parts.append(
            tag("text", "failed", class_="tick failed", x=LEFT - 8, y=at + 4, text_anchor="end")
        )
    return parts


def _description(run: Run, panel: Panel) -> str:
    words = []
    for r in run.round_records:
        value = panel.measure(r.winner.score) if r.winner else None
        words.append(f"round {r.number}: {'none' if value is None else text.number(value)}")
    failed = sum(t.state == "failed" for t in run.policies)
    return f"Winners by round: {'; '.join(words) or 'no round yet'}. Failed candidates: {failed}."
