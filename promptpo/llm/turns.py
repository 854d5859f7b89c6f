"""Turns: so many calls of a model at once, in one run or over all that share a folder.

Those that share one hold a file of it each while they call; the kernel lets go of it however they
end.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

from promptpo.errors import file_error

#: The variable that names the folder to runs that share one.
TURNS = "PROMPTPO_TURNS"

#: Seconds between two looks at the files, at the least and at the most.
_SOON, _LATE = 0.02, 0.3


class Turns:
    """At most ``count`` at once: here, and where a ``folder`` is given among all that have it."""

    def __init__(self, count: int, folder: Path | None) -> None:
        self._count, self._folder = count, folder
        self._here = asyncio.Semaphore(count)

    @classmethod
    def of_environment(cls, count: int) -> Turns:
        """Those of the runs that were started together, or of this run alone."""
        folder = os.environ.get(TURNS)
        return cls(count, Path(folder) if folder else None)

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it within. Raises FileError."""
        async with self._here:
            if self._folder is None:
                yield
                return
            held = await self._held(self._folder)
            try:
                yield
            finally:
                os.close(held)

    async def _held(self, folder: Path) -> int:
        """A descriptor that holds one of the files."""
        wait = _SOON
        while True:
            try:
                folder.mkdir(exist_ok=True)  # not what it lies in: that has been deleted
                for number in range(self._count):
                    if (held := _taken(folder / str(number))) is not None:
                        return held
            except OSError as error:
                raise file_error(error, folder) from None
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            wait = min(2 * wait, _LATE)


def _taken(file: Path) -> int | None:
    """A descriptor that holds a file, unless another one does."""
    held = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    return held
