"""What all checks of one spec found, as one object: what ``promptpo check`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptpo.checks.findings import Finding
from promptpo.common import text
from promptpo.ui import html
from promptpo.ui.tables import Table


@dataclass(frozen=True, repr=False)
class CheckReport:
    """Whether a spec is true of its live environment; ``print(report)`` shows every finding.

    ``spec`` is its name, ``title`` the task in one line.
    """

    spec: str
    title: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
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
        found = text.plural(len(self.findings), "finding")
        verdict = f"not true: {wrong}" if wrong else "ok"
        return f"<CheckReport of {self.spec}: {verdict}; {found}>"

    def _repr_html_(self) -> str:
        rows = [(f.verdict, f.check, f.detail) for f in self.findings]
        title = html.heading(f"{self.spec}: {self.title}")
        table = html.table(Table(("verdict", "check", "what was found"), rows))
        more = [html.source("\n".join(f.more), f"more on {f.check}") for f in self if f.more]
        return "".join([title, table, *more])
