"""Views of a run: live in a terminal or a notebook, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from promptpo.common.terminal import is_drawn_on, output

if TYPE_CHECKING:
    from promptpo.ui.progress import View

__all__ = ["in_notebook", "open_view", "progress_shown"]


def open_view(stream: TextIO | None = None) -> View:
    """Return the view that suits ``stream`` (default: standard output)."""
    stream = stream or output()
    if is_drawn_on(stream):
        from promptpo.ui.live import LiveView

        return LiveView(stream)
    from promptpo.ui.plain import PlainView

    return PlainView(stream)


def in_notebook() -> bool:
    """Tell whether a notebook's kernel runs this code; IPython is not imported for that."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextlib.contextmanager
def progress_shown(wanted: bool | None) -> Iterator[View | None]:
    """Open the view of a run that a library call starts, or None; by default only in a notebook."""
    if wanted is False or (wanted is None and not in_notebook()):
        yield None
        return
    if in_notebook():
        from promptpo.ui.live import NotebookView

        view: View = NotebookView()
    else:
        view = open_view()
    with view:
        yield view
