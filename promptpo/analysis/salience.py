"""Salience bias: does a critic that is shown the worst episode revise for its sake, and do harm?

The measure of R2PO (arXiv 2605.08315): of the revisions whose mean return is below that of the
policy that was revised (regressions), the share in which the worst of the three episodes shown was
worse than the median one and the critic's text refers to it. A prompt that names an episode the
worst makes most texts refer to it, and means of few episodes fall by chance: so the same share is
told of all other revisions beside it, and of the regressions beyond noise alone (5%, two-sided:
Student's t of the paired differences where both played the same episodes, else Welch's).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from promptpo.errors import RunError
from promptpo.racing import LEVEL, paired
from promptpo.stats import Interval, success_interval
from promptpo.store.reading import RunRecord, read_record
from promptpo.store.trials import Trial
from promptpo.types import Rollout

#: The role of a critic's calls, and what says that it was shown worst, median and best episode.
_ROLE, _THREE = "critic", (("shown", "three"), ("critic_shows", "three"))

_WORD = re.compile(r"\bworst\b", re.IGNORECASE)
_PHRASE = re.compile(r"\bworst[\s-]+(?:rollout|trajectory|episode)s?\b", re.IGNORECASE)

#: Which revisions, and which condition on the returns shown with which reference in the text.
GROUPS = ("regressions", "regressions_beyond_noise", "others")
CONDITIONS = ("strict", "strict_word", "strict_phrase", "loose", "loose_word", "loose_phrase")


@dataclass(frozen=True)
class Revision:
    """A policy that a critic revised, and what came of it.

    Attributes:
        run, name, parent: the run's folder, the revision, the policy that was revised.
        worst, median, best: returns of the episodes that the critic saw.
        before, after: mean returns of the policy and of its revision.
        beyond_noise: whether these differ beyond noise.
        word, phrase: whether the critic's text has "worst", and "worst episode" or the like.
    """

    run: str
    name: str
    parent: str
    worst: float
    median: float
    best: float
    before: float
    after: float
    beyond_noise: bool
    word: bool
    phrase: bool

    @property
    def groups(self) -> tuple[str, ...]:
        """Those of ``GROUPS`` that it belongs to."""
        if self.after >= self.before:
            return ("others",)
        return GROUPS[:2] if self.beyond_noise else GROUPS[:1]

    def meets(self, condition: str) -> bool:
        """Whether one of the ``CONDITIONS`` holds."""
        kind, _, text = condition.partition("_")
        strict = self.worst < self.median
        loose = self.worst <= self.median and self.worst < self.best
        said = {"": True, "word": self.word, "phrase": self.phrase}[text]
        return said and (strict if kind == "strict" else loose)


@dataclass(frozen=True)
class Share:
    """So many of ``of`` revisions; ``interval`` is Wilson's of the share, None of none."""

    count: int
    of: int

    @property
    def share(self) -> float | None:
        """The share; None of none."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Its 95% interval."""
        return success_interval(self.count, self.of)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        ends = [self.interval.low, self.interval.high] if self.interval else None
        return {"count": self.count, "of": self.of, "share": self.share, "interval": ends}


@dataclass(frozen=True)
class Salience:
    """The revisions of some runs of one task and method; ``failed`` have no mean return."""

    spec: str
    method: str
    runs: int
    revisions: tuple[Revision, ...]
    failed: int

    def share(self, group: str, condition: str) -> Share:
        """How many of a group meet a condition."""
        members = [r for r in self.revisions if group in r.groups]
        return Share(sum(r.meets(condition) for r in members), len(members))

    def p_value(self, group: str, condition: str) -> float | None:
        """Fisher's exact test of a group's share against that of the others; None of none."""
        from scipy.stats import fisher_exact

        a, b = self.share(group, condition), self.share("others", condition)
        if not a.of or not b.of:
            return None
        table = [[a.count, a.of - a.count], [b.count, b.of - b.count]]
        return float(fisher_exact(table).pvalue)

    def as_dict(self) -> dict[str, Any]:
        """As JSON: by group the share that meets each condition."""
        groups = {g: {c: self.share(g, c).as_dict() for c in CONDITIONS} for g in GROUPS}
        tests = {g: {c: self.p_value(g, c) for c in CONDITIONS} for g in GROUPS[:2]}
        return {
            "spec": self.spec, "method": self.method, "runs": self.runs,
            "revisions": len(self.revisions), "failed": self.failed,
            **groups, "p_against_others": tests,
            "each": [vars(r) for r in self.revisions],
        }  # fmt: skip


def salience(folders: Iterable[Path]) -> list[Salience]:
    """The measure by task and method, in the order in which these come.

    Raises RunError where a run is none, or had no critic that saw the worst episode.
    """
    by_task: dict[tuple[str, str], list[RunRecord]] = {}
    for folder in dict.fromkeys(Path(f).resolve() for f in folders):
        run = read_record(folder)
        _check(run)
        by_task.setdefault((run.spec, run.method), []).append(run)
    found = []
    for (spec, method), runs in by_task.items():
        asked = [(run, trial, text) for run in runs for trial, text in _criticised(run)]
        made = [_revision(*each) for each in asked]
        whole = tuple(r for r in made if r is not None)
        found.append(Salience(spec, method, len(runs), whole, len(made) - len(whole)))
    return found


def _check(run: RunRecord) -> None:
    """Raises RunError unless a critic saw worst, median and best episodes."""
    if not any(key.role == _ROLE for key in run.replies):
        raise RunError(f"{run.folder}: no critic was asked in it; runs of --method r2po have one,"
                       " and those of promptpo with --critic")  # fmt: skip
    if not any(run.settings.get(name) == value for name, value in _THREE):
        option = "--critic-shows three" if run.method == "promptpo" else "--shown three"
        raise RunError(
            f"{run.folder}: its critic was not shown the worst episode; that takes {option}"
        )


def _criticised(run: RunRecord) -> list[tuple[Trial, str]]:
    """The candidates that came of a critic's call and have ended, and what it said."""
    found = []
    for trial in run.policies:
        replies = {k: c.reply for k, c in trial.calls.items() if k.role == _ROLE and c.reply}
        if replies and trial.ended:
            last = max(replies, key=lambda k: (k.attempt <= trial.repairs, k.attempt))
            found.append((trial, replies[last].text))
    return found


def _revision(run: RunRecord, trial: Trial, text: str) -> Revision | None:
    """None where the revision failed, or the episodes of one of the two are not known."""
    parent = run.trials.get(next(iter(trial.candidate.parents), ""))
    before, after = (_played(t) for t in (parent, trial))
    if parent is None or before is None or after is None:
        return None
    returns = before.returns
    middle = median(returns)
    return Revision(
        run=str(run.folder),
        name=trial.name,
        parent=parent.name,
        worst=min(returns),
        median=min(returns, key=lambda x: abs(x - middle)),
        best=max(returns),
        before=mean(returns),
        after=mean(after.returns),
        beyond_noise=differs(before, after),
        word=bool(_WORD.search(text)),
        phrase=bool(_PHRASE.search(text)),
    )


def _played(trial: Trial | None) -> Rollout | None:
    """The episodes that a candidate began with, which are those that a critic is shown."""
    if trial is None or trial.candidate.error is not None:
        return None
    run = trial.candidate.rollout
    return run if run is not None and run.error is None and run.returns else None


def differs(before: Rollout, after: Rollout) -> bool:
    """Whether two mean returns differ beyond noise, at 5%."""
    told = paired(after, before)
    if told is not None:
        return told.returns.sign != 0
    a, b = (run.life_returns for run in (before, after))
    return _welch(a, b) <= 1 - LEVEL


def _welch(a: Sequence[float], b: Sequence[float]) -> float:
    """The p-value of Welch's test; 1 where there are too few values to tell."""
    from scipy.stats import ttest_ind

    if min(len(a), len(b)) < 2:
        return 1.0
    if len(set(a)) == len(set(b)) == 1:  # no spread that could have made the difference
        return 0.0 if a[0] != b[0] else 1.0
    p = float(ttest_ind(a, b, equal_var=False).pvalue)
    return 1.0 if math.isnan(p) else p
