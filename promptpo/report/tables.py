"""The tables of a report: cells with what they show and what they are sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from promptpo.common import text
from promptpo.common.twins import side_by_side
from promptpo.stats import Interval
from promptpo.store.codec import score_data
from promptpo.store.evals import OWN, KeptEvaluation, PolicyTest, ScoredPolicy
from promptpo.store.run import USUAL_METHOD
from promptpo.store.summary import Summary
from promptpo.store.trials import Trial
from promptpo.types import Rollout, Score

#: Sorts what has no value below everything that has one.
_NOTHING = -math.inf


@dataclass(frozen=True)
class Cell:
    """What a cell shows, what it is sorted by (a number, or its text), and where it leads."""

    text: str
    sort: float | str
    href: str = ""
    strong: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Columns are (heading, whether it holds numbers); the first cell of a row names it."""

    caption: str
    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[Cell, ...], ...]


def blank() -> Cell:
    """A cell of what has no value."""
    return Cell("", _NOTHING)


def without(table: Table, hidden: set[str]) -> Table:
    """A table without some of its columns."""
    kept = [i for i, (name, _) in enumerate(table.columns) if name not in hidden]
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return Table(table.caption, tuple(table.columns[i] for i in kept), rows)


def success_cell(score: Score) -> Cell:
    """A success rate."""
    if score.failed or score.success_rate is None:
        return blank()
    return Cell(f"{score.success_rate:.2f}", score.success_rate)


def return_cell(score: Score) -> Cell:
    """A mean return."""
    if score.failed:
        return blank()
    return Cell(text.number(score.mean_return), score.mean_return)


def cost_cell(cost: float | None) -> Cell:
    """US dollars; unknown where a price is."""
    return Cell("unknown", _NOTHING) if cost is None else Cell(text.money(cost), cost)


def evaluation_table(found: KeptEvaluation) -> Table:
    """What ``promptpo eval --keep`` found; differences are those from the run's own policy."""
    count = max((len(p.episodes) for p in found.evaluations), default=0)
    seed = "" if found.seed is None else f" of seed {found.seed}"
    when = found.time.replace("T", " ").removesuffix("Z")
    caption = f"{when} UTC: {text.plural(count, 'held-out episode')}{seed}"
    columns = [("Policy", False), ("Success", True), ("Mean return", True), ("Interval", True)]
    columns += [("best/policy.py leads by", True), ("p (Holm)", True), ("Outcome", False)]
    measure = found.tests[0].measure if found.tests else ""
    tests = {t.b if t.a == OWN else t.a: t for t in found.tests if OWN in (t.a, t.b)
             and t.measure == measure}  # fmt: skip
    rows = tuple(_evaluation_row(p, tests.get(p.policy)) for p in found.evaluations)
    unused = {
        "Success": all(p.success_rate is None for p in found.evaluations),
        "best/policy.py leads by": not tests,
        "p (Holm)": not tests,
        "Outcome": not any(p.error for p in found.evaluations),
    }
    return without(
        Table(caption, tuple(columns), rows), {name for name, hidden in unused.items() if hidden}
    )


def _evaluation_row(policy: ScoredPolicy, test: PolicyTest | None) -> tuple[Cell, ...]:
    bounds = policy.mean_return_interval or ()
    lead, p = blank(), blank()
    if test is not None:
        difference = test.difference if test.a == OWN else -test.difference
        lead = Cell(f"{'+' if difference > 0 else ''}{text.number(difference)}", difference)
        p = Cell(text.p_value(test.p_holm), _NOTHING if test.p_holm is None else test.p_holm)
    outcome = text.gist(policy.error or "")
    return (
        Cell(policy.policy, policy.policy, strong=policy.policy == OWN),
        success_cell(policy.score),
        return_cell(policy.score),
        Cell(" to ".join(map(text.number, bounds)), bounds[0] if bounds else _NOTHING),
        lead,
        p,
        Cell(outcome, outcome, kind="failed" if policy.error else ""),
    )


def life_table(test: Rollout) -> Table:
    """The same in numbers."""
    rates = test.score.success_rate is not None
    columns = (("Episode of a life", True), ("Mean return", True), ("95% interval", True),
               *([("Success", True)] if rates else []), ("Lives", True))  # fmt: skip
    rows = tuple(
        (
            Cell(str(p.episode), p.episode),
            Cell(text.number(p.mean_return), p.mean_return),
            Cell(
                " to ".join(text.number(v) for v in (p.interval.low, p.interval.high))
                if p.interval
                else "-",
                p.mean_return,
            ),
            *(
                [Cell(f"{p.success_rate:.2f}", p.success_rate)]
                if p.success_rate is not None
                else []
            ),
            Cell(str(p.lives), p.lives),
        )
        for p in test.life_curve
    )
    caption = "What the policy returned in each episode of its life, over all lives"
    return Table(caption, columns, rows)


def _interval_words(interval: Interval | None) -> str:
    return f"{text.number(interval.low)} to {text.number(interval.high)}" if interval else "-"


def runs_table(runs: Sequence[tuple[Summary, str, str]], caption: str) -> Table:
    """One row for each run, with its name and the address of its report.

    Those of twins stand after the original's.
    """
    runs = side_by_side(runs, lambda row: (row[0].spec, row[0].twin_of))
    usual = all(run.method == USUAL_METHOD for run, _, _ in runs)
    made = "Model" if usual else "Method and model"
    columns = [("Run", False), ("Status", False), (made, False), ("Success", True)]
    columns += [("Mean return", True), ("Score from", False), ("Search steps", True)]
    columns += [("Cost", True)]
    return Table(caption, tuple(columns), tuple(_run_row(*row) for row in runs))


def _run_row(run: Summary, name: str, href: str) -> tuple[Cell, ...]:
    return (
        Cell(f"{run.spec}/{name}", f"{run.spec}/{name}", href=href),
        Cell(run.status, run.status, kind=run.status),
        Cell(run.made_by, run.made_by),
        success_cell(run.score),
        return_cell(run.score),
        Cell(run.source, run.source),
        Cell(f"{run.steps:,}", run.steps),
        cost_cell(run.cost) if run.asks_model else blank(),
    )


def headline(trial: Trial) -> str:
    """A candidate's search score in words."""
    return text.score(score_data(trial.score))
