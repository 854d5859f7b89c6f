"""Measure salience bias: does a critic that sees the worst episode revise for its sake, and harm?

    python benchmarks/salience.py RUN [RUN ...]

Takes runs of ``--method r2po --set shown=three``. R2PO's measure (arXiv 2605.08315): of the
revisions with a lower mean return than the policy that was revised (regressions), the share in
which the worst episode shown was worse than the median one and the critic's text has the word
"worst". Most texts have it where the prompt names an episode the worst, and means of few episodes
fall by chance: so the same share of all other revisions stands beside it, with Fisher's exact
test, and that of the regressions beyond noise (Welch's test at 5%).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scipy.stats import fisher_exact, ttest_ind

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from promptpo.common.text import p_value
from promptpo.errors import PromptPOError, RunError
from promptpo.stats import success_interval
from promptpo.store.run import Run, load_run

_WORST = re.compile(r"\bworst\b", re.IGNORECASE)
_WORST_EPISODE = re.compile(r"\bworst[\s-]+(?:rollout|trajectory|episode)s?\b", re.IGNORECASE)

GROUPS = ("regressions", "regressions beyond noise", "all other revisions")
CONDITIONS = ("worst < median", 'and says "worst"', 'and says "worst episode"')


@dataclass(frozen=True)
class Revision:
    """The groups and the conditions that a critic's revision belongs to and meets."""

    groups: tuple[str, ...]
    conditions: tuple[str, ...]


def revisions(run: Run) -> Iterator[Revision]:
    """Yield the revisions of a run; those without episodes are left out.

    Raises RunError where no critic saw worst, median and best episodes.
    """
    if run.settings.get("shown") != "three":
        raise RunError(f"{run.folder}: not a run of --method r2po --set shown=three")
    for trial in run.policies:
        texts = [c.reply.text for k, c in trial.calls.items() if k.role == "critic" and c.reply]
        parent = run.trials.get(next(iter(trial.candidate.parents), ""))
        if not texts or parent is None:
            continue
        before, after = (t.candidate.rollout for t in (parent, trial))
        if before and after and before.returns and after.returns:
            yield _revision(before.returns, after.returns, texts[-1])


def _revision(before: Sequence[float], after: Sequence[float], text: str) -> Revision:
    middle = median(before)
    strict = min(before) < min(before, key=lambda x: abs(x - middle))
    met = (strict, strict and _WORST.search(text), strict and _WORST_EPISODE.search(text))
    groups: tuple[str, ...] = GROUPS[2:]
    if sum(after) / len(after) < sum(before) / len(before):
        groups = GROUPS[:2] if _differ(before, after) else GROUPS[:1]
    return Revision(groups, tuple(c for c, holds in zip(CONDITIONS, met, strict=True) if holds))


def _differ(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two unequal means differ beyond noise; False for fewer than two values."""
    if min(len(a), len(b)) < 2:
        return False
    if len(set(a)) == len(set(b)) == 1:
        return True
    return bool(ttest_ind(a, b, equal_var=False).pvalue <= 0.05)


def table(found: Sequence[Revision]) -> list[str]:
    """Return a line for each group: its size, its shares with 95% intervals, and the test."""
    lines = []
    others = [r for r in found if GROUPS[2] in r.groups]
    for group in GROUPS:
        members = [r for r in found if group in r.groups]
        counts = [sum(c in r.conditions for r in members) for c in CONDITIONS]
        shares = [
            f"{count} ({count / len(members):.1%}; {ends.low:.0%} to {ends.high:.0%})"
            if (ends := success_interval(count, len(members)))
            else "-"
            for count in counts
        ]
        p = None
        if members and others and group != GROUPS[2]:
            worst = sum(CONDITIONS[1] in r.conditions for r in others)
            pairs = [[counts[1], len(members) - counts[1]], [worst, len(others) - worst]]
            p = float(fisher_exact(pairs).pvalue)
        lines.append(f"{group:26}{len(members):4}" + "".join(f"  {s:26}" for s in shares))
        lines[-1] += p_value(p)
    return lines


def main() -> None:
    """Print a table for each task."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run's folder")
    by_task: defaultdict[str, list[Revision]] = defaultdict(list)
    try:
        for folder in dict.fromkeys(parser.parse_args().runs):
            run = load_run(folder)
            by_task[run.spec] += revisions(run)
    except PromptPOError as error:
        sys.exit(str(error))
    for spec, found in by_task.items():
        print(f"{spec}: {len(found)} revisions; shares with 95% intervals")
        print(f"{'':26}{'':>4}" + "".join(f"  {c:26}" for c in CONDITIONS) + "p")
        print("\n".join(line.rstrip() for line in table(found)))


if __name__ == "__main__":
    main()
