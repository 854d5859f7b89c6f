"""Messages to a language model and its replies, and the protocol of every model."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from promptpo.common import bounds
from promptpo.common.plaintext import clean_line, shown
from promptpo.types import Key

#: The name of the synthesizer (``promptpo.builtin``) as ``--model`` takes it.
BUILTIN = "builtin"

#: The finish reason of a reply that was larger than what is read; its text is left out.
TOO_LARGE = "too_large"

#: The usage of a reply without a provider.
NO_TOKENS = {"prompt_tokens": 0, "completion_tokens": 0}

#: Characters of a usage object that are recorded.
_MOST_JSON = 4000

#: A provider's number above this is no count of tokens.
_MOST_TOKENS = 10**12

#: Providers' names for the tokens read from a cache, beside OpenAI's.
_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cachedContentTokenCount")


@dataclass(frozen=True)
class Message:
    """One chat message.

    ``shared`` are lengths, rising, of beginnings of the content that other requests share, so that
    a provider may keep them in its cache. It is not part of the message's identity.
    """

    role: Literal["system", "user", "assistant"]
    content: str
    shared: tuple[int, ...] = field(default=(), compare=False, repr=False)


def as_data(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the messages as JSON."""
    return [{"role": m.role, "content": m.content} for m in messages]


def as_markdown(messages: Sequence[Message]) -> str:
    """Return the messages for a reader, each under a heading with its role."""
    parts = [f"# {m.role.capitalize()}\n\n{m.content.rstrip()}\n" for m in messages]
    return "\n".join(parts)


def prompt_hash(messages: Iterable[Message]) -> str:
    """Return the SHA-256, in hex, of the messages' roles and contents as canonical JSON."""
    text = json.dumps(as_data(messages), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Allowance(Protocol):
    """The budget of one call, which may take several tries.

    ``reply_tokens``: the most that the reply may have; None: no limit.
    """

    reply_tokens: int | None

    async def take(self) -> None:
        """Wait until the run has room for one try. Raises LimitReached where it never will."""
        ...

    def give_back(self) -> None:
        """Return what was taken for a try that is not billed."""
        ...


@dataclass(frozen=True)
class Request:
    """A call of a language model; a paid one takes its tries from ``allowance``."""

    key: Key
    messages: tuple[Message, ...]
    allowance: Allowance | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Reply:
    """A language model's reply.

    ``usage`` is the provider's raw usage object: JSON of any shape, to be read with ``tokens_of``.
    ``cost`` is in US dollars (None: price unknown), ``finish_reason`` the OpenAI-style word
    ("stop", "length", ...), ``latency`` seconds. ``note`` is a remark for readers of the record,
    e.g. that a replayed prompt has changed.
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
        """Return the reply. Raises ModelError or ModelUnavailable."""
        ...

    async def close(self) -> None:
        """Release connections; calling it twice is harmless."""
        ...


@dataclass(frozen=True)
class ModelSettings:
    """The settings of a language model.

    ``name`` is ``PROVIDER/NAME`` as litellm spells it, ``manual``, ``builtin``, ``recorded``,
    ``recorded:PATH`` or ``file:PATH``. ``call_timeout`` is the absolute deadline of one call in
    seconds, retries included; the wait for a free slot (``max_concurrency``) does not count.
    ``folder`` receives the prompts of ``manual``; ``recording`` is replayed by plain ``recorded``,
    and ``write`` answers the calls of ``builtin`` and ``file:`` by their keys. ``notify`` gets
    one-line notices for the user; ``check`` is called before each request, and raises where no more
    may be sent. None for ``temperature`` or ``max_reply_tokens`` leaves the provider's default.
    """

    name: str
    api_base: str | None = None
    temperature: float | None = None
    max_concurrency: int = 4
    call_timeout: float = 600.0
    max_reply_tokens: int | None = None
    folder: Path = Path("prompts")
    recording: Path | None = None
    write: Callable[[Key], str] | None = None
    notify: Callable[[str], None] = lambda _: None
    check: Callable[[], None] = lambda: None


def tokens_of(usage: object) -> tuple[int | None, int | None]:
    """Return prompt and completion tokens of a provider's raw usage, which may be anything.

    None (unknown) for anything but a whole number from 0 to 10**12.
    """
    if not isinstance(usage, Mapping):
        return None, None
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def cached_of(usage: object) -> int | None:
    """Return the prompt tokens that the provider read from its cache, of its raw usage.

    None (unknown) where there is no such number, or one above the prompt's. Reads OpenAI's
    ``prompt_tokens_details.cached_tokens``, which litellm fills for others too, Anthropic's
    ``cache_read_input_tokens``, Gemini's ``cachedContentTokenCount`` and DeepSeek's
    ``prompt_cache_hit_tokens``.
    """
    if not isinstance(usage, Mapping):
        return None
    prompt, _ = tokens_of(usage)
    if prompt == 0:
        return 0
    details = usage.get("prompt_tokens_details")
    first = details.get("cached_tokens") if isinstance(details, Mapping) else None
    counts = (_count(value) for value in (first, *map(usage.get, _CACHED)))
    cached = next((count for count in counts if count is not None), None)
    return None if cached is None or (prompt is not None and cached > prompt) else cached


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def dollars(cost: object) -> float | None:
    """Return a price; None (unknown) for anything but a finite number of 0 or more."""
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost < math.inf and cost <= _MOST_TOKENS else None


def model_name(asked: str, answered: object) -> str:
    """Return the name under which the provider answered (often dated), after the provider's own."""
    name = clean_line(answered).strip()[: bounds.LINE] if isinstance(answered, str) else ""
    provider, slash, _ = asked.partition("/")
    if not name or not slash or name.startswith(f"{provider}/"):
        return name or asked
    return f"{provider}/{name}"


def finish_reason(value: object) -> str:
    """Return a provider's finish reason as one short word; "stop" where there is none."""
    return (clean_line(value).strip()[:40] if isinstance(value, str) else "") or "stop"


def plain(value: object) -> object:
    """Return a value that any program can read as JSON; of any other and a large one its repr."""
    try:
        if len(json.dumps(value, allow_nan=False)) <= _MOST_JSON:
            return value
    except (ValueError, TypeError, RecursionError):  # not finite, too long, too deep
        pass
    return shown(value)
