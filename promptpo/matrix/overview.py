"""Statuses of several runs in a terminal: a table redrawn in place, or plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TextIO, TypeAlias

from promptpo.common import text
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import STATUS, is_drawn_on, say
from promptpo.matrix.plan import PlannedRun
from promptpo.ui.status import RunStatus

if TYPE_CHECKING:
    from rich.console import RenderableType

#: Statuses of the runs of a plan; None: not begun.
Statuses: TypeAlias = Mapping[PlannedRun, RunStatus | None]

#: Columns of the table, and those that are aligned right.
_COLUMNS = {"run": False, "state": False, "best": False, "steps": True, "cost": True}

#: Rows of a terminal that the table leaves free.
_OTHER_ROWS = 5

#: Seconds between lines on a run's rounds.
_QUIET = 10.0

_STYLES = {"finished": "green", "failed": "red", "stopped": "yellow", "interrupted": "yellow"}

#: Places of statuses where not all runs fit into the table; those not begun come third.
_URGENT = {"running": 0, "failed": 1, "interrupted": 1}


class PlainOverview:
    """Writes a line when the state of a run changes; of quick rounds only one now and then."""

    def __init__(self, statuses: Statuses, stream: TextIO) -> None:
        self._states = {run: status.state if status else "" for run, status in statuses.items()}
        self._width = max(map(len, map(str, statuses)), default=0)
        self._rounds: dict[PlannedRun, float] = {}
        self._stream = stream
        self._started = time.time()

    def __enter__(self) -> PlainOverview:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, run: PlannedRun, status: RunStatus) -> None:
        """Write a line if the run has a new state."""
        if status.state == self._states[run]:
            return
        if status.state.startswith("round "):
            now = time.monotonic()
            if now - self._rounds.get(run, -_QUIET) < _QUIET:
                return
            self._rounds[run] = now
        self._states[run] = status.state
        reason = status.reason if status.status == "failed" else ""
        self.notice(run, ", ".join(filter(None, (status.state, best_words(status), reason))))

    def notice(self, run: PlannedRun, words: str) -> None:
        """Write a line on a run."""
        stamp = text.duration(time.time() - self._started)
        say(clean_line(f"{stamp:>7}  {run!s:{self._width}}  {words}"), self._stream)


class LiveOverview:
    """Keeps a table of all runs at the bottom of a terminal; it stays there at the end."""

    def __init__(self, statuses: Statuses, stream: TextIO) -> None:
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
        STATUS.end()
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True  # all rows, however many
        self._live.stop()

    def show(self, run: PlannedRun, status: RunStatus) -> None:
        """Draw the run's new status with the next refresh."""
        self._statuses[run] = status

    def notice(self, run: PlannedRun, words: str) -> None:
        """Write a line on a run above the table."""
        from rich.text import Text

        self._console.print(Text(clean_line(f"{run}: {words}")), soft_wrap=True)

    def _draw(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        statuses = dict(self._statuses)
        height = self._console.size.height
        rows = len(statuses) if self._over else max(height - _OTHER_ROWS, 3)
        clock = text.duration(time.time() - self._started)
        return Group(table(statuses, rows), Text(f"{counts(states(statuses))}, {clock}", "dim"))


Overview: TypeAlias = PlainOverview | LiveOverview


def open_overview(statuses: Statuses, stream: TextIO) -> Overview:
    """Return the overview that suits a stream."""
    if is_drawn_on(stream):
        return LiveOverview(statuses, stream)
    return PlainOverview(statuses, stream)


def best_words(status: RunStatus) -> str:
    """Return the best search score in one number: the success rate, else what ranks policies."""
    best = status.best
    if best is None:
        return ""
    if best.get("success_rate") is not None:
        return f"success {best['success_rate']:.2f}"
    if best.get("worst_tenth") is not None:
        return f"worst tenth {text.number(best['worst_tenth'])}"
    return f"return {text.number(best['mean_return'])}"


def counts(states: Iterable[str]) -> str:
    """Return ``6 runs: 1 failed, 2 finished, 2 running, 1 waiting``."""
    words = sorted(states)
    parts = [f"{words.count(state)} {state}" for state in dict.fromkeys(words)]
    return f"{text.plural(len(words), 'run')}: {', '.join(parts) or 'none can begin'}"


def states(statuses: Statuses) -> list[str]:
    """Return the statuses in a word each; a run that has not begun is waiting."""
    return [status.status if status else "waiting" for status in statuses.values()]


def table(statuses: Statuses, rows: int) -> RenderableType:
    """Return the runs in at most so many rows: running and failed ones come before the rest."""
    from rich.table import Table
    from rich.text import Text

    runs = list(statuses)
    if len(runs) > rows:
        order = sorted(runs, key=lambda r: _URGENT.get(s.status, 3) if (s := statuses[r]) else 2)
        visible = set(order[: rows - 1])
        runs = [run for run in runs if run in visible]
    grid = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name, right in _COLUMNS.items():
        grid.add_column(
            name, justify="right" if right else "left", no_wrap=True, overflow="ellipsis"
        )
    for run in runs:
        status = statuses[run]
        style = _STYLES.get(status.status, "cyan") if status else "dim"
        cells = [Text(clean_line(cell)) for cell in row(run, status)]
        cells[1].stylize(style)
        grid.add_row(*cells)
    if len(runs) < len(statuses):
        grid.add_row(Text(f"{len(statuses) - len(runs)} more", "dim"))
    return grid


def row(run: PlannedRun, status: RunStatus | None) -> tuple[str, ...]:
    """Return a run's row of the table."""
    if status is None:
        return (str(run), "waiting", "", "", "")
    steps = f"{status.steps:,}" if status.steps else ""
    cost = text.money(status.cost) if status.cost is not None else "unknown"
    return (str(run), status.state, best_words(status), steps, cost)
