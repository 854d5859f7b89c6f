"""Models that are none: a synthesizer (``builtin``) or a file has the replies; no network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from promptpo.llm.messages import Reply, Request
from promptpo.llm.usage import NO_TOKENS
from promptpo.types import Key


class WrittenModel:
    """Answers each call by what ``write`` makes of its key; prompts are not looked at."""

    def __init__(self, name: str, write: Callable[[Key], str]) -> None:
        self.name = name
        self._write = write

    async def ask(self, request: Request) -> Reply:
        """What is written for the call: no tokens, cost and latency 0."""
        await asyncio.sleep(0)  # let others run, as every real model does
        return Reply(self._write(request.key), self.name, usage=NO_TOKENS, cost=0.0)

    async def close(self) -> None:
        """Nothing is open."""
