"""The live view: the current round as it stands, above it what is done, redrawn in place.

In a terminal at its bottom; in a notebook as one output below the cell.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import io
import sys
import threading
import time
from typing import Any, Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from promptpo.common import text
from promptpo.common.foreign import shown_by
from promptpo.common.lives import life_of, whole
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import STATUS
from promptpo.common.text import success_count
from promptpo.store.codec import score_data
from promptpo.store.events import Event
from promptpo.store.trials import Trial
from promptpo.ui.plain import Row, closing, event_line, opening
from promptpo.ui.progress import View, WatchedRun, activity, best_yet, scored_episodes, stage_of

#: Events whose line stays on the screen; the table shows the others while they matter.
_KEPT = {"resumed", "notice", "feedback", "tuned", "round", "selection"}

_STYLES = {"scored": "green", "failed": "red"} | dict.fromkeys(
    ("rolling out", "checking", "preparing", "tuning"), "cyan"
)
_ROW_STYLES = {"best policy": "bold", "held-out": "bold"}
_MARKS = {"scored": "✓", "failed": "✗"}

#: Rows that the view needs besides those of the candidates.
_OTHER_ROWS = 11

#: Columns and rows of the picture in a notebook, and the seconds between two drawings.
_WIDTH, _HEIGHT, _PAUSE = 110, 40, 0.5
#: The notebook's own colours, letters of one width, no line broken by the browser.
_STYLE = "font-family: monospace; white-space: pre; line-height: 1.3; overflow-x: auto"
_HTML = f'<pre style="{_STYLE}">{{code}}</pre>'


class LiveView(View):
    """A view that keeps a small picture of the run at the bottom of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.console = Console(file=stream, highlight=False)
        self._aside = contextlib.ExitStack()
        self._live = Live(
            console=self.console,
            get_renderable=self._draw,
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        STATUS.show(self.activity)
        if sys.stderr is not None and sys.stderr.isatty():  # else it is a file, and has it all
            self._aside.enter_context(shown_by(lambda line: self._print(_text(line, "dim"))))
        return self

    def __exit__(self, *error: object) -> None:
        STATUS.end()
        self._live.stop()
        self._aside.close()
        if self.run.header:
            self.console.print()
            self.console.print(rows_of(closing(self.run)))

    def __call__(self, event: Event) -> None:
        """Take note of one event."""
        super().__call__(event)
        line = kept_line(event, self.run)
        if event.type == "run":
            STATUS.end()
            self.console.print(rows_of(opening(self.run)))
            self.console.print()
            self._live.start()
        if line is not None:
            self._print(line)

    def _print(self, line: Text) -> None:
        """Print above the picture, from any thread."""
        self.console.print(line, soft_wrap=True)

    def _draw(self) -> RenderableType:
        with self.lock:
            return picture(self.run, time.time(), self.console.size.height)


class NotebookView(View):
    """A view that keeps one output of a notebook up to date; a thread of its own draws it."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Text] = []
        self._over = threading.Event()
        # Output belongs to the cell whose context a thread has.
        context = contextvars.copy_context()
        self._drawing = threading.Thread(target=context.run, args=(self._draw,), daemon=True)
        self._output: Any = None

    def __enter__(self) -> Self:
        self._drawing.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._drawing.join()
        self._show()

    def __call__(self, event: Event) -> None:
        """Take note of one event."""
        super().__call__(event)
        line = kept_line(event, self.run)
        with self.lock:
            self._lines += [line] if line is not None else []

    def _draw(self) -> None:
        while not self._over.wait(_PAUSE):
            self._show()

    def _show(self) -> None:
        """Put the run as it stands into the output; nothing before its first event."""
        with self.lock:
            if not self.run.header:
                return
            below = Group(Text(), rows_of(closing(self.run)))
            if not self._over.is_set():
                below = picture(self.run, time.time(), _HEIGHT)
            content = bundle(Group(rows_of(opening(self.run)), Text(), *self._lines, below))
        display: Any = importlib.import_module("IPython.display").display
        if self._output is None:
            self._output = display(content, raw=True, display_id=True)
        else:
            self._output.update(content, raw=True)


def bundle(content: RenderableType) -> dict[str, str]:
    """Return what is to be shown by MIME type, as notebooks take it."""
    console = Console(
        file=io.StringIO(), record=True, width=_WIDTH, color_system="truecolor",
        force_terminal=True, force_jupyter=False, highlight=False,
    )  # fmt: skip
    console.print(content)
    plain = console.export_text(clear=False)
    html = console.export_html(inline_styles=True, code_format=_HTML)
    return {"text/plain": plain, "text/html": html}


def kept_line(event: Event, run: WatchedRun) -> Text | None:
    """Return the line of an event that stays on the screen; None where there is none."""
    line = event_line(event, run) if event.type in _KEPT else ""
    stamp = f"{text.duration(event.time - run.started):>7}  "
    return Text.assemble((stamp, "dim"), _text(line)) if line else None


def picture(run: WatchedRun, now: float, height: int) -> Group:
    """Return the whole view at the time ``now``, in at most ``height`` rows."""
    parts: list[RenderableType] = [Text(), _head(run, now)]
    if run.current and run.phase == "search":
        parts += [Text(), _candidates(run, max(height - _OTHER_ROWS, 3))]
    return Group(*parts, Text(), rows_of(_facts(run, now)))


def _text(words: str, style: str = "") -> Text:
    """Return words from outside: never markup, and without control characters."""
    return Text(clean_line(words), style)


def _head(run: WatchedRun, now: float) -> RenderableType:
    config, tuning = run.settings, run.tuning
    total = config.get("rounds", 0)
    held_out = whole(config.get("test_episodes", 0), life_of(config))
    titles = {
        "starting": "starting",
        "feedback": "writing the Feedback class",
        "search": f"round {run.number} of {total}",
        "selection": f"choosing among {len(run.finalists)} {run.finalists_words}:"
        f" {len(run.played)} played",
        "test": f"{held_out} held-out episodes of {run.best_name}",
    }
    done = float(len(run.ends))
    if run.phase == "search" and run.current:
        done = run.number - 1 + min(run.settled / max(config.get("candidates", 1), 1), 1.0)
    title, bar = titles.get(run.phase, ""), ProgressBar(max(total, 1), done)
    clock, left = text.duration(now - run.started), run.seconds_left(now)
    if tuning is not None:
        clock += f", about {text.duration(tuning.seconds_left(now))} left for {tuning.name}"
        title = f"{title}, tuning" if total > 1 else f"tuning {tuning.name}"
        bar = ProgressBar(max(tuning.budget, 1), tuning.steps)
    elif left is not None:
        clock += f", about {text.duration(left)} of search left"
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_row(_text(title, "bold"), bar, Text(clock, "dim"))
    return grid


def _candidates(run: WatchedRun, rows: int) -> RenderableType:
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim", padding=(0, 2, 0, 0))
    names = ["candidate", "state", *["success"] * run.defines_success, "return", "steps"]
    for place, name in enumerate(names):
        table.add_column(name, justify="left" if place < 2 else "right", no_wrap=True)
    table.add_column("", ratio=1, no_wrap=True, overflow="ellipsis")
    for trial in run.current[:rows]:
        table.add_row(*_cells(trial, with_success=run.defines_success))
    if len(run.current) > rows:
        table.add_row(Text(f"{len(run.current) - rows} more", "dim"))
    return table


def _cells(trial: Trial, *, with_success: bool) -> list[Text]:
    stage = stage_of(trial)
    rollout = trial.candidate.pooled or trial.played
    error = trial.candidate.error or (rollout.error if rollout else None) or ""
    scored = scored_episodes(trial)
    mean = text.number(scored.score.mean_return) if scored else ""
    steps = f"{rollout.steps:,}" if rollout and rollout.steps else ""
    note = text.gist(error)
    if not note and trial.repairs:
        note = text.plural(trial.repairs, "repair")
    state = Text(f"{_MARKS.get(stage, '·')} {stage}", _STYLES.get(stage, "dim"))
    hits = [Text(success_count(scored.successes) if scored else "")] if with_success else []
    return [_text(trial.name), state, *hits, Text(mean), Text(steps, "dim"), _text(note, "dim")]


def _facts(run: WatchedRun, now: float) -> list[Row]:
    """Return what is done at the time ``now``, the best so far, the usage."""
    rows, best = [("now", activity(run, now))], best_yet(run)
    words = f"{best[0]}, {text.score(score_data(best[1]))}" if best else "none yet"
    rows.append(("best so far", words))
    if run.asks_model and not run.policy_file:
        rows.append(("model", run.cost_words))
    return [row for row in (*rows, ("env steps", text.steps(run.usage.steps))) if row[1]]


def rows_of(rows: list[Row]) -> RenderableType:
    """Return labels with what stands beside them."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, words in rows:
        grid.add_row(label, _text(words, _ROW_STYLES.get(label, "")))
    return grid
