"""The model ``recorded``: replays the replies of an earlier run; needs no key and no network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from promptpo.errors import ModelError
from promptpo.llm.messages import Reply, Request, prompt_hash
from promptpo.llm.recording import load_recording
from promptpo.llm.usage import NO_TOKENS

CHANGED = "the prompt has changed since this reply was recorded"


class ReplyMissing(ModelError):
    """A recording does not hold the reply that was asked for."""


class RecordedModel:
    """Answers each call with the reply that a recording holds under the same key.

    The replayed replies cost nothing now: no tokens, ``cost`` and ``latency`` 0. Where the
    prompt differs from the recorded one, the reply's ``note`` says so, and ``close`` gives one
    notice with the count. Raises ModelError for a recording that cannot be read.
    """

    def __init__(self, name: str, path: Path, notify: Callable[[str], None]) -> None:
        self.name = name
        self.recording = load_recording(path)
        self.replayed = 0
        self.changed = 0
        self._notify = notify
        if self.recording.cut:
            notify(f"{self.recording.path}: its last line was cut off and is left out")

    async def ask(self, request: Request) -> Reply:
        """Return the recorded reply; raises ReplyMissing where there is none."""
        await asyncio.sleep(0)  # let others run, as every real model does
        recorded = self.recording.replies.get(request.key)
        if recorded is None:
            raise ReplyMissing(
                f"{self.recording.path}: no reply for {request.key} (it holds"
                f" {self.recording.contents()}); use the settings that it was recorded with,"
                " or a model of your own, e.g. --model openai/gpt-5"
            )
        self.replayed += 1
        known = recorded.prompt_sha256
        changed = bool(known) and known != prompt_hash(request.messages)
        self.changed += changed
        note = CHANGED if changed else ""
        return replace(recorded.reply, usage=NO_TOKENS, cost=0.0, latency=0.0, note=note)

    async def close(self) -> None:
        """Tell once how many prompts differed from the recorded ones."""
        if self.changed:
            self._notify(
                f"{self.changed} of {self.replayed} replayed replies answer a prompt that has"
                f" changed since {self.recording.path.name} was recorded"
            )
        self.changed = self.replayed = 0
