"""Which beginnings of prompts Anthropic is asked to keep in its cache.

Anthropic keeps what a request marks, for five minutes after it was last used. To write it there
costs a quarter more than other input, to read it a tenth, and it can be read once the request that
wrote it is being answered. So of requests that begin alike the first one marks the beginning, those
that are sent before its answer has come do not, and later ones do.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any

from promptpo.llm.messages import Message, as_data

#: Seconds for which a beginning counts as kept: five minutes, less the way of a request.
_KEPT = 280.0

#: Marks that a request may have.
_MOST = 4

#: The place of a mark: the number of a message, and a length of its content.
Place = tuple[int, int]


class PromptCache:
    """What a provider has been asked to keep, as far as this process knows."""

    def __init__(self) -> None:
        self._kept_until: dict[str, float] = {}
        self._being_written: set[str] = set()

    @contextlib.contextmanager
    def marked(self, messages: Sequence[Message]) -> Iterator[list[dict[str, Any]]]:
        """The messages as JSON, marked where it pays, for as long as they wait for their answer."""
        now = time.monotonic()
        found = _beginnings(messages)
        places = {p: name for p, name in found.items() if name not in self._being_written}
        new = {name for name in places.values() if self._kept_until.get(name, 0.0) < now}
        self._being_written |= new
        try:
            yield _with_marks(messages, [*places][-_MOST:])
            until = time.monotonic() + _KEPT
            self._kept_until.update(dict.fromkeys(places.values(), until))
        finally:
            self._being_written -= new


def _beginnings(messages: Sequence[Message]) -> dict[Place, str]:
    """A digest of all that comes before each place where the messages may be marked."""
    digest, found = hashlib.sha256(), dict[Place, str]()
    for number, message in enumerate(messages):
        digest.update(f"\0{message.role}\0".encode())
        at = 0
        for length in message.shared:
            digest.update(message.content[at:length].encode())
            found[number, length] = digest.hexdigest()
            at = length
        digest.update(message.content[at:].encode())
    return found


def _with_marks(messages: Sequence[Message], places: Sequence[Place]) -> list[dict[str, Any]]:
    """The messages, the content of marked ones as blocks that end at the marks."""
    found: list[dict[str, Any]] = [*as_data(messages)]
    for number, message in enumerate(messages):
        ends = [length for at, length in places if at == number]
        if not ends:
            continue
        edges = [0, *ends, len(message.content)]
        found[number]["content"] = [
            _block(message.content[a:b], marked=b in ends)
            for a, b in itertools.pairwise(edges)
            if a < b
        ]
    return found


def _block(text: str, *, marked: bool) -> dict[str, Any]:
    mark = {"cache_control": {"type": "ephemeral"}} if marked else {}
    return {"type": "text", "text": text, **mark}
