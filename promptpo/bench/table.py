"""A suite's held-out scores as a LaTeX table (booktabs): specs down, methods across."""

from __future__ import annotations

from collections.abc import Iterator

from promptpo.bench.aggregates import Aggregates, runs_words
from promptpo.bench.cells import Played
from promptpo.bench.specs_view import number_words, published_tables
from promptpo.common import text
from promptpo.stats import Interval

_SPECIAL = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def latex(words: str) -> str:
    """Text as LaTeX sets it, whatever characters it has."""
    return "".join(_SPECIAL.get(character, character) for character in words)


def latex_table(played: Played, found: Aggregates) -> str:
    """The whole file: what it needs in comments, then a ``table*`` that can be put in."""
    labels = played.labels
    lines = [
        "% Needs \\usepackage{booktabs}. Written by promptpo bench from the runs beside it.",
        "\\begin{table*}",
        "\\centering",
        f"\\caption{{{latex(_caption(played, found))}}}",
        "\\small",
        f"\\begin{{tabular}}{{l{'r' * len(labels)}}}",
        "\\toprule",
        " & ".join(["", *map(latex, labels)]) + " \\\\",
        "\\midrule",
        *(line for spec in played.suite.specs for line in _rows(played, spec)),
    ]
    if found.methods:
        lines += ["\\midrule", *_averages(played, found)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", *_published(played),
                      "\\end{table*}", ""])  # fmt: skip


def _caption(played: Played, found: Aggregates) -> str:
    """What the numbers are, how many runs stand behind them, and what that allows to say."""
    single = any(len(c) == 1 for c in _cells(played))
    sentences = [
        f"{played.suite.title.rstrip('.')}: mean scores on held-out episodes, {runs_words(played)},"
        " 95% intervals below them.",
        "The highest of a row is bold, which is no test.",
    ]
    if single:
        sentences.append(
            "Where a method has one run, the interval is over episodes and speaks of that one"
            " policy, not of what another run of the method would find."
        )
    missing = sum(cell.score is None for cell in played.cells)
    if missing:
        sentences.append(
            f"{text.plural(missing, 'run')} of {len(played.cells)} without a score: a dash where"
            " none of a method has one, else a dagger."
        )
    if found.methods:
        sentences.append(
            f"Averages: normalized scores (0 random, 1 best known) of {len(found.specs)} of"
            f" {text.plural(len(played.suite.specs), 'spec')}, stratified bootstrap."
        )
    return " ".join(sentences)


def _cells(played: Played) -> Iterator[tuple[object, ...]]:
    for spec in played.suite.specs:
        for label in played.labels:
            yield played.of(spec, label)


def _rows(played: Played, spec: str) -> Iterator[str]:
    """The scores of a spec, and below them their intervals."""
    measure = played.measure(spec)
    scores = [played.score(spec, label) for label in played.labels]
    best = max((s.mean for s in scores if s is not None), default=None)
    values, intervals = [], []
    for label, score in zip(played.labels, scores, strict=True):
        if score is None:
            values.append("--")
            intervals.append("")
            continue
        shown = latex(number_words(score.mean, measure))
        shown = f"\\textbf{{{shown}}}" if score.mean == best and len(scores) > 1 else shown
        some_missing = any(cell.score is None for cell in played.of(spec, label))
        values.append(shown + ("$^\\dagger$" if some_missing else ""))
        intervals.append(_small(score.interval, measure))
    name = latex(spec) + (" (success)" if measure == "success" else "")
    yield " & ".join([name, *values]) + " \\\\"
    if any(intervals):
        yield " & ".join(["", *intervals]) + " \\\\"


def _averages(played: Played, found: Aggregates) -> Iterator[str]:
    """A row for each average, and below it the intervals where there are any."""
    for name in next(iter(found.methods.values())):
        estimates = [found.methods.get(label, {}).get(name) for label in played.labels]
        yield " & ".join([latex(name), *(f"{e.value:.2f}" if e else "--" for e in estimates)]) + (
            " \\\\"
        )
        if any(e and e.interval for e in estimates):
            intervals = [_small(e.interval, "success") if e else "" for e in estimates]
            yield " & ".join(["", *intervals]) + " \\\\"


def _small(interval: Interval | None, measure: str) -> str:
    if interval is None:
        return ""
    low, high = (latex(number_words(end, measure)) for end in (interval.low, interval.high))
    return f"{{\\scriptsize [{low}, {high}]}}"


def _published(played: Played) -> list[str]:
    """Published numbers in a block of their own below the table; their sources below them."""
    rows: list[str] = []
    sources: dict[tuple[str, str], str] = {}  # the letter that marks each
    for spec in played.suite.specs:
        measure = played.measure(spec)
        told = [row for row in played.suite.published if row.spec == spec]
        for table in published_tables(told, measure):
            key = (table.source, table.what)
            mark = sources.setdefault(key, chr(ord("a") + len(sources)))
            for method, number in table.rows:
                shown = latex(number).replace("±", "$\\pm$")
                rows.append(f"{latex(spec)} & {latex(method)} & {shown}$^{mark}$ \\\\")
    if not rows:
        return []
    return [
        "",
        "\\medskip",
        "{\\itshape Published numbers: other budgets and protocols, no runs of ours.}",
        "",
        "\\smallskip",
        "\\begin{tabular}{llr}",
        "\\toprule",
        "Spec & Method & Published \\\\",
        "\\midrule",
        *rows,
        "\\bottomrule",
        "\\end{tabular}",
        *(
            f"\n{{\\footnotesize $^{mark}$ {latex(f'{source}: {what}' if what else source)}.}}"
            for (source, what), mark in sources.items()
        ),
    ]
