"""Starts the process that draws, hands on what it sends, and ends it whatever happens."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from promptpo.errors import PromptPOError
from promptpo.rollout.watched import Lost, Watched
from promptpo.video.studio import Order, main


@contextlib.contextmanager
def drawing_process(order: Order, environ: Mapping[str, str]) -> Iterator[Iterator[object]]:
    """The messages of a process with this environment that carries out ``order``, as they come.

    On leaving, the process has ended. Raises PromptPOError if it ended before its time, or a call
    of the environment stood still.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        limit = order.settings.env_timeout
        process = Watched(main, order, log, limit=limit, environ=environ)
        try:
            yield _received(process, log)
        finally:
            process.close()


def _received(process: Watched, log: Path) -> Iterator[object]:
    try:
        while (message := process.receive()) is not None:
            yield message
    except Lost as lost:
        words = f"{lost.words}{lost.location}" if lost.call else _last_words(log)
        raise PromptPOError(f"the drawing process ended early: {words}") from None


def _last_words(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return said[-1] if said else "it said nothing; is another MUJOCO_GL (egl, osmesa) better?"
