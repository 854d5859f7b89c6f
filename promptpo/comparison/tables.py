"""A comparison as rows of text, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from promptpo.common import text
from promptpo.comparison.groups import History, Panel
from promptpo.comparison.scores import Contrast, Measure, Sample, contrasts, sample_score
from promptpo.stats import Interval
from promptpo.store.codec import score_data
from promptpo.store.run import Run
from promptpo.ui.tables import Row, Table

SCORES: Row = ("", "", "runs", "success", "return", "steps", "cost", "state")
CONTRASTS: Row = ("", "", "a - b, 95% interval", "p", "p (Holm)", "over")
RUNS: Row = ("run", "", "seed", "state", "score", "steps", "cost")


def tables(panel: Panel) -> list[Table]:
    """The tables of a task: scores and what they compare to, tests if there are any, runs."""
    found = [Table(SCORES, score_rows(panel), reference_rows(panel))]
    if rows := contrast_rows(panel.groups, panel.measures):
        found.append(Table(CONTRASTS, rows))
    return [*found, Table(RUNS, run_rows(panel))]


def letter(number: int) -> str:
    """How tables call the first, second, ... of what they compare: A, B, ..."""
    return chr(ord("A") + number) if number < 26 else f"#{number + 1}"


def _letter(panel: Panel, number: int) -> str:
    """How the tables call a panel's group: A, B, ...; nothing where it is the only one."""
    if len(panel.groups) == 1:
        return ""
    return letter(number)


def score_rows(panel: Panel) -> list[Row]:
    """Held-out scores: one row for each group."""
    rows: list[Row] = []
    for number, group in enumerate(panel.groups):
        cells = []
        for measure in ("success", "return"):
            found = sample_score(group, measure) if measure in panel.measures else None
            cells.append(mean_words(found.mean, found.interval, measure) if found else "")
        steps = [run.run.usage.searched for run in group.runs]
        rows.append((
            _letter(panel, number),
            group.label,
            str(len(group.runs)),
            *cells,
            text.number(round(sum(steps) / len(steps))),
            cost_words([run.run for run in group.runs]),
            state_words(group.runs),
        ))  # fmt: skip
    return rows


def reference_rows(panel: Panel) -> list[Row]:
    """Rows of the same table: what known behaviours score on the task."""
    rows: list[Row] = []
    for name, score in panel.references.items():
        known = "success" in panel.measures and score.success_rate is not None
        rate = f"{score.success_rate:.2f}" if known else ""
        rows.append(("", name, "", rate, text.number(score.mean_return), "", "", ""))
    return rows


def contrast_rows(samples: Sequence[Sample], measures: Sequence[Measure]) -> list[Row]:
    """One row for each pair of samples that have held-out episodes, and each measure."""
    letters = {sample.label: letter(i) for i, sample in enumerate(samples)}
    rows: list[Row] = []
    for measure in measures:
        for c in contrasts(samples, measure):
            difference = mean_words(c.difference, c.interval, measure, signed=True)
            name = f"{letters[c.a]} - {letters[c.b]}"
            p = (text.p_value(c.p), text.p_value(c.adjusted))
            rows.append((name, measure, difference, *p, over_words(c)))
    return rows


def run_rows(panel: Panel) -> list[Row]:
    """One row for each run: what it has, whether or not it came to its end."""
    return [
        _run_row(_letter(panel, number), history)
        for number, group in enumerate(panel.groups)
        for history in group.runs
    ]


def _run_row(group: str, history: History) -> Row:
    run = history.run
    test, best = history.held_out, run.best_trial
    score = "none yet" if run.status == "running" else "none"
    if test is not None:
        score = text.score(score_data(test.score))
    elif best is not None:
        score = f"{text.score(score_data(best.score))} in search"
    seed = str(run.settings.get("seed", ""))
    steps = text.number(run.usage.searched)
    return (run.folder.name, group, seed, run.status, score, steps, cost_words([run]))


def cost_words(runs: Sequence[Run]) -> str:
    """Mean cost of runs; one unknown price makes it unknown. Empty where no model is asked."""
    if not any(run.asks_model for run in runs):
        return ""
    costs = [run.usage.cost for run in runs]
    known = [cost for cost in costs if cost is not None]
    return text.money(sum(known) / len(known)) if len(known) == len(costs) else "unknown"


def state_words(runs: Iterable[History]) -> str:
    """``2 finished, 1 failed``; nothing where all have finished."""
    counts = Counter(run.run.status for run in runs)
    if counts.keys() == {"finished"}:
        return ""
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def over_words(c: Contrast) -> str:
    """``50 paired episodes``; ``3 and 4 runs, unpaired``."""
    if c.paired:
        return f"{c.counts[0]} paired {c.unit}"
    return f"{c.counts[0]} and {c.counts[1]} {c.unit}, unpaired"


def mean_words(
    mean: float, interval: Interval | None, measure: Measure, *, signed: bool = False
) -> str:
    """``0.50 (0.09 to 0.91)``; ``+58 (40 to 70)`` of a difference."""

    def shown(x: float) -> str:
        words = f"{x:.2f}" if measure == "success" else text.number(x)
        return f"+{words}" if signed and x > 0 else words

    if interval is None:
        return shown(mean)
    return f"{shown(mean)} ({shown(interval.low)} to {shown(interval.high)})"


def notes(panels: Sequence[Panel]) -> list[str]:
    """What a reader of the tables must know of these runs."""
    histories = [run for panel in panels for group in panel.groups for run in group.runs]
    groups = [group for panel in panels for group in panel.groups]
    found = []
    for run in (history.run for history in histories):
        found += [f"{run.spec}/{run.folder.name}: {text}." for text in run.unread]
    if any(run.run.replayed for run in histories):
        found.append(
            "Replayed replies: the spread over seeds is that of the episodes, not of the model."
        )
    seeds = [[run.run.settings.get("seed") for run in group.runs] for group in groups]
    if any(len(set(s)) < len(s) for s in seeds):
        found.append("Runs of one group share a seed: they met the same episodes.")
    if any(1 < len(group.tests) < 5 for group in groups):
        found.append("Fewer than 5 runs in a group: its interval and its p-values are rough.")
    if any(len(group.tests) == 1 for group in groups):
        found.append(
            "A group of one run: its interval is over episodes and speaks of that policy alone."
        )
    return found
