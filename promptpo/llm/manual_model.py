"""The model ``manual``: any chat window, script or person, by way of files.

For the call ``r01_c02_policy`` the prompt is written to ``r01_c02_policy.prompt.md``, and the run
waits for ``r01_c02_policy.reply.md`` beside it. A program that replies should write the reply
under another name and rename it into place: a renamed file is always whole. A file that is written
in place counts as whole once it has not changed for a second. It is UTF-8, unless a byte-order mark
names another encoding.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from promptpo.common import bounds
from promptpo.common.files import other_encoding, write_atomically
from promptpo.errors import ModelError
from promptpo.llm.messages import TOO_LARGE, Reply, Request, as_markdown

#: Seconds between two looks at a reply file.
POLL = 0.25
#: Seconds without a change after which a reply file counts as whole.
SETTLE = 1.0
#: The same for an empty file, which may just have been created in an editor.
SETTLE_EMPTY = 5.0


class ManualModel:
    """Writes prompts to ``folder`` and waits, without limit, for the reply files."""

    name = "manual"

    def __init__(
        self, folder: Path, notify: Callable[[str], None], check: Callable[[], None]
    ) -> None:
        self.folder = folder
        self._notify, self._check = notify, check

    async def ask(self, request: Request) -> Reply:
        """Write the prompt, notify where, and return the reply once its file is whole.

        A reply file that exists already is taken as it is; one that cannot be read is reported, and
        waited for. Raises ModelError where the folder cannot be written.
        """
        self._check()
        started = time.monotonic()
        prompt = self.folder / f"{request.key}.prompt.md"
        answer = self.folder / f"{request.key}.reply.md"
        try:
            write_atomically(prompt, as_markdown(request.messages))
        except OSError as e:
            where = e.filename or self.folder
            raise ModelError(
                f"{where}: {e.strerror or e}; --model manual needs a folder that it can write"
            ) from None
        if not os.path.lexists(answer):
            self._notify(f"waiting for {answer}, the reply to {prompt.name} beside it")
        data = await self._whole(answer)
        return replace(_reply(data, self.name), latency=time.monotonic() - started)

    async def _whole(self, path: Path) -> bytes:
        """Return the bytes of a file, up to a bound, once it exists and has stopped to change."""
        seen: tuple[int, ...] = ()
        reported, since = "", time.monotonic()
        while True:
            now = time.monotonic()
            state: tuple[int, ...] = ()
            try:
                state, data = _look(path, seen, now - since)
                if data is not None:
                    return data
            except FileNotFoundError:
                pass
            except OSError as e:
                if reported != str(e.strerror):
                    reported = str(e.strerror)
                    self._notify(f"{path}: {reported}; put the reply into a file of this name")
            if not state:  # no reply, and maybe nobody who could give one
                self._check()
            if state != seen:
                seen, since = state, now
            await asyncio.sleep(POLL)

    async def close(self) -> None:
        """Do nothing: nothing is held open."""


def _look(
    path: Path, seen: tuple[int, ...], unchanged: float
) -> tuple[tuple[int, ...], bytes | None]:
    """Return the state of a file (time, size, number), and its bytes where it counts as whole.

    ``unchanged`` are the seconds in which its state was ``seen``. Raises OSError, also for anything
    but a file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is no file")
        state = status.st_mtime_ns, status.st_size, status.st_ino
        age = max(time.time() - status.st_mtime, unchanged if state == seen else 0.0)
        if age < (SETTLE if status.st_size else SETTLE_EMPTY):
            return state, None
        data = b""
        while len(data) <= bounds.ANSWER_BYTES and (piece := os.read(descriptor, 1 << 22)):
            data += piece
        after = os.fstat(descriptor)
        return state, data if (after.st_mtime_ns, after.st_size) == state[:2] else None
    finally:
        os.close(descriptor)


def _reply(data: bytes, model: str) -> Reply:
    if len(data) > bounds.ANSWER_BYTES:
        return Reply("", model, TOO_LARGE)
    codec = other_encoding(data) or "utf-8-sig"
    text = data.decode(codec, "replace").replace("\r\n", "\n").replace("\r", "\n")
    lost = text.count("\N{REPLACEMENT CHARACTER}")
    note = f"the reply file is not {codec} throughout: {lost} places are lost" if lost else ""
    return Reply(text, model, note=note)
