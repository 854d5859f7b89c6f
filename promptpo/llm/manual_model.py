"""The model ``manual``: any chat window, script or person, by way of files.

For the call ``r01_c02_policy`` the prompt is written to ``r01_c02_policy.prompt.md``, and the run
waits for ``r01_c02_policy.reply.md`` beside it. A program that replies should write the reply
under another name and rename it into place: a renamed file is always whole. A file that is written
in place counts as whole once it has not changed for a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from promptpo.errors import ModelError
from promptpo.store.files import write_atomically
from promptpo.types import Message, Reply, Request

#: Seconds between two looks at a reply file.
POLL = 0.25
#: Seconds without a change after which a reply file counts as whole.
SETTLE = 1.0
#: The same for an empty file, which may just have been created in an editor.
SETTLE_EMPTY = 5.0


class ManualModel:
    """Writes prompts to ``folder`` and waits, without limit, for the reply files."""

    name = "manual"

    def __init__(self, folder: Path, notify: Callable[[str], None]) -> None:
        self.folder = folder
        self._notify = notify

    async def ask(self, request: Request) -> Reply:
        """Write the prompt, tell where, and return the reply once its file is whole.

        A reply file that is there already is taken as it is. Raises ModelError where the folder
        cannot be written or the reply cannot be read.
        """
        started = time.monotonic()
        prompt = self.folder / f"{request.key}.prompt.md"
        answer = self.folder / f"{request.key}.reply.md"
        try:
            write_atomically(prompt, as_markdown(request.messages))
            if not answer.exists():
                self._notify(f"waiting for {answer}, the reply to {prompt.name} beside it")
            await _whole(answer)
            text = answer.read_text(encoding="utf-8", errors="replace")
        except OSError as e:
            where = e.filename or self.folder
            raise ModelError(
                f"{where}: {e.strerror or e}; --model manual needs a folder that it can write"
            ) from None
        return Reply(text=text, model=self.name, latency=time.monotonic() - started)

    async def close(self) -> None:
        """Nothing is held open."""


def as_markdown(messages: Sequence[Message]) -> str:
    """The messages for a reader, each under a heading with its role."""
    parts = [
        f"# {message.role.capitalize()}\n\n{message.content.rstrip()}\n" for message in messages
    ]
    return "\n".join(parts)


async def _whole(path: Path) -> None:
    """Return once the file exists and has not changed for a while."""
    seen: tuple[int, int] | None = None
    since = time.monotonic()
    while True:
        state = _state(path)
        now = time.monotonic()
        if state is None:
            seen = None
        else:
            settle = SETTLE if state[1] else SETTLE_EMPTY
            if state != seen:
                seen, since = state, now
            age = time.time() - state[0] / 1e9
            if now - since >= settle or age >= settle:
                return
        await asyncio.sleep(POLL)


def _state(path: Path) -> tuple[int, int] | None:
    """Time of the last change in ns and size in bytes; None where there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size
