"""Policies against each other, paired by the episodes that they met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from promptpo.common import text
from promptpo.comparison.contrasts import Contrast, contrasts
from promptpo.comparison.measures import Measure
from promptpo.comparison.records import Record, contrast_record
from promptpo.comparison.scores import sample_score
from promptpo.comparison.tables import CONTRASTS, contrast_rows, letter, mean_words
from promptpo.errors import UsageError
from promptpo.evaluation.evaluation import Evaluation, references_data
from promptpo.ui import html
from promptpo.ui.summary import Row, reference_rows
from promptpo.ui.tables import Table, print_table, printed

if TYPE_CHECKING:
    from rich.console import Console

_SCORES = ("", "", "success", "return", "steps", "")


@dataclass(frozen=True, repr=False)
class PolicyComparison:
    """Policies side by side on one task; ``print(comparison)`` shows scores and tests.

    Those of one name get numbers: ``Policy``, ``Policy (2)``. Raises UsageError for evaluations on
    different tasks.
    """

    evaluations: tuple[Evaluation, ...]

    def __post_init__(self) -> None:
        if not self.evaluations:
            raise UsageError("no policies to compare; name at least one")
        tasks = list(dict.fromkeys(e.spec for e in self.evaluations))
        if len(tasks) > 1:
            raise UsageError(f"policies of {tasks[0]} and of {tasks[1]} cannot be compared")
        object.__setattr__(self, "evaluations", tuple(_told_apart(self.evaluations)))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What the scores can be read as, the one that policies are ranked by first."""
        return max((e.measures for e in self.evaluations), key=len)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """All pairs, by each measure: difference, interval, and p-value adjusted by Holm."""
        return tuple(c for m in self.measures for c in contrasts(self.evaluations, m))

    @property
    def tests(self) -> list[Record]:
        """The same as one dict for each pair and measure."""
        return [contrast_record(self.evaluations[0].spec, c) for c in self.contrasts]

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, as ``promptpo eval --json`` prints them."""
        first = self.evaluations[0]
        seeds = {e.seed for e in self.evaluations}
        return {
            "spec": first.spec,
            "title": first.title,
            "seed": first.seed if len(seeds) == 1 else None,
            "references": references_data(first.references),
            "evaluations": [e.as_dict() for e in self.evaluations],
            "tests": self.tests,
        }

    def rows(self) -> list[Row]:
        """What holds for all of them, as labelled lines."""
        first = self.evaluations[0]
        counts = [(len(e.rollout.seeds), e.seed) for e in self.evaluations]
        played = [f"{count} held-out ones of seed {seed}" for count, seed in counts]
        return [
            ("task", f"{first.spec}: {first.title}"),
            ("episodes", "; ".join(dict.fromkeys(played))),
            *reference_rows(references_data(first.references)),
        ]

    def tables(self) -> list[Table]:
        """Scores, and tests of each pair."""
        scores = [self._score_row(i, e) for i, e in enumerate(self.evaluations)]
        tests = contrast_rows(self.evaluations, self.measures)
        return [Table(_SCORES, scores), *([Table(CONTRASTS, tests)] if tests else [])]

    def _score_row(self, number: int, e: Evaluation) -> tuple[str, ...]:
        cells = []
        for measure in ("success", "return"):
            found = sample_score(e, measure) if measure in self.measures else None
            cells.append(mean_words(found.mean, found.interval, measure) if found else "")
        remark = "failed" if e.error else ""
        return (letter(number), e.policy, *cells, f"{e.rollout.steps:,}", remark)

    @property
    def notes(self) -> list[str]:
        """What a reader of the tables must know."""
        return [f"{letter(i)}: {e.error}" for i, e in enumerate(self.evaluations) if e.error]

    def print(self, console: Console) -> None:
        """Print the lines, the tables and the notes."""
        for label, words in self.rows():
            console.print(f"{label:11}  {words}", soft_wrap=True)
        console.print()
        for table in self.tables():
            print_table(console, table)
        for note in self.notes:
            console.print(f"- {note}", style="dim", soft_wrap=True)

    def __str__(self) -> str:
        return printed(self.print)

    def __repr__(self) -> str:
        count = text.plural(len(self.evaluations), "evaluation")
        return f"<PolicyComparison of {count} on {self.evaluations[0].spec}>"

    def _repr_html_(self) -> str:
        tables = "".join(html.table(table) for table in self.tables())
        return html.facts(self.rows()) + tables + html.remarks(self.notes)


def _told_apart(evaluations: Sequence[Evaluation]) -> Iterator[Evaluation]:
    """The evaluations with a name of its own for each."""
    counts: Counter[str] = Counter()
    for e in evaluations:
        counts[e.policy] += 1
        again = counts[e.policy] > 1
        yield replace(e, policy=f"{e.policy} ({counts[e.policy]})") if again else e
