"""A suite's held-out scores as a LaTeX table (booktabs): specs down, methods across."""

from __future__ import annotations

from collections.abc import Iterator

from promptpo.bench.aggregates import Aggregates, runs_words
from promptpo.bench.cells import Played
from promptpo.bench.specs_view import number_words, published_tables
from promptpo.common import text
from promptpo.errors import UsageError
from promptpo.stats import Interval


def latex_table(played: Played, found: Aggregates) -> str:
    """Return comments on what the numbers are, the table, and one of published numbers if any.

    Raises UsageError where tabulate is not installed.
    """
    try:
        from tabulate import SEPARATING_LINE, tabulate
    except ImportError:
        raise UsageError(
            "the table needs the package 'tabulate'; run: pip install 'promptpo[plots]'"
        ) from None

    def booktabs(rows: list[list[str] | str], headers: list[str], align: str) -> str:
        sides = ["left" if letter == "l" else "right" for letter in align]
        style = "latex_booktabs"
        return tabulate(rows, headers, style, disable_numparse=True, colalign=sides)

    rows: list[list[str] | str] = [_scores(played, spec) for spec in played.suite.specs]
    if found.methods:
        rows += [SEPARATING_LINE, *_averages(played, found)]
    ours = booktabs(rows, ["", *played.labels], "l" + "r" * len(played.labels))
    parts = [*(f"% {_one_line(sentence)}" for sentence in _notes(played, found)), ours]
    if published := list(_published(played)):
        parts += [
            "",
            "% Published numbers: other budgets and protocols, no runs of ours.",
            booktabs([*published], ["Spec", "Method", "Published", "Source"], "llrl"),
        ]
    return "\n".join([*parts, ""])


def _notes(played: Played, found: Aggregates) -> Iterator[str]:
    """Yield what a caption of the table should say, sentence by sentence."""
    yield "Needs \\usepackage{booktabs}. Written by promptpo bench from the runs beside it."
    yield (
        f"{played.suite.title.rstrip('.')}: mean scores on held-out episodes,"
        f" {runs_words(played)}, with 95% intervals."
    )
    if any(len(played.of(s, label)) == 1 for s in played.suite.specs for label in played.labels):
        yield (
            "Where a method has one run, the interval is over episodes and speaks of that one"
            " policy, not of what another run of the method would find."
        )
    if missing := sum(cell.score is None for cell in played.cells):
        yield (
            f"{text.plural(missing, 'run')} of {len(played.cells)} without a score: a dash where"
            " none of a method has one, else an asterisk."
        )
    if found.methods:
        yield (
            f"Averages: normalized scores (0 random, 1 best known) of {len(found.specs)} of"
            f" {text.plural(len(played.suite.specs), 'spec')}, stratified bootstrap."
        )


def _scores(played: Played, spec: str) -> list[str]:
    """Return the row of a spec: its name, then a score and its interval for each method."""
    measure = played.measure(spec)
    row = [f"{spec} (success)" if measure == "success" else spec]
    for label in played.labels:
        score = played.score(spec, label)
        if score is None:
            row.append("--")
            continue
        mark = "*" if any(cell.score is None for cell in played.of(spec, label)) else ""
        row.append(number_words(score.mean, measure) + mark + _bounds(score.interval, measure))
    return row


def _averages(played: Played, found: Aggregates) -> Iterator[list[str]]:
    """Yield a row for each average over the specs."""
    for name in next(iter(found.methods.values())):
        estimates = [found.methods.get(label, {}).get(name) for label in played.labels]
        yield [
            name,
            *(f"{e.value:.2f}{_bounds(e.interval, 'success')}" if e else "--" for e in estimates),
        ]


def _bounds(interval: Interval | None, measure: str) -> str:
    if interval is None:
        return ""
    return f" [{number_words(interval.low, measure)}, {number_words(interval.high, measure)}]"


def _published(played: Played) -> Iterator[list[str]]:
    """Yield spec, method, number and source of each published score."""
    for spec in played.suite.specs:
        reported = [row for row in played.suite.published if row.spec == spec]
        for table in published_tables(reported, played.measure(spec)):
            source = f"{table.source}: {table.what}" if table.what else table.source
            for method, number in table.rows:
                yield [spec, method, number, source]


def _one_line(words: str) -> str:
    return " ".join(words.split())
