"""The executor on the cores of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from promptpo.rollout.cores import available_cores
from promptpo.rollout.jobs import Job, Settings
from promptpo.rollout.sharing import Sharing
from promptpo.rollout.workers import Workers

R = TypeVar("R")


class LocalExecutor(Sharing):
    """Processes on this machine, started as jobs need them, up to ``workers`` of them.

    With a worker for every core each keeps to its own; with fewer, environments may use threads.
    """

    def __init__(self, settings: Settings, workers: int | None = None) -> None:
        super().__init__()
        self._slots = workers or available_cores()
        self._workers = Workers(settings, own_core=self._slots == available_cores())
        self._threads = ThreadPoolExecutor(self._slots, "promptpo-job")

    @property
    def slots(self) -> int:
        """How many processes there may be."""
        return self._slots

    @property
    def about(self) -> dict[str, Any]:
        """Where jobs are run, for the record of a run."""
        return {"name": "local", "workers": self._slots}

    def tell(self, notify: Callable[..., None]) -> None:
        """Let ``notify`` hear of processes that are waited for, and of those that are replaced."""
        self._workers.tell = notify

    async def part(self, job: Job[R]) -> R:
        """The answer of one process, once one is free."""
        loop = asyncio.get_running_loop()
        answer: R = await loop.run_in_executor(self._threads, self._workers.answer, job)
        return answer

    def close(self) -> None:
        """End every process at once, whatever it is doing."""
        self._workers.close()
        self._threads.shutdown(cancel_futures=True)
