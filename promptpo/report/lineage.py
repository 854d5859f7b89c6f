"""Lineage of a run's candidates, and their cost over time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from promptpo.common import text
from promptpo.common.blocks import (
    Block,
    Cell,
    Chart,
    Details,
    Figure,
    Items,
    Line,
    Prose,
    Section,
    Table,
    num,
)
from promptpo.report.figures import BOUNDS, candidates, levels, measures
from promptpo.report.tables import cost_cell, headline, kind_words, return_cell, success_cell
from promptpo.store.run import Run
from promptpo.store.trials import Trial

#: Seconds from which a run's time is shown in minutes, and minutes from which in hours.
_MINUTES, _HOURS = 180.0, 180.0

_KEYS = (
    ("lead", "winner of its round"),
    ("others", "other candidate"),
    ("edge", "made from the one before it"),
    ("cross", "failed"),
)


def lineage_section(run: Run) -> Section | None:
    """Return the descent of the best policy, all candidates with theirs, and cost over time."""
    ended = [t for t in run.policies if t.ended]
    if not ended:
        return None
    blocks: list[Block] = []
    if best := run.best_trial:
        blocks.append(Prose(f"How {best.name}, the best policy, came about:", "inner"))
        blocks.append(Items((*(_step(run, t) for t in _descent(run, best)),), numbered=True))
    linked = any(parent in run.trials for t in ended for parent in t.candidate.parents)
    blocks += [_links(run, ended)] if linked else []
    blocks.append(
        Details("lineage-table", "Every candidate, and what it came from", (_table(run, ended),),
                text.plural(len(ended), "candidate"), printed=len(ended) <= 30)
    )  # fmt: skip
    blocks += _over_time(run, ended)
    title = "Lineage and cost" if _asks(run) else "Lineage"
    return Section("lineage", title, tuple(blocks), "lineage")


def _asks(run: Run) -> bool:
    """Tell whether its policies cost calls of a model."""
    return run.asks_model and not run.policy_file


def _descent(run: Run, trial: Trial) -> list[Trial]:
    """Return a candidate and what it was made from, the first ancestor first."""
    found = [trial]
    while found[0].candidate.parents:
        parent = run.trials.get(found[0].candidate.parents[0])
        if parent is None or parent in found:
            break
        found.insert(0, parent)
    return found


def _step(run: Run, trial: Trial) -> str:
    return f"{trial.name}: {origin(run, trial)}; {headline(trial)} in search"


def origin(run: Run, trial: Trial) -> str:
    """Return where a candidate came from: ``tuned of r01_c02``, ``written, repaired once``."""
    words = kind_words(trial) or ("given" if run.policy_file else "written")
    if trial.repairs:
        times = "once" if trial.repairs == 1 else f"{trial.repairs} times"
        words += f", repaired {times}"
        first = trial.attempts.get(0)
        if first is not None and first.error:
            words += f" ({text.gist(first.error)[:100]})"
    return words


def _table(run: Run, ended: list[Trial]) -> Table:
    winners = {r.winner.name for r in run.round_records if r.winner}
    rows = []
    priced = _asks(run) and not run.replayed
    for trial in ended:
        role = "best" if trial is run.best_trial else "winner" if trial.name in winners else ""
        rows.append((
            Cell(trial.name, href=f"#{trial.name}", strong=trial.name in winners),
            Cell(origin(run, trial), kind="failed" if trial.state == "failed" else ""),
            success_cell(trial.score),
            return_cell(trial.score),
            num(trial.at_steps),
            num(trial.seconds, text.duration(trial.seconds)),
            cost_cell(trial.cost) if priced else Cell(),
            cost_cell(trial.at.cost) if priced else Cell(),
            Cell(role, kind="won" if role else ""),
        ))  # fmt: skip
    columns = ("Candidate", "Came from", "Success", "Mean return", "Steps so far", "Time so far",
               "Cost", "Cost so far", "Role")  # fmt: skip
    caption = "Candidates with what they came from, their search scores, and what was spent by then"
    return Table(caption, columns, tuple(rows)).trimmed()


def _links(run: Run, ended: list[Trial]) -> Figure:
    """Return the candidates by round and score, each joined to those that it was made from."""
    title, value, _ = measures(success=run.defines_success)[0]
    place: dict[str, float] = {}
    for record in run.round_records:
        trials = [t for t in record.trials if t.ended]
        for i, trial in enumerate(trials):
            place[trial.name] = record.number + 0.7 * ((i + 0.5) / len(trials) - 0.5)
    scored = [t for t in ended if value(t.score) is not None and not t.score.failed]
    height = {t.name: float(value(t.score) or 0.0) for t in scored}
    edges = [
        Line(f"{t.name} from {p}", (place[p], place[t.name]), (height[p], height[t.name]),
             css="edge")
        for t in scored
        for p in t.candidate.parents
        if p in height
    ]  # fmt: skip
    won = [r.winner for r in run.round_records if r.winner in scored]
    points = (
        *candidates("other candidates", "others", [t for t in scored if t not in won], value),
        *candidates("winners", "lead dots", won, value),
    )
    points = tuple(
        replace(line, x=[place[tip.partition(":")[0]] for tip in line.tips]) for line in points
    )
    last = max(r.number for r in run.round_records)
    failed = tuple((place[t.name], f"{t.name}: failed") for t in ended if t not in scored)
    chart = Chart(
        f"{title} of each candidate by round, with lines to what it was made from",
        "",
        (*edges, *points),
        levels(run, value),
        BOUNDS if title == "Success rate" else None,
        left=0.5,
        right=last + 0.5,
        spans=tuple((n - 0.5, n + 0.5, f"round {n}") for n in range(1, last + 1)),
        failures=failed,
        ticked=False,
    )
    caption = f"{title} by round: what each candidate was made from"
    return Figure(caption, chart, _KEYS if failed else _KEYS[:-1])


def _over_time(run: Run, ended: list[Trial]) -> Iterator[Block]:
    """Yield what was spent over time: dollars where calls cost any, environment steps if not."""
    points = sorted((t.seconds, t.at.cost, t.at_steps) for t in ended if t.at.cost is not None)
    paid = bool(points) and len(points) == len(ended) and (points[-1][1] or 0) > 0
    if not paid:
        points = sorted((t.seconds, 0.0, t.at_steps) for t in ended)
    unit, size = "seconds", 1.0
    if points[-1][0] > _MINUTES:
        unit, size = "minutes", 60.0
    if points[-1][0] > 60 * _HOURS:
        unit, size = "hours", 3600.0
    what = "Cost in US dollars" if paid else "Environment steps"
    values = [float(cost or 0.0) if paid else float(steps) for _, cost, steps in points]
    seconds = [0.0, *(at / size for at, _, _ in points)]
    if not math.isfinite(seconds[-1]) or seconds[-1] <= 0:
        return
    line = Line(what, seconds, [0.0, *values], end=seconds[-1], css="lead")
    bounds = (0.0, 1.05 * max(values) or 1.0)
    chart = Chart(f"{what} over time", f"{unit} since the run began, pauses left out", (line,),
                  bounds=bounds, right=seconds[-1])  # fmt: skip
    yield Figure(f"{what} of search over time", chart)
