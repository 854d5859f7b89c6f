"""The main loop of an environment process: jobs come in, answers go out."""

from __future__ import annotations

import os
import queue
import threading
import traceback
from typing import TYPE_CHECKING, Any

from promptpo.errors import PromptPOError
from promptpo.rollout.beginning import CUT
from promptpo.rollout.cores import claim_core
from promptpo.rollout.jobs import Job, Settings
from promptpo.rollout.worker import Worker
from promptpo.spec.calls import CALL, IDLE, activity

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def serve(connection: Connection, settings: Settings, own_core: bool) -> None:
    """Answer the jobs that come, as ("done", answer) or ("raised", exception), until the end.

    ``own_core``: keep to a core of its own where one is free.
    """
    jobs: queue.SimpleQueue[Job[Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, jobs), daemon=True).start()
    if own_core:
        claim_core()
    worker = Worker(settings)
    while True:
        job = jobs.get()
        activity.mend()
        try:
            answer: tuple[str, object] = ("done", worker.do(job))
        except BaseException as error:
            answer = ("raised", portable(error))
        activity.cells[CALL] = IDLE
        connection.send(answer)


def _receive(connection: Connection, jobs: queue.SimpleQueue[Job[Any]]) -> None:
    """Take jobs in; the process ends when the other end is closed, however that comes."""
    while True:
        try:
            jobs.put(connection.recv())
        except EOFError:
            os._exit(0)
        except OSError:
            os._exit(CUT)


def portable(error: BaseException) -> Exception:
    """An exception that another process can raise; a bug's traceback goes with it."""
    if isinstance(error, PromptPOError):
        return error
    trace = "".join(traceback.format_exception(error))
    return RuntimeError(f"in an environment process: {error!r}\n{trace}")
