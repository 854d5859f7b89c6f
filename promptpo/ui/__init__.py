"""What a run looks like in a terminal: a live view where there is one, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Protocol, TextIO

from promptpo.types import Event
from promptpo.ui.plain import PlainView
from promptpo.ui.progress import Progress

__all__ = ["PlainView", "Progress", "View", "open_view"]


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
    stream = stream or sys.stdout
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from promptpo.ui.live import LiveView

        return LiveView(stream)
    return PlainView(stream)
