"""The charts of a run, as data: held-out scores, learning curves, lives, tuning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from promptpo.common import text
from promptpo.common.blocks import Chart, Figure, Line, Mark, Scores
from promptpo.racing import error_interval
from promptpo.report.axis import leaves
from promptpo.stats import Interval, success_interval
from promptpo.store.codec import score_data
from promptpo.store.luck import Corrected
from promptpo.store.run import Run
from promptpo.store.trials import Trial
from promptpo.tuning import Standpoint, TuningAccount
from promptpo.types import Rollout, Score

#: Bounds of the axis of a success rate.
BOUNDS = (-0.04, 1.04)

#: Lives that are drawn one by one, at most: more of them are a smear.
DRAWN_LIVES = 12

#: What the marks of a learning curve are.
_KEYS = (
    ("lead", "winner of its round, joined by the line"),
    ("others", "other candidate"),
    ("cross", "failed"),
    ("dashes", "reference value"),
)
_BEYOND = ("off", "beyond the axis, with its number")

#: What the title of a chart of corrected scores ends with.
_CORRECTED = ", corrected for the luck of each round's episodes"

#: The name of the mean return of the worst tenth.
TENTH = "Mean of the worst tenth"

#: A name, the number of a score that it stands for, and the interval of episodes.
Measure = tuple[str, Callable[[Score], float | None], Callable[[Rollout], Interval | None]]


def measures(success: bool, tail: bool = False) -> list[Measure]:
    """Return the success rate and the worst tenth, where they rank, and the mean return."""
    returns: Measure = ("Mean return", lambda s: s.mean_return, lambda r: r.return_interval)
    rates: Measure = ("Success rate", lambda s: s.success_rate, lambda r: r.success_interval)
    tenth: Measure = (TENTH, lambda s: s.worst_tenth, lambda r: r.worst_tenth_interval)
    return [*[rates] * success, *[tenth] * tail, returns]


def score_figures(run: Run) -> list[Figure]:
    """Return the held-out score beside the reference values, best first; a chart each measure."""
    test = run.test
    if test is None or test.error is not None or not test.returns:
        return []
    figures = []
    score = test.score
    for title, value, interval in measures(
        score.success_rate is not None, score.worst_tenth is not None
    ):
        rate = title == "Success rate"
        marks = []
        for i, (name, score) in enumerate([("this policy", test.score), *run.references.items()]):
            number, own = value(score), i == 0
            if number is None:
                continue
            words = f"{number:.2f}" if rate else text.number(number)
            episodes = test.returns if own and not rate else ()
            marks.append(Mark(name, number, words, interval(test) if own else None, episodes, own))
        marks.sort(key=lambda m: (-m.value, not m.ours))
        drawn = Scores(f"{title} on held-out episodes", tuple(marks), (0.0, 1.0) if rate else None)
        figures.append(Figure(title, drawn))
    return figures


def curve_figures(run: Run) -> list[Figure]:
    """Return every candidate's search score over the search's environment steps."""
    ended = [t for t in run.policies if t.ended]
    if not ended:
        return []
    words = "search and tuning" if run.usage.steps.get("tuning") else "the search"
    scored = [t for t in ended if math.isfinite(t.score.mean_return)]
    failed = tuple(
        (float(t.at_steps), f"{t.name}: {text.score(score_data(t.score))}")
        for t in ended
        if t not in scored
    )
    figures = []
    tail = any(t.score.worst_tenth is not None for t in ended)
    for title, value, interval in measures(run.defines_success, tail):
        won = [r.winner for r in run.round_records if r.winner in scored]
        others = [t for t in scored if t not in won]
        fair = run.corrected if title == "Mean return" else {}
        ending = _CORRECTED if fair else ""
        chart = Chart(
            f"{title} of each candidate over environment steps{ending}",
            f"environment steps of {words}",
            (
                *candidates("other candidates", "others", others, value, None, fair),
                *candidates("winners by round", "lead", won, value, interval, fair),
            ),
            levels(run, value),
            BOUNDS if title == "Success rate" else None,
            right=1.02 * max(t.at_steps for t in ended),
            spans=tuple(_spans(run)),
            failures=failed,
        )
        figures.append(Figure(title + ending, chart))
    keys = (*_KEYS, _BEYOND) if leaves(chart) else _KEYS
    return [*figures[:-1], replace(figures[-1], keys=keys)]


def levels(run: Run, value: Callable[[Score], float | None]) -> dict[str, float]:
    """Return the reference values of a run's task that have such a number, by name."""
    return {k: v for k, s in run.references.items() if (v := value(s)) is not None}


def candidates(
    name: str,
    css: str,
    trials: Sequence[Trial],
    value: Callable[[Score], float | None],
    interval: Callable[[Rollout], Interval | None] | None = None,
    fair: Mapping[str, Corrected] = MappingProxyType({}),
) -> Iterator[Line]:
    """Yield a line of the candidates, if any of them has such a score.

    ``fair`` are corrected scores by name, which stand for those that it has.
    """
    scored = [(t, v) for t in trials if (v := value(t.score)) is not None]
    if not scored:
        return
    values, bounds, tips = [], [], []
    for trial, raw in scored:
        own, pooled = fair.get(trial.name), trial.candidate.pooled
        values.append(own.mean if own else raw)
        ends = interval(pooled) if interval and pooled else None
        bounds.append(own.interval if own and interval else ends)
        words = f"{trial.name}: {text.score(score_data(trial.score))}"
        words += f", corrected {text.number(own.mean)}" if own else ""
        tips.append(f"{_told(words, bounds[-1])}, after {trial.at_steps:,} steps")
    yield Line(
        name,
        [t.at_steps for t, _ in scored],
        values,
        [b.low if b else math.nan for b in bounds],
        [b.high if b else math.nan for b in bounds],
        css=css,
        tips=tips,
    )


def _spans(run: Run) -> Iterator[tuple[float, float, str]]:
    start = 0
    for r in run.round_records:
        stop = max((t.at_steps for t in r.trials), default=start)
        if stop > start:
            yield start, stop, f"round {r.number}"
            start = stop


def life_chart(test: Rollout, references: dict[str, Score]) -> Chart:
    """Return the mean return of each episode of a life, over lives, and a few lives one by one."""
    points = test.life_curve
    lives = [[e.return_ for e in lived] for lived in test.lives]
    places = [p.episode for p in points]
    few = lives if len(lives) <= DRAWN_LIVES else []
    bounds = [p.interval or Interval(p.mean_return, p.mean_return) for p in points]
    mean = Line(
        "mean",
        places,
        [p.mean_return for p in points],
        [b.low for b in bounds],
        [b.high for b in bounds],
        css="lead",
        tips=[
            _told(f"episode {p.episode}: mean return {text.number(p.mean_return)}", p.interval)
            for p in points
        ],
    )
    single = (Line(f"life {i}", places[: len(v)], v, css="thin") for i, v in enumerate(few, 1))
    levels = {name: s.mean_return for name, s in references.items()}
    return Chart(
        "Mean return of each episode of a life",
        "episode of a life",
        (*single, mean),
        levels,
        left=1,
        right=max(len(points), 2),
        whole=True,
    )


def _told(words: str, interval: Interval | None) -> str:
    return ", ".join(filter(None, (words, text.between(interval))))


def tuning_figures(run: Run) -> list[Figure]:
    """Return how the values that stood did over the steps of tuning, a line for each policy."""
    figures = []
    tail = any(s.by_tail for account in run.tuned.values() for s in account.history)
    for title, value, _ in measures(success=True, tail=tail)[: 2 if tail else None]:
        lines = tuning_lines(run.tuned, title)
        if not lines:
            continue
        chart = Chart(
            f"{title} of the values that stood, over the steps of tuning",
            "environment steps of this policy's tuning",
            tuple(sorted(lines, key=lambda line: line.css)),  # what was kept lies on top
            levels(run, value),
            BOUNDS if title == "Success rate" else None,
        )
        figures.append(Figure(title, chart))
    return figures


def tuning_lines(tuned: dict[str, TuningAccount], title: str) -> list[Line]:
    """Return a line for each account in which the policy got through its episodes at all.

    ``title`` is that of one of ``measures``.
    """
    names = {"Success rate": "success_rate", TENTH: "worst_tenth"}
    lines = []
    for name, account in tuned.items():
        points = [
            (s.steps, v, standing_interval(s, v))
            for s in account.history
            if isinstance(v := getattr(s, names.get(title, "mean_return")), float | int)
        ]
        if points:
            steps, values, intervals = zip(*points, strict=True)
            bounds = [i or Interval(v, v) for v, i in zip(values, intervals, strict=True)]
            tips = [_told(f"{name} after {at:,} steps: {text.number(v)}", i) for at, v, i in points]
            lines.append(Line(
                name, steps, values, [b.low for b in bounds], [b.high for b in bounds],
                end=account.steps, css="lead" if account.plays_on else "", tips=tips,
                named=len(tuned) > 1,
            ))  # fmt: skip
    return lines


def standing_interval(standing: Standpoint, value: float) -> Interval | None:
    """Return the 95% interval of a mean return, or of a success rate; None where unknown.

    Of the worst tenth it is.
    """
    if value == standing.success_rate and value != standing.mean_return:
        return success_interval(round(value * standing.episodes), standing.episodes)
    if standing.error is None or value != standing.mean_return:
        return None
    return error_interval(value, standing.error, standing.episodes)
