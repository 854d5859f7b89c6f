"""The table of a round's candidates."""

from __future__ import annotations

from promptpo.common import text
from promptpo.report.standings import against_cell, with_error
from promptpo.report.tables import Cell, Table, blank, cost_cell, success_cell, without
from promptpo.report.texts import has_details, kind_words
from promptpo.store.run import Run
from promptpo.store.standings import meeting
from promptpo.store.trials import RoundRecord, Trial
from promptpo.types import Rollout

#: How each did against the best policy of earlier rounds.
_AGAINST = "Against the best before it"


def trials_table(run: Run, record: RoundRecord, prefix: str) -> Table:
    """The candidates of a round, in their order."""
    columns = [("Candidate", False), ("Kind", False), ("Success", True), ("Mean return", True)]
    columns += [("Episodes", True), (_AGAINST, False), ("Lowest to highest", True)]
    columns += [("Mean length", True), ("Clipped", True), ("Repairs", True), ("Cost", True)]
    columns += [("Outcome", False)]
    rows = [_trial_row(run, t, record, prefix) for t in record.trials]
    useful = {
        "Kind": any(_kind(t) for t in record.trials),
        "Success": run.defines_success,
        "Clipped": any(t.candidate.rollout and t.candidate.rollout.clipped for t in record.trials),
        _AGAINST: any(meeting(run, t) for t in record.trials),
        "Repairs": any(t.repairs for t in record.trials),
        "Cost": not run.replayed and any(t.cost for t in record.trials),
    }
    hidden = {name for name, shown in useful.items() if not shown}
    return without(
        Table(f"Candidates of round {record.number}", tuple(columns), tuple(rows)), hidden
    )


def _trial_row(run: Run, trial: Trial, record: RoundRecord, prefix: str) -> tuple[Cell, ...]:
    won = record.winner is trial
    href = f"#{prefix}{trial.name}" if has_details(run, trial) else ""
    rollout = trial.candidate.pooled
    played = rollout if rollout is not None and not trial.score.failed else None
    return (
        Cell(trial.name, trial.name, href=href, strong=won),
        Cell(_kind(trial), _kind(trial)),
        success_cell(trial.score),
        _return_cell(trial, played),
        Cell(f"{len(played.whole)}", len(played.whole)) if played else blank(),
        against_cell(meeting(run, trial)),
        _range_cell(played),
        _length_cell(played),
        Cell(f"{played.clipped:.0%}", played.clipped) if played else blank(),
        Cell(str(trial.repairs), trial.repairs),
        cost_cell(trial.cost) if trial.ended else blank(),
        outcome_cell(trial, won=won),
    )


def _kind(trial: Trial) -> str:
    return "" if trial.candidate.kind == "policy" else kind_words(trial)


def _return_cell(trial: Trial, played: Rollout | None) -> Cell:
    if trial.score.failed:
        return blank()
    value = trial.score.mean_return
    return Cell(with_error(played) or text.number(value), value)


def _range_cell(rollout: Rollout | None) -> Cell:
    if rollout is None:
        return blank()
    low, high = min(rollout.returns), max(rollout.returns)
    words = text.number(low) if low == high else f"{text.number(low)} to {text.number(high)}"
    return Cell(words, low)


def _length_cell(rollout: Rollout | None) -> Cell:
    if rollout is None or not rollout.lengths:
        return blank()
    mean = sum(rollout.lengths) / len(rollout.lengths)
    return Cell(text.number(round(mean, 1)), mean)


_STATES = {"asked": "waiting for a reply", "playing": "being played", "scored": "scored"}


def outcome_cell(trial: Trial, *, won: bool) -> Cell:
    """Winner, scored, or why not."""
    if won:
        return Cell("winner", "0", strong=True, kind="won")
    if trial.state == "failed":
        words = text.gist(trial.candidate.error or "failed")
        short = words if len(words) <= 110 else words[:109] + "…"
        return Cell(short, f"3 {short}", kind="failed")
    same = kind_words(trial) if trial.candidate.kind == "policy" else ""
    words = _STATES[trial.state] + (f", {same}" if same else "")
    return Cell(words, f"{1 if trial.state == 'scored' else 2} {words}")
