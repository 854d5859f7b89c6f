"""What a run looks like in a terminal: a live view where there is one, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TextIO

from promptpo.common.streams import output
from promptpo.store.events import Event

if TYPE_CHECKING:
    from promptpo.ui.progress import Progress

__all__ = ["View", "in_notebook", "open_view", "progress_shown"]


class View(Protocol):
    """A Listener for the length of a ``with`` block, which ends with the closing summary."""

    progress: Progress

    def __call__(self, event: Event) -> None:
        """Take note of one event."""
        ...

    def __enter__(self) -> View:
        """Start to show."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop showing; what is left on the screen is the summary."""
        ...


def open_view(stream: TextIO | None = None) -> View:
    """The view that suits ``stream`` (default: standard output)."""
    stream = stream or output()
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from promptpo.ui.live import LiveView

        return LiveView(stream)
    from promptpo.ui.plain import PlainView

    return PlainView(stream)


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this code; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextlib.contextmanager
def progress_shown(wanted: bool | None) -> Iterator[View | None]:
    """The view of a run that a library call starts, or None; by default only in a notebook."""
    if wanted is False or (wanted is None and not in_notebook()):
        yield None
        return
    if in_notebook():
        from promptpo.ui.notebook import NotebookView

        view: View = NotebookView()
    else:
        view = open_view()
    with view:
        yield view
