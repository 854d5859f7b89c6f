"""What is said to a language model and what it answers; the protocol of anything that does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from promptpo.types import Key


@dataclass(frozen=True)
class Message:
    """One chat message.

    ``shared`` are lengths, rising, of beginnings of the content that other requests have as well,
    so that a provider may keep them in its cache. It is not part of what is said.
    """

    role: Literal["system", "user", "assistant"]
    content: str
    shared: tuple[int, ...] = field(default=(), compare=False, repr=False)


def as_data(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """What is said, as JSON."""
    return [{"role": m.role, "content": m.content} for m in messages]


def prompt_hash(messages: Iterable[Message]) -> str:
    """SHA-256, in hex, of the messages' roles and contents as canonical JSON."""
    text = json.dumps(as_data(messages), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Allowance(Protocol):
    """What a run allows one call, which may take several tries.

    ``reply_tokens``: how many the reply may have; None: as many as it likes.
    """

    reply_tokens: int | None

    async def take(self) -> None:
        """Wait until the run has room for one try. Raises LimitReached where it never will."""
        ...

    def give_back(self) -> None:
        """The try that was taken is not billed."""
        ...


@dataclass(frozen=True)
class Request:
    """What a language model is asked; what is paid for takes its tries from ``allowance``."""

    key: Key
    messages: tuple[Message, ...]
    allowance: Allowance | None = field(default=None, compare=False, repr=False)


#: The finish reason of a reply that was larger than what is read; its text is left out.
TOO_LARGE = "too_large"


@dataclass(frozen=True)
class Reply:
    """What a language model answered, with the provider's numbers as they came.

    ``usage`` is the provider's raw usage object: JSON of any shape, so read it with
    ``promptpo.llm.usage.tokens_of``. ``cost`` is in US dollars (None: price unknown),
    ``finish_reason`` the OpenAI-style word ("stop", "length", ...), ``latency`` seconds.
    ``note`` tells what a reader should know of this reply, e.g. that a replayed prompt has changed.
    """

    text: str
    model: str
    finish_reason: str = "stop"
    usage: object = None
    cost: float | None = None
    latency: float = 0.0
    note: str = ""


class LanguageModel(Protocol):
    """Anything that answers requests; several may be in flight at once."""

    name: str

    async def ask(self, request: Request) -> Reply:
        """Return the reply, or raise ModelError / ModelUnavailable."""
        ...

    async def close(self) -> None:
        """Release connections; calling it twice is harmless."""
        ...
