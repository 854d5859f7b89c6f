"""Models without a provider: recordings, computed replies, and people who answer by files.

The model ``manual`` is any chat window, script or person. For the call ``r01_c02_policy`` the
prompt is written to ``r01_c02_policy.prompt.md``, and the run waits for ``r01_c02_policy.reply.md``
beside it. A program that replies should write the reply under another name and rename it into
place: a renamed file is always whole. A file that is written in place counts as whole once it has
not changed for a second. It is UTF-8, unless a byte-order mark names another encoding.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from promptpo.common import bounds
from promptpo.common.files import other_encoding, write_atomically
from promptpo.errors import ModelError
from promptpo.llm.messages import NO_TOKENS, TOO_LARGE, Reply, Request, as_markdown, prompt_hash
from promptpo.llm.recording import ReplyMissing, load_recording
from promptpo.types import Key

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
        """Return the bytes of a file, up to a bound, once it exists and no longer changes."""
        seen, since, reported = (0, 0), time.monotonic(), ""
        while True:
            problem = ""
            try:
                status = path.stat()
                state = status.st_mtime_ns, status.st_size
                if state != seen:
                    seen, since = state, time.monotonic()
                age = max(time.time() - status.st_mtime, time.monotonic() - since)
                if not stat.S_ISREG(status.st_mode):
                    problem = "is no file"
                elif age >= (SETTLE if status.st_size else SETTLE_EMPTY):
                    with path.open("rb") as file:
                        data = file.read(bounds.ANSWER_BYTES + 1)
                    after = path.stat()
                    if (after.st_mtime_ns, after.st_size) == state:
                        return data
            except FileNotFoundError:
                self._check()  # the run's folder may have been deleted
            except OSError as e:
                problem = str(e.strerror)
            if problem not in ("", reported):
                reported = problem
                self._notify(f"{path}: {problem}; put the reply into a file of this name")
            await asyncio.sleep(POLL)

    async def close(self) -> None:
        """Do nothing: nothing is held open."""


def _reply(data: bytes, model: str) -> Reply:
    if len(data) > bounds.ANSWER_BYTES:
        return Reply("", model, TOO_LARGE)
    codec = other_encoding(data) or "utf-8-sig"
    text = data.decode(codec, "replace").replace("\r\n", "\n").replace("\r", "\n")
    lost = text.count("\N{REPLACEMENT CHARACTER}")
    note = f"the reply file is not {codec} throughout: {lost} places are lost" if lost else ""
    return Reply(text, model, note=note)


class WrittenModel:
    """A model whose replies are computed from keys by ``write``; prompts are ignored."""

    def __init__(self, name: str, write: Callable[[Key], str]) -> None:
        self.name = name
        self._write = write

    async def ask(self, request: Request) -> Reply:
        """Return the reply to a key: no tokens, cost and latency 0."""
        await asyncio.sleep(0)  # let others run, as every real model does
        return Reply(self._write(request.key), self.name, usage=NO_TOKENS, cost=0.0)

    async def close(self) -> None:
        """Do nothing: nothing is open."""


CHANGED = "the prompt has changed since this reply was recorded"


class RecordedModel:
    """The model ``recorded``: answers each call with the recorded reply of the same key.

    Replayed replies cost nothing: no tokens, ``cost`` and ``latency`` 0. Where the prompt differs
    from the recorded one, the reply's ``note`` says so, and ``close`` gives one notice with the
    count. Raises ModelError for a recording that cannot be read.
    """

    def __init__(self, name: str, path: Path, notify: Callable[[str], None]) -> None:
        self.name = name
        self.recording = load_recording(path)
        self._replayed = self._changed = 0
        self._notify = notify
        if self.recording.cut:
            notify(f"{self.recording.path}: its last line was cut off and is left out")

    async def ask(self, request: Request) -> Reply:
        """Return the recorded reply. Raises ReplyMissing where there is none."""
        await asyncio.sleep(0)  # let others run, as every real model does
        recorded = self.recording.replies.get(request.key)
        if recorded is None:
            raise ReplyMissing(
                f"{self.recording.path}: no reply for {request.key} (it holds"
                f" {self.recording.contents()}); use the settings that it was recorded with,"
                " or a model of your own, e.g. --model openai/gpt-5"
            )
        self._replayed += 1
        changed = recorded.prompt_sha256 not in ("", prompt_hash(request.messages))
        self._changed += changed
        note = CHANGED if changed else ""
        return replace(recorded.reply, usage=NO_TOKENS, cost=0.0, latency=0.0, note=note)

    async def close(self) -> None:
        """Give one notice with the number of prompts that differed from the recorded ones."""
        if self._changed:
            self._notify(
                f"{self._changed} of {self._replayed} replayed replies answer a prompt that has"
                f" changed since {self.recording.path.name} was recorded"
            )
        self._changed = self._replayed = 0
