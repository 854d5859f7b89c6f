"""The tables of a report: cells with what they show and what they are sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from promptpo.common import text
from promptpo.common.twins import side_by_side
from promptpo.report.facts import made_by
from promptpo.report.texts import has_details, kind_words
from promptpo.store.codec import score_data, score_of
from promptpo.store.evals import OWN, KeptEvaluation, PolicyTest, ScoredPolicy
from promptpo.store.reading import RunRecord
from promptpo.store.record import USUAL_METHOD
from promptpo.store.trials import RoundRecord, Trial
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


def trials_table(run: RunRecord, record: RoundRecord, prefix: str) -> Table:
    """The candidates of a round, in their order."""
    columns = [("Candidate", False), ("Kind", False), ("Success", True), ("Mean return", True)]
    columns += [("Lowest to highest", True), ("Mean length", True), ("Clipped", True)]
    columns += [("Repairs", True), ("Cost", True), ("Outcome", False)]
    rows = [_trial_row(run, t, record, prefix) for t in record.trials]
    useful = {
        "Kind": any(kind_words(t) for t in record.trials),
        "Success": run.defines_success,
        "Clipped": any(t.candidate.rollout and t.candidate.rollout.clipped for t in record.trials),
        "Repairs": run.asks_model,
        "Cost": run.asks_model and not run.replayed,
    }
    hidden = {name for name, shown in useful.items() if not shown}
    return _without(
        Table(f"Candidates of round {record.number}", tuple(columns), tuple(rows)), hidden
    )


def _without(table: Table, hidden: set[str]) -> Table:
    kept = [i for i, (name, _) in enumerate(table.columns) if name not in hidden]
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return Table(table.caption, tuple(table.columns[i] for i in kept), rows)


def _trial_row(run: RunRecord, trial: Trial, record: RoundRecord, prefix: str) -> tuple[Cell, ...]:
    won = record.winner is trial
    href = f"#{prefix}{trial.name}" if has_details(run, trial) else ""
    rollout = trial.candidate.rollout
    played = rollout if rollout is not None and not trial.score.failed else None
    return (
        Cell(trial.name, trial.name, href=href, strong=won),
        Cell(kind_words(trial), kind_words(trial)),
        success_cell(trial.score),
        return_cell(trial.score),
        _range_cell(played),
        _length_cell(played),
        Cell(f"{played.clipped:.0%}", played.clipped) if played else Cell("", _NOTHING),
        Cell(str(trial.repairs), trial.repairs),
        _cost_cell(trial.cost) if trial.ended else Cell("", _NOTHING),
        outcome_cell(trial, won=won),
    )


def success_cell(score: Score) -> Cell:
    """A success rate."""
    if score.failed or score.success_rate is None:
        return Cell("", _NOTHING)
    return Cell(f"{score.success_rate:.2f}", score.success_rate)


def return_cell(score: Score) -> Cell:
    """A mean return."""
    if score.failed:
        return Cell("", _NOTHING)
    return Cell(text.number(score.mean_return), score.mean_return)


def _range_cell(rollout: Rollout | None) -> Cell:
    if rollout is None:
        return Cell("", _NOTHING)
    low, high = min(rollout.returns), max(rollout.returns)
    words = text.number(low) if low == high else f"{text.number(low)} to {text.number(high)}"
    return Cell(words, low)


def _length_cell(rollout: Rollout | None) -> Cell:
    if rollout is None or not rollout.lengths:
        return Cell("", _NOTHING)
    mean = sum(rollout.lengths) / len(rollout.lengths)
    return Cell(text.number(round(mean, 1)), mean)


def _cost_cell(cost: float | None) -> Cell:
    return Cell("unknown", _NOTHING) if cost is None else Cell(text.money(cost), cost)


_STATES = {"asked": "waiting for a reply", "playing": "being played", "scored": "scored"}


def outcome_cell(trial: Trial, *, won: bool) -> Cell:
    """Winner, scored, or why not."""
    mark = f", {trial.mark}" if trial.mark else ""
    if won:
        return Cell(f"winner{mark}", "0", strong=True, kind="won")
    if trial.state == "failed":
        words = text.gist(trial.candidate.error or "failed")
        short = words if len(words) <= 110 else words[:109] + "…"
        return Cell(short, f"3 {short}", kind="failed")
    words = _STATES[trial.state] + mark
    return Cell(words, f"{1 if trial.state == 'scored' else 2} {words}")


def selection_table(run: RunRecord) -> Table | None:
    """How the winners of the rounds did on the selection episodes; None where there were none."""
    finalists = (run.selection or {}).get("finalists")
    if not finalists:
        return None
    ranked = sorted(finalists, key=lambda f: score_of(f["score"]).key, reverse=True)
    rows = []
    for finalist in ranked:
        score, chosen = score_of(finalist["score"]), finalist["name"] == run.best
        note = Cell("chosen" if chosen else "", "", strong=chosen, kind="won" if chosen else "")
        name = Cell(finalist["name"], finalist["name"], strong=chosen)
        failed = Cell("failed", "", kind="failed") if score.failed else note
        rows.append((name, success_cell(score), return_cell(score), failed))
    columns = (("Candidate", False), ("Success", True), ("Mean return", True), ("Outcome", False))
    winners = {r.winner.name for r in run.rounds if r.winner}
    who = "Winners of the rounds" if winners >= {f["name"] for f in finalists} else "Finalists"
    caption = f"{who} on the selection episodes"
    hidden = set() if run.defines_success else {"Success"}
    return _without(Table(caption, columns, tuple(rows)), hidden)


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
        "Outcome": not any(p.error or p.mark for p in found.evaluations),
    }
    return _without(
        Table(caption, tuple(columns), rows), {name for name, hidden in unused.items() if hidden}
    )


def _evaluation_row(policy: ScoredPolicy, test: PolicyTest | None) -> tuple[Cell, ...]:
    bounds = policy.mean_return_interval or ()
    lead, p = Cell("", _NOTHING), Cell("", _NOTHING)
    if test is not None:
        difference = test.difference if test.a == OWN else -test.difference
        lead = Cell(f"{'+' if difference > 0 else ''}{text.number(difference)}", difference)
        p = Cell(text.p_value(test.p_holm), _NOTHING if test.p_holm is None else test.p_holm)
    outcome = text.gist(policy.error or "") or policy.mark
    return (
        Cell(policy.policy, policy.policy, strong=policy.policy == OWN),
        success_cell(policy.score),
        return_cell(policy.score),
        Cell(" to ".join(map(text.number, bounds)), bounds[0] if bounds else _NOTHING),
        lead,
        p,
        Cell(outcome, outcome, kind="failed" if policy.error else ""),
    )


def runs_table(runs: Sequence[tuple[RunRecord, str]], caption: str) -> Table:
    """One row for each run with the address of its report; those of twins after the original's."""
    runs = side_by_side(runs, lambda row: (row[0].spec, row[0].twin_of))
    usual = all(run.method == USUAL_METHOD for run, _ in runs)
    made = "Model" if usual else "Method and model"
    columns = [("Run", False), ("Status", False), (made, False), ("Success", True)]
    columns += [("Mean return", True), ("Score from", False), ("Search steps", True)]
    columns += [("Cost", True)]
    return Table(caption, tuple(columns), tuple(_run_row(run, href) for run, href in runs))


def _run_row(run: RunRecord, href: str) -> tuple[Cell, ...]:
    name = f"{run.spec}/{run.folder.name}"
    best = run.best_trial
    test = run.held_out
    score = test.score if test else best.score if best else Score(failed=True)
    source = "held-out" if test else "search" if best else ""
    source += f"; {run.mark}" if run.mark else ""
    steps = run.usage.steps["search"]
    return (
        Cell(name, name, href=href),
        Cell(run.status, run.status, kind=run.status),
        Cell(made_by(run), made_by(run)),
        success_cell(score),
        return_cell(score),
        Cell(source, source),
        Cell(f"{steps:,}", steps),
        _cost_cell(run.usage.cost) if run.asks_model else Cell("", _NOTHING),
    )


def headline(trial: Trial) -> str:
    """A candidate's search score in words."""
    return text.score(score_data(trial.score))
