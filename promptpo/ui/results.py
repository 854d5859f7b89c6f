"""What came out of a run, for programs and notebooks: short words, and a table."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from promptpo.common import text
from promptpo.store.tally import Usage
from promptpo.types import Candidate, Rollout
from promptpo.ui import html
from promptpo.ui.summary import Row, held_out_rows, steps_words


class Outcome(Protocol):
    """A run that has ended, or as it stands."""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        ...

    @property
    def status(self) -> str:
        """How it stands."""
        ...

    @property
    def reason(self) -> str:
        """Why it ended."""
        ...

    @property
    def best(self) -> Candidate | None:
        """Its policy."""
        ...

    @property
    def test(self) -> Rollout | None:
        """The policy's held-out episodes."""
        ...

    @property
    def usage(self) -> Usage:
        """What it has used."""
        ...


def words(run: Outcome) -> str:
    """``runs/cartpole/20261120-143000: finished, r01_c01, return 500 in 50 held-out episodes``."""
    parts = [run.status]
    if run.best is not None:
        parts.append(run.best.name)
        score = run.test.score if run.test is not None else run.best.score
        count = len(run.test.seeds) if run.test is not None else 0
        stream = f"in {text.plural(count, 'held-out episode')}" if count else "in search"
        parts.append(f"{score} {stream}")
    return f"{text.near_path(run.folder)}: {', '.join(parts)}"


def rows(run: Outcome) -> list[Row]:
    """The same as labelled lines, with what it took."""
    if run.best is None:
        found = [("best policy", "none: no candidate has got through its episodes")]
    else:
        file = text.near_path(run.folder / "best" / "policy.py")
        found = [("best policy", f"{file}  ({run.best.name})")]
        if run.test is None:
            found.append(("search", f"{run.best.score}  (no held-out episodes played)"))
        else:
            found += held_out_rows(run.test)
    usage = run.usage
    if usage.calls:
        found.append(("cost", f"{text.plural(usage.calls, 'call')}, {text.money(usage.cost)}"))
    found += [("env steps", steps_words(usage)), ("ended", run.reason or run.status)]
    return found


def page(run: Outcome) -> str:
    """The same as HTML, with the policy's source to unfold."""
    source = run.best.source if run.best is not None else None
    return html.facts(rows(run)) + (html.source(source, "the policy") if source else "")
