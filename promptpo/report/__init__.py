"""``report.html``: one page that shows what a run did, and what came out of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.errors import PromptPOError, RunError, UsageError

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.store.events import EventLog, Listener


def write_report(run: Path, to: Path | None = None, *, inline_videos: bool = False) -> Path:
    """Write the report of a run; returns the file's path.

    ``to`` is by default ``report.html`` in its folder. Videos (``videos/*.mp4`` there) stay beside
    the page, unless ``inline_videos``. Raises RunError where the run cannot be read or written to,
    UsageError where ``to`` cannot be written.
    """
    from promptpo.report.page import render_report
    from promptpo.store.run import load_run

    file = to or run / "report.html"
    html = render_report(load_run(run), page=file.resolve().parent, inline_videos=inline_videos)
    write_page(file, html, "--to", UsageError if to else RunError)
    return file


def write_page(file: Path, html: str, option: str, error: type[PromptPOError] = UsageError) -> None:
    """Write a page whole or not at all. Raises ``error``, which names the option of the file."""
    from promptpo.common.files import write_atomically

    try:
        write_atomically(file, html)
    except OSError as e:
        raise error(f"{file}: {e.strerror or e}; choose another file with {option}") from None


@contextlib.contextmanager
def reporting(
    config: RunConfig, folder: Path, run: Mapping[str, Any], log: EventLog
) -> Iterator[Sequence[Listener]]:
    """Goes along with a run (``promptpo.run.record.Companion``), and writes its page on leaving.

    Where that cannot be done, the run has still succeeded: it is a notice.
    """
    try:
        yield ()
    finally:
        try:
            write_report(folder)
        except Exception as e:  # whatever it is, it is no reason to lose a run
            text = f"report.html could not be written: {e}"
            log.emit("notice", transient=True, text=text)


__all__ = ["reporting", "write_page", "write_report"]
