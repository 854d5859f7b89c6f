"""Starts the process that draws, hands on what it sends, and ends it whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.errors import PromptPOError
from promptpo.video.studio import Order, main

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


@contextlib.contextmanager
def drawing_process(order: Order, environ: Mapping[str, str]) -> Iterator[Iterator[object]]:
    """The messages of a process with this environment that carries out ``order``, as they come.

    On leaving, the process has ended. Raises PromptPOError if it ended before its time. loky, as
    it does not import the main module again, which a user's script may not be ready for.
    """
    import loky.backend

    context = loky.backend.get_context("loky")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=main, args=(order, there, log), env=dict(environ))
        process.start()
        there.close()  # so that the end of the process ends the messages
        try:
            yield _received(here)
            process.join()
        finally:
            _end(process)
            here.close()
        if process.exitcode != 0:
            raise PromptPOError(f"the drawing process ended early: {_last_words(log)}")


def _received(connection: Connection) -> Iterator[object]:
    with contextlib.suppress(EOFError, ConnectionResetError):
        while True:
            yield connection.recv()


def _end(process: Any) -> None:  # noqa: ANN401 - a process of loky
    if process.is_alive():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    process.join()


def _last_words(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return said[-1] if said else "it said nothing; is another MUJOCO_GL (egl, osmesa) better?"
