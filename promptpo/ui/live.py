"""The live view: the current round as it stands, above it what is done, redrawn in place."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from promptpo.plaintext import clean_line
from promptpo.types import Event, successes_text
from promptpo.ui import summary, text
from promptpo.ui.plain import event_lines
from promptpo.ui.progress import CandidateView, Progress
from promptpo.ui.summary import Row

#: Events whose line stays on the screen; the table shows the others while they matter.
_KEPT = {"resumed", "notice", "feedback", "proof", "round", "selection"}

_STYLES = {"scored": "green", "failed": "red", "rolling out": "cyan", "checking": "cyan"}
_ROW_STYLES = {"best policy": "bold", "held-out": "bold", "marked": "red"}
_MARKS = {"scored": "✓", "failed": "✗"}

#: Rows that the view needs besides those of the candidates.
_OTHER_ROWS = 10


class LiveView:
    """A Listener that keeps a small picture of the run at the bottom of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.progress = Progress()
        self.console = Console(file=stream, highlight=False)
        self._lock = threading.Lock()  # events come in the run's thread, rich draws in its own
        self._live = Live(
            console=self.console,
            get_renderable=self._draw,
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> LiveView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()
        if self.progress.run:
            self.console.print()
            self.console.print(rows_of(summary.closing(self.progress)))

    def __call__(self, event: Event) -> None:
        """Take note of one event."""
        with self._lock:
            self.progress.apply(event)
            lines = kept_lines(event, self.progress)
        if event.type == "run":
            self.console.print(rows_of(summary.opening(self.progress)))
            self.console.print()
            self._live.start()
        for line in lines:
            self.console.print(line, soft_wrap=True)

    def _draw(self) -> RenderableType:
        with self._lock:
            return picture(self.progress, time.time(), self.console.size.height)


def kept_lines(event: Event, progress: Progress) -> list[Text]:
    """What of an event stays on the screen."""
    if event.type not in _KEPT:
        return []
    stamp = Text(f"{text.duration(event.time - progress.started):>7}  ", "dim")
    return [stamp + _text(line) for line in event_lines(event, progress)]


def picture(progress: Progress, now: float, height: int) -> RenderableType:
    """The whole view at the time ``now``, in at most ``height`` rows."""
    parts: list[RenderableType] = [Text(), _head(progress, now)]
    if progress.candidates and progress.phase == "search":
        parts += [Text(), _candidates(progress, max(height - _OTHER_ROWS, 3))]
    return Group(*parts, Text(), rows_of(_facts(progress)))


def _text(words: str, style: str = "") -> Text:
    """Words from outside: never markup, and without control characters."""
    return Text(clean_line(words), style)


def _head(progress: Progress, now: float) -> RenderableType:
    config = progress.config
    total = config.get("rounds", 0)
    titles = {
        "starting": "starting",
        "feedback": "writing the Feedback class",
        "search": f"round {progress.round} of {total}",
        "selection": f"choosing among {len(progress.finalists)} winners:"
        f" {len(progress.played)} played",
        "test": f"{config.get('test_episodes')} held-out episodes of {progress.chosen}",
    }
    done = len(progress.rounds)
    if progress.phase == "search" and progress.candidates:
        done = progress.round - 1 + progress.settled / max(config.get("candidates", 1), 1)
    left = progress.seconds_left(now)
    clock = text.duration(now - progress.started)
    if left is not None:
        clock += f", about {text.duration(left)} of search left"
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True, justify="right")
    title = _text(titles.get(progress.phase, ""), "bold")
    grid.add_row(title, ProgressBar(max(total, 1), done), Text(clock, "dim"))
    return grid


def _candidates(progress: Progress, rows: int) -> RenderableType:
    views = [progress.candidates[i] for i in sorted(progress.candidates)]
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("candidate", no_wrap=True)
    table.add_column("state", no_wrap=True)
    if progress.defines_success:
        table.add_column("success", justify="right", no_wrap=True)
    table.add_column("return", justify="right", no_wrap=True)
    table.add_column("steps", justify="right", no_wrap=True)
    table.add_column("", ratio=1, no_wrap=True, overflow="ellipsis")
    for view in views[:rows]:
        table.add_row(*_cells(view, with_success=progress.defines_success))
    if len(views) > rows:
        table.add_row(Text(f"{len(views) - rows} more", "dim"))
    return table


def _cells(view: CandidateView, *, with_success: bool) -> list[Text]:
    mark = _MARKS.get(view.state, "·")
    returns = view.rollout.get("returns") or ()
    worked = not view.error and len(returns) > 0
    mean = text.number(sum(returns) / len(returns)) if worked else ""
    steps = f"{view.rollout['steps']:,}" if view.rollout.get("steps") else ""
    hits = successes_text(view.rollout.get("successes", ())) if worked else ""
    note = text.gist(view.error)
    if not note and view.repairs:
        note = text.plural(view.repairs, "repair")
    cells = [_text(view.name), Text(f"{mark} {view.state}", _STYLES.get(view.state, "dim"))]
    cells += [Text(hits)] if with_success else []
    return [*cells, Text(mean), Text(steps, "dim"), _text(note, "dim")]


def _facts(progress: Progress) -> list[Row]:
    """Best so far, what is in flight, what it has cost."""
    best = progress.best
    flying = len(progress.in_flight)
    waiting = f"{text.plural(flying, 'call')} in flight, " if flying else ""
    return [
        ("best so far", f"{best['name']}, {text.score(best['score'])}" if best else "none yet"),
        ("model", waiting + summary.cost_words(progress)),
        ("env steps", summary.steps_words(progress)),
    ]


def rows_of(rows: list[Row]) -> RenderableType:
    """Labels with what stands beside them."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, words in rows:
        grid.add_row(label, _text(words, _ROW_STYLES.get(label, "")))
    return grid
