"""The view of a run in a notebook: one output below the cell, redrawn in place."""

from __future__ import annotations

import contextvars
import importlib
import io
import threading
import time
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from promptpo.store.events import Event
from promptpo.ui import summary
from promptpo.ui.live import kept_lines, picture, rows_of
from promptpo.ui.progress import Progress

#: Columns and rows of the picture, and the seconds between two drawings.
_WIDTH, _HEIGHT, _PAUSE = 110, 40, 0.5

#: The notebook's own colours, letters of one width, no line broken by the browser.
_STYLE = "font-family: monospace; white-space: pre; line-height: 1.3; overflow-x: auto"
_HTML = f'<pre style="{_STYLE}">{{code}}</pre>'


class NotebookView:
    """A Listener that keeps one output up to date, for the length of a ``with`` block.

    Events only change what is known; a thread of the view's own draws it.
    """

    def __init__(self) -> None:
        self.progress = Progress()
        self._lines: list[Text] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        # Output belongs to the cell whose context a thread has.
        context = contextvars.copy_context()
        self._drawing = threading.Thread(target=context.run, args=(self._draw,), daemon=True)
        self._output: Any = None

    def __enter__(self) -> NotebookView:
        self._drawing.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._drawing.join()
        self._show()

    def __call__(self, event: Event) -> None:
        """Take note of one event."""
        with self._lock:
            self.progress.apply(event)
            self._lines += kept_lines(event, self.progress)

    def _draw(self) -> None:
        while not self._over.wait(_PAUSE):
            self._show()

    def _show(self) -> None:
        """Put the run as it stands into the output; nothing before its first event."""
        with self._lock:
            if not self.progress.record.header:
                return
            shown = bundle(self._picture())
        display: Any = importlib.import_module("IPython.display").display
        if self._output is None:
            self._output = display(shown, raw=True, display_id=True)
        else:
            self._output.update(shown, raw=True)

    def _picture(self) -> RenderableType:
        opening = rows_of(summary.opening(self.progress))
        if self._over.is_set():
            below: RenderableType = Group(Text(), rows_of(summary.closing(self.progress)))
        else:
            below = picture(self.progress, time.time(), _HEIGHT)
        return Group(opening, Text(), *self._lines, below)


def bundle(picture: RenderableType) -> dict[str, str]:
    """A picture by MIME type, as notebooks take it."""
    console = Console(
        file=io.StringIO(), record=True, width=_WIDTH, color_system="truecolor",
        force_terminal=True, force_jupyter=False, highlight=False,
    )  # fmt: skip
    console.print(picture)
    plain = console.export_text(clear=False)
    return {
        "text/plain": plain,
        "text/html": console.export_html(inline_styles=True, code_format=_HTML),
    }
