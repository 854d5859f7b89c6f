"""The live view: the current round as it stands, above it what is done, redrawn in place."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from promptpo.common import text
from promptpo.common.aside import shown_by
from promptpo.common.lives import life_of, whole
from promptpo.common.plaintext import clean_line
from promptpo.common.text import success_count
from promptpo.store.codec import score_data
from promptpo.store.events import Event
from promptpo.store.trials import Trial
from promptpo.ui import summary
from promptpo.ui.plain import event_lines
from promptpo.ui.progress import Progress, stage_of
from promptpo.ui.summary import Row

#: Events whose line stays on the screen; the table shows the others while they matter.
_KEPT = {"resumed", "notice", "feedback", "tuned", "round", "selection"}

_STYLES = {"scored": "green", "failed": "red"} | dict.fromkeys(
    ("rolling out", "checking", "preparing", "tuning"), "cyan"
)
_ROW_STYLES = {"best policy": "bold", "held-out": "bold"}
_MARKS = {"scored": "✓", "failed": "✗"}

#: Rows that the view needs besides those of the candidates.
_OTHER_ROWS = 10


class LiveView:
    """A Listener that keeps a small picture of the run at the bottom of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.progress = Progress()
        self.console = Console(file=stream, highlight=False)
        self._aside = contextlib.ExitStack()
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
        if sys.stderr is not None and sys.stderr.isatty():  # else it is a file, and has it all
            self._aside.enter_context(shown_by(lambda line: self._print(_text(line, "dim"))))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()
        self._aside.close()
        if self.progress.record.header:
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
            self._print(line)

    def _print(self, line: Text) -> None:
        """Print above the picture, from any thread."""
        self.console.print(line, soft_wrap=True)

    def _draw(self) -> RenderableType:
        with self._lock:
            return picture(self.progress, time.time(), self.console.size.height)


def kept_lines(event: Event, progress: Progress) -> list[Text]:
    """What of an event stays on the screen."""
    if event.type not in _KEPT:
        return []
    stamp = f"{text.duration(event.time - progress.record.started):>7}  "
    return [Text.assemble((stamp, "dim"), _text(line)) for line in event_lines(event, progress)]


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
    record, config = progress.record, progress.record.settings
    total, tuning = config.get("rounds", 0), progress.tuning
    titles = {
        "starting": "starting",
        "feedback": "writing the Feedback class",
        "search": f"round {progress.round} of {total}",
        "selection": f"choosing among {len(progress.finalists)} {progress.finalists_words}:"
        f" {len(progress.played)} played",
        "test": f"{whole(config.get('test_episodes', 0), life_of(config))} held-out episodes of"
        f" {record.best_name}",
    }
    done = float(len(record.ends))
    if progress.phase == "search" and progress.candidates:
        settled = progress.settled / max(config.get("candidates", 1), 1)
        done = progress.round - 1 + min(settled, 1.0)
    left = progress.seconds_left(now)
    clock = text.duration(now - record.started)
    if tuning is not None:
        clock += f", about {text.duration(tuning.seconds_left(now))} left for {tuning.name}"
    elif left is not None:
        clock += f", about {text.duration(left)} of search left"
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True, justify="right")
    title, bar = titles.get(progress.phase, ""), ProgressBar(max(total, 1), done)
    if tuning is not None:
        title = f"{title}, tuning" if total > 1 else f"tuning {tuning.name}"
        bar = ProgressBar(max(tuning.budget, 1), tuning.steps)
    grid.add_row(_text(title, "bold"), bar, Text(clock, "dim"))
    return grid


def _candidates(progress: Progress, rows: int) -> RenderableType:
    trials, with_success = progress.candidates, progress.record.defines_success
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("candidate", no_wrap=True)
    table.add_column("state", no_wrap=True)
    if with_success:
        table.add_column("success", justify="right", no_wrap=True)
    table.add_column("return", justify="right", no_wrap=True)
    table.add_column("steps", justify="right", no_wrap=True)
    table.add_column("", ratio=1, no_wrap=True, overflow="ellipsis")
    for trial in trials[:rows]:
        table.add_row(*_cells(trial, with_success=with_success))
    if len(trials) > rows:
        table.add_row(Text(f"{len(trials) - rows} more", "dim"))
    return table


def _cells(trial: Trial, *, with_success: bool) -> list[Text]:
    stage = stage_of(trial)
    run = trial.candidate.pooled or trial.played
    error = trial.candidate.error or (run.error if run else None) or ""
    worked = run is not None and not error and bool(run.returns)
    mean = text.number(run.score.mean_return) if run and worked else ""
    steps = f"{run.steps:,}" if run and run.steps else ""
    hits = success_count(run.successes) if run and worked else ""
    note = text.gist(error)
    if not note and trial.repairs:
        note = text.plural(trial.repairs, "repair")
    mark = _MARKS.get(stage, "·")
    cells = [_text(trial.name), Text(f"{mark} {stage}", _STYLES.get(stage, "dim"))]
    cells += [Text(hits)] if with_success else []
    return [*cells, Text(mean), Text(steps, "dim"), _text(note, "dim")]


def _facts(progress: Progress) -> list[Row]:
    """Best so far, what is in flight, what it has cost."""
    record, best = progress.record, progress.record.best_so_far
    flying = len(progress.in_flight)
    waiting = f"{text.plural(flying, 'call')} in flight, " if flying else ""
    shown = f"{best[0]}, {text.score(score_data(best[1]))}" if best else "none yet"
    asks = record.asks_model and not record.given
    asked = [("model", waiting + summary.cost_words(record))] if asks else []
    now = progress.tuning
    tuned = [("tuning", f"{now.name}: {now.words}")] if now else []
    steps = text.steps(record.usage.steps)
    return [*tuned, ("best so far", shown), *asked, ("env steps", steps)]


def rows_of(rows: list[Row]) -> RenderableType:
    """Labels with what stands beside them."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, words in rows:
        grid.add_row(label, _text(words, _ROW_STYLES.get(label, "")))
    return grid
