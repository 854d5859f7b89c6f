"""Scores of policies on held-out episodes: one, several side by side, one on two worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.common import text
from promptpo.common.blocks import Cell, Table, num
from promptpo.comparison.comparison import Record, contrast_record
from promptpo.comparison.scores import Contrast, Measure, contrasts, measures_of
from promptpo.comparison.tables import (
    contrasts_table,
    letter,
    metrics_table,
    score_cells,
    score_columns,
)
from promptpo.errors import UsageError
from promptpo.spec import EnvSpec, Reference
from promptpo.stats import Interval, ends
from promptpo.store import evals
from promptpo.store.codec import digest, encode, further_scores, score_data
from promptpo.types import Rollout, Score
from promptpo.ui.plain import Row
from promptpo.ui.tables import html_facts, html_remarks, html_table, print_table, printed

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, repr=False)
class Evaluation:
    """One policy on held-out episodes of a task.

    Attributes:
        policy: its file as seen from here, or ``expert``, ``random``, ``zero``.
        spec, title: name and title of the task.
        seed: the run seed whose held-out episodes these are.
        rollout: the episodes.
        error: one line where the policy failed, else empty; then there is no score.
        references: values that the spec states to compare with.
        source: the policy's text; empty for a part of the task.
        run: folder of the run whose best policy it is, if it is one.
    """

    policy: str
    spec: str
    title: str
    seed: int
    rollout: Rollout
    error: str = ""
    references: Mapping[str, Reference] = field(default_factory=dict)
    source: str = ""
    run: Path | None = None

    @property
    def score(self) -> Score:
        """Mean return and success rate (None: the task defines no success)."""
        return self.rollout.score

    @property
    def mean_return(self) -> float:
        """Mean return of an episode; minus infinity where the policy failed."""
        return self.score.mean_return

    @property
    def success_rate(self) -> float | None:
        """Share of the episodes that succeed, 0 to 1; None where the task defines no success."""
        return self.score.success_rate

    @property
    def mean_return_interval(self) -> Interval | None:
        """95% bootstrap interval of the mean return, over lives; None for fewer than two."""
        return self.rollout.return_interval

    @property
    def success_rate_interval(self) -> Interval | None:
        """95% interval (Wilson's) of the success rate; None where the task defines no success."""
        return self.rollout.success_interval

    @property
    def label(self) -> str:
        """Name in a comparison."""
        return self.policy

    @property
    def tests(self) -> tuple[Rollout, ...]:
        """The episodes, as a comparison takes them; none where the policy failed."""
        return () if self.score.failed else (self.rollout,)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measures of its score, the one that policies are ranked by first."""
        return measures_of(self.tests) if self.tests else ("return",)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as ``promptpo eval --json`` prints them."""
        r, failed = self.rollout, self.score.failed
        scored = evals.ScoredPolicy(
            policy=self.policy,
            source_sha=digest(self.source) if self.source else None,
            error=self.error or None,
            mean_return=None if failed else self.mean_return,
            mean_return_interval=ends(self.mean_return_interval),
            success_rate=self.success_rate,
            success_rate_interval=ends(self.success_rate_interval),
            steps=r.steps,
            clipped=r.clipped,
            episodes=r.whole,
        )
        data: dict[str, Any] = encode(scored)
        del data["worst_tenth"], data["metrics"]  # of tasks that have them, as a run writes them
        if not failed:
            data |= further_scores(r)
        if r.life > 1 and not failed:
            data |= {"life": r.life, "life_curve": encode(r.life_curve)}
        return data

    def rows(self) -> list[Row]:
        """Return the command's output as labelled lines."""
        r = self.rollout
        clipped = f"{r.clipped:.1%} of the actions were clipped to their bounds"
        rows = [
            ("policy", self.policy),
            ("task", f"{self.spec}: {self.title}"),
            ("episodes", f"{len(r.returns)} held-out ones of seed {self.seed}, {r.steps:,} steps"),
            ("failed", self.error),
            ("success", text.success_words(r).removeprefix("success ")),
            ("worst tenth", text.tenth_words(r).removeprefix("mean return of the worst tenth ")),
            ("return", text.return_words(r).removeprefix("mean return ")),
            *(("" if i else "measured", text.reading_words(m)) for i, m in enumerate(r.readings)),
            ("learning", text.life_words(r)),
            *text.reference_rows(self.references),
            ("note", clipped if r.clipped else ""),
        ]
        return [row for row in rows if row[1]]

    def __str__(self) -> str:
        return _lines(self.rows())

    def __repr__(self) -> str:
        words = (text.success_words(self.rollout), text.return_words(self.rollout))
        score = f"failed: {self.error}" if self.error else ", ".join(filter(None, words))
        return f"<Evaluation of {self.policy} on {self.spec}: {score}>"

    def _repr_html_(self) -> str:
        return html_facts(self.rows())


def _references(references: Mapping[str, Reference]) -> dict[str, dict[str, float | None]]:
    return {
        name: score_data(Score(r.mean_return, r.success_rate, worst_tenth=r.worst_tenth)) or {}
        for name, r in references.items()
    }


def _lines(rows: Sequence[Row]) -> str:
    return "\n".join(f"{label:11}  {words}" for label, words in rows)


@dataclass(frozen=True, repr=False)
class PolicyComparison:
    """Policies side by side on one task; ``print(comparison)`` shows scores and tests.

    Policies of one name get numbers: ``Policy``, ``Policy (2)``. Raises UsageError for evaluations
    on different tasks.
    """

    evaluations: tuple[Evaluation, ...]

    def __post_init__(self) -> None:
        if not self.evaluations:
            raise UsageError("no policies to compare; name at least one")
        tasks = list(dict.fromkeys(e.spec for e in self.evaluations))
        if len(tasks) > 1:
            raise UsageError(f"policies of {tasks[0]} and of {tasks[1]} cannot be compared")
        counts: Counter[str] = Counter()
        numbered = []
        for e in self.evaluations:
            counts[e.policy] += 1
            name = f"{e.policy} ({counts[e.policy]})" if counts[e.policy] > 1 else e.policy
            numbered.append(replace(e, policy=name))
        object.__setattr__(self, "evaluations", tuple(numbered))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measures of the scores, the one that policies are ranked by first."""
        return max((e.measures for e in self.evaluations), key=len)

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """All pairs, by each measure: difference, interval, and p-value adjusted by Holm."""
        return tuple(c for m in self.measures for c in contrasts(self.evaluations, m))

    @property
    def tests(self) -> list[Record]:
        """The contrasts as plain values, one dict for each pair and measure."""
        return [contrast_record(self.evaluations[0].spec, c) for c in self.contrasts]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as ``promptpo eval --json`` prints them."""
        first = self.evaluations[0]
        seeds = {e.seed for e in self.evaluations}
        return {
            "spec": first.spec,
            "title": first.title,
            "seed": first.seed if len(seeds) == 1 else None,
            "references": _references(first.references),
            "evaluations": [e.as_dict() for e in self.evaluations],
            "tests": self.tests,
        }

    def keep(self) -> list[Path]:
        """Write the results into every run whose best policy is among them; return the files.

        Policies are named as they lie from a run's folder: it may be moved.
        """
        files = []
        for folder in dict.fromkeys(e.run for e in self.evaluations if e.run is not None):
            names = {
                e.policy: Path(e.policy).name if Path(e.policy).is_absolute() else e.policy
                for e in self.evaluations
            }
            names |= {e.policy: evals.OWN for e in self.evaluations if e.run == folder}
            data = self.as_dict()
            for evaluation in data["evaluations"]:
                evaluation["policy"] = names[evaluation["policy"]]
            for test in data["tests"]:
                test["a"], test["b"] = names[test["a"]], names[test["b"]]
            files.append(evals.keep(folder, data))
        return files

    def rows(self) -> list[Row]:
        """Return what holds for all of them, as labelled lines."""
        first = self.evaluations[0]
        counts = dict.fromkeys((len(e.rollout.seeds), e.seed) for e in self.evaluations)
        episodes = [f"{count} held-out ones of seed {seed}" for count, seed in counts]
        return [
            ("task", f"{first.spec}: {first.title}"),
            ("episodes", "; ".join(episodes)),
            *text.reference_rows(first.references),
        ]

    def tables(self) -> list[Table]:
        """Return tables of scores, and of tests of each pair."""
        rows = tuple(
            (
                Cell(letter(number)),
                Cell(e.policy),
                *score_cells(e, self.measures),
                num(e.rollout.steps),
                Cell("failed" if e.error else ""),
            )
            for number, e in enumerate(self.evaluations)
        )
        tests = contrasts_table(self.evaluations, self.measures)
        columns = ("", "", *score_columns(self.measures), "steps", "")
        return [Table("Scores", columns, rows), *metrics_table(self.evaluations), *tests]

    @property
    def notes(self) -> list[str]:
        """Errors of policies that failed."""
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
        tables = "".join(html_table(table) for table in self.tables())
        return html_facts(self.rows()) + tables + html_remarks(self.notes)


@dataclass(frozen=True)
class Transfer:
    """A policy on its own task and on the world of another, with random actions beside it.

    ``home`` and ``to`` are the two tasks; ``before`` and ``after`` are the policy's evaluations on
    them, ``random`` the scores of random actions in the same episodes, before and after.
    """

    home: EnvSpec
    to: EnvSpec
    before: Evaluation
    after: Evaluation
    random: tuple[Score, Score]

    @property
    def error(self) -> str:
        """Error of the policy on one of the two; empty where it did not fail."""
        return self.before.error or self.after.error

    @property
    def kept(self) -> float | None:
        """Share of the gain over random actions on its own task that it has on the other world.

        By the success rate where the task defines success, else by the mean return. None where the
        policy failed, or gains nothing on its own task.
        """
        gain = self.before.score.value - self.random[0].value
        if self.error or gain <= 0:
            return None
        return (self.after.score.value - self.random[1].value) / gain

    def rows(self) -> list[Row]:
        """Return the command's output as labelled lines."""
        scores = [("before", self.before), ("after", self.after)]
        rollouts = [(name, e.rollout) for name, e in scores if not e.error]
        before, after = (
            text.number(s.mean_return)
            if s.success_rate is None
            else f"success {s.success_rate:.2f}"
            for s in self.random
        )
        random = f"({before} before, {after} after)"
        count = len(self.after.rollout.seeds)
        gain = f"nothing to keep: no better than random actions before {random}"
        if self.kept is not None:
            gain = f"{self.kept:.0%} of what it gained over random actions {random}"
        rows = [
            ("policy", self.after.policy),
            ("from", f"{self.home.name}: {self.home.title}"),
            ("to", f"{self.to.name}: {self.to.title}"),
            ("", f"its world alone: order, signs and names are those of {self.home.name}"),
            ("episodes", f"{count} held-out ones of seed {self.after.seed}"),
            ("failed", self.error),
            *((name, text.success_words(rollout)) for name, rollout in rollouts),
            *((name, text.return_words(rollout)) for name, rollout in rollouts),
            ("kept", "" if self.error else gain),
            *text.reference_rows(self.after.references),
        ]
        return [row for row in rows if row[1]]

    def __str__(self) -> str:
        return _lines(self.rows())

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as ``promptpo eval --on TWIN --json`` prints them."""
        before, after = map(score_data, self.random)
        return {
            "from": self.home.ref,
            "to": self.to.ref,
            "seed": self.after.seed,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "random": {"before": before, "after": after},
            "kept": self.kept,
            "references": _references(self.after.references),
        }
