"""Findings of the checks, their report, and the effort to come by them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from promptpo.common.blocks import Cell, Table
from promptpo.common.text import plural
from promptpo.ui.tables import html_heading, html_source, html_table


@dataclass(frozen=True)
class Finding:
    """One check's result: the verdict, and the figures behind it on one line.

    ``ok`` and ``FAIL`` are judgements; ``note`` is for what has no right or wrong. ``more`` are
    further lines for who wants to correct it, such as a wrong reward's worst step.
    """

    check: str
    verdict: Literal["ok", "FAIL", "note"]
    detail: str
    more: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """True where the spec and its environment disagree."""
        return self.verdict == "FAIL"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = 0) -> str:
        """Return the line that ``promptpo check`` prints, and below it those of ``more``.

        Words beyond ``width`` columns (0: none) go to lines of their own; tables stay whole.
        """
        head = f"{self.verdict:4}  {self.check:22}  "
        lines = [_wrapped(head + self.detail, width, len(head))]
        for line in self.more:
            whole = width if not line.startswith("  ") else 0
            lines.append(_wrapped(" " * 6 + line, whole, 8))
        return "\n".join(lines)


def _wrapped(line: str, width: int, indent: int) -> str:
    """Return a line, broken between words where it is longer than ``width``; paths stay whole."""
    if not width or len(line) <= width:
        return line
    rest = " " * min(indent, width // 2)
    return textwrap.fill(
        line, width, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )


def judged(check: str, problems: list[str], detail: str) -> Finding:
    """Return a failure with the problems; without any, ``ok`` with the detail."""
    return Finding(check, "FAIL", "; ".join(problems)) if problems else Finding(check, "ok", detail)


@dataclass(frozen=True)
class Effort:
    """Amount of play.

    Attributes:
        transitions: transitions on which reward and observations are held against the spec.
        reference_steps: environment steps for each reference value, in whole episodes.
        reference_episodes: (fewest, most) episodes for each reference value.
        start_seeds: seeds of the search and of the test stream whose first observations are met.
    """

    transitions: int
    reference_steps: int
    reference_episodes: tuple[int, int]
    start_seeds: int


FULL = Effort(10_000, 20_000, (20, 2000), 50)
QUICK = Effort(1_000, 1_500, (3, 200), 10)


@dataclass(frozen=True, repr=False)
class CheckReport:
    """All findings on one spec; ``print(report)`` shows them as ``promptpo check`` does.

    ``spec`` is its name, ``title`` the task in one line.
    """

    spec: str
    title: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """True where nothing failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings in which the spec and its environment disagree."""
        return tuple(finding for finding in self.findings if finding.failed)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        return "\n".join([f"{self.spec}: {self.title}", *(f"  {f}" for f in self.findings)])

    def __repr__(self) -> str:
        wrong = ", ".join(dict.fromkeys(finding.check for finding in self.failures))
        verdict = f"not true: {wrong}" if wrong else "ok"
        return f"<CheckReport of {self.spec}: {verdict}; {plural(len(self.findings), 'finding')}>"

    def _repr_html_(self) -> str:
        rows = tuple((Cell(f.verdict), Cell(f.check), Cell(f.detail)) for f in self.findings)
        title = html_heading(f"{self.spec}: {self.title}")
        table = html_table(Table("", ("verdict", "check", "what was found"), rows))
        more = [html_source("\n".join(f.more), f"more on {f.check}") for f in self if f.more]
        return "".join([title, table, *more])
