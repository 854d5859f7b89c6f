"""A sweep in a terminal: a line a run, redrawn in place; plain lines where there is no terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from promptpo.common import text
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import say
from promptpo.sweep.plan import Member
from promptpo.ui.status import RunStatus

if TYPE_CHECKING:
    from rich.console import RenderableType

HEADER = ("run", "state", "best", "steps", "cost")

#: Rows that the live picture needs besides those of the runs.
_OTHER_ROWS = 5

#: Seconds between lines that tell of a run's rounds.
_QUIET = 10.0

_STYLES = {"finished": "green", "failed": "red", "stopped": "yellow", "interrupted": "yellow"}


class Overview(Protocol):
    """A Watcher for the length of a ``with`` block."""

    def show(self, member: Member, status: RunStatus) -> None:
        """A run has changed."""
        ...

    def notice(self, member: Member, text: str) -> None:
        """A run has said something that somebody should read."""
        ...

    def __enter__(self) -> Overview: ...

    def __exit__(self, *_: object) -> None: ...


def open_overview(statuses: Mapping[Member, RunStatus | None], stream: TextIO) -> Overview:
    """The overview that suits a stream, of runs as they stand; None: not begun."""
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return LiveOverview(statuses, stream)
    return PlainOverview(statuses, stream)


def row(member: Member, status: RunStatus | None) -> tuple[str, ...]:
    """A run's line, as HEADER says."""
    if status is None:
        return (str(member), "waiting", "", "", "")
    return (
        str(member),
        status.state,
        best_words(status),
        f"{status.steps:,}" if status.steps else "",
        text.money(status.cost) if status.cost is not None else "unknown",
    )


def best_words(status: RunStatus) -> str:
    """The best search score in one number: the success rate, else the return."""
    best = status.best
    if best is None:
        return ""
    if best.get("success_rate") is not None:
        return f"success {best['success_rate']:.2f}"
    return f"return {text.number(best['mean_return'])}"


class PlainOverview:
    """Writes a line when the state of a run changes; of quick rounds only one now and then."""

    def __init__(self, statuses: Mapping[Member, RunStatus | None], stream: TextIO) -> None:
        self._states = {
            member: status.state if status else "" for member, status in statuses.items()
        }
        self._width = max(map(len, map(str, statuses)))
        self._rounds: dict[Member, float] = {}
        self._stream = stream
        self._started = time.time()

    def __enter__(self) -> PlainOverview:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, member: Member, status: RunStatus) -> None:
        """Write a line if the run has a new state."""
        if status.state != self._states[member] and not self._is_quick_round(member, status):
            self._states[member] = status.state
            failed = status.reason if status.status == "failed" else ""
            words = [status.state, best_words(status), failed]
            self._write(member, ", ".join(filter(None, words)))

    def _is_quick_round(self, member: Member, status: RunStatus) -> bool:
        """Whether a round has been told of a moment ago."""
        if not status.state.startswith("round "):
            return False
        before, now = self._rounds.get(member, -_QUIET), time.monotonic()
        if now - before < _QUIET:
            return True
        self._rounds[member] = now
        return False

    def notice(self, member: Member, text: str) -> None:
        """Write it."""
        self._write(member, text)

    def _write(self, member: Member, words: str) -> None:
        stamp = text.duration(time.time() - self._started)
        say(clean_line(f"{stamp:>7}  {member!s:{self._width}}  {words}"), self._stream)


class LiveOverview:
    """Keeps a table of all runs at the bottom of a terminal; it stays there at the end."""

    def __init__(self, statuses: Mapping[Member, RunStatus | None], stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._statuses = dict(statuses)
        self._started = time.time()
        self._over = False
        self._console = Console(file=stream, highlight=False)
        self._live = Live(
            console=self._console,
            get_renderable=self._draw,
            refresh_per_second=5,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="visible",
        )

    def __enter__(self) -> LiveOverview:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True  # all rows, however many
        self._live.stop()

    def show(self, member: Member, status: RunStatus) -> None:
        """It is drawn next time."""
        self._statuses[member] = status

    def notice(self, member: Member, text: str) -> None:
        """Write it above the table."""
        from rich.text import Text

        self._console.print(Text(clean_line(f"{member}: {text}")), soft_wrap=True)

    def _draw(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        statuses = dict(self._statuses)
        height = self._console.size.height
        rows = len(statuses) if self._over else max(height - _OTHER_ROWS, 3)
        clock = text.duration(time.time() - self._started)
        return Group(
            table(statuses, rows), Text(f"{counts(states(statuses.values()))}, {clock}", "dim")
        )


def counts(statuses: Iterable[str]) -> str:
    """``6 runs: 1 failed, 2 finished, 2 running, 1 waiting``."""
    states = sorted(statuses)
    parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return f"{text.plural(len(states), 'run')}: {', '.join(parts)}"


def states(statuses: Iterable[RunStatus | None]) -> list[str]:
    """The statuses in a word each; one that has not begun is waiting."""
    return [status.status if status else "waiting" for status in statuses]


def table(statuses: Mapping[Member, RunStatus | None], rows: int) -> RenderableType:
    """The runs in at most so many rows: what is going on, and failures, come before the rest."""
    from rich.table import Table
    from rich.text import Text

    shown = _chosen(statuses, rows)
    drawn = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in HEADER:
        right = name in ("steps", "cost")
        drawn.add_column(
            name, justify="right" if right else "left", no_wrap=True, overflow="ellipsis"
        )
    for member in shown:
        status = statuses[member]
        style = _STYLES.get(status.status, "cyan") if status else "dim"
        cells = [Text(clean_line(cell)) for cell in row(member, status)]
        cells[1].stylize(style)
        drawn.add_row(*cells)
    if len(shown) < len(statuses):
        drawn.add_row(Text(f"{len(statuses) - len(shown)} more", "dim"))
    return drawn


def _chosen(statuses: Mapping[Member, RunStatus | None], rows: int) -> Sequence[Member]:
    """Those that are shown, in their own order."""
    if len(statuses) <= rows:
        return list(statuses)
    urgent = {"running": 0, "failed": 1, "interrupted": 1}
    ranked = sorted(statuses, key=lambda m: urgent.get(s.status, 3) if (s := statuses[m]) else 2)[
        : rows - 1
    ]
    return [member for member in statuses if member in set(ranked)]
