"""From a provider's answer to a Reply, whatever types its parts have."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from promptpo.common import bounds
from promptpo.common.plaintext import clean_line, shortened
from promptpo.llm.messages import Reply

#: What of a usage object is kept, so that it can be written down: levels, entries, characters.
_LEVELS, _ENTRIES, _CHARACTERS = 6, 50, 500

#: Levels of a message's content in which text is looked for.
_DEEPEST = 20

#: Parts of a message that are not its text.
_THOUGHTS = {"thinking", "redacted_thinking", "reasoning"}

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)


def read_answer(body: bytes | bytearray) -> Mapping[str, Any]:
    """The members of an answer; where one of them cannot be read, the others. Empty for no JSON."""
    text = bytes(body).decode("utf-8-sig", "replace")
    try:
        data = json.loads(text, parse_int=_whole)
    except (ValueError, RecursionError):
        data = _members(text)
    return data if isinstance(data, dict) else {}


def saved_reply(data: Mapping[str, Any], asked: str) -> Reply | None:
    """The reply in an answer that litellm could not read; None where it holds no completion.

    Knows the answers of OpenAI's two protocols, Anthropic, Gemini and Ollama.
    """
    found = _messages(data)
    if not found:
        return None
    text, ended = next(((t, e) for t, e in found if t), found[0])
    usage = data.get("usage", data.get("usageMetadata"))
    return Reply(
        text=text,
        model=model_name(asked, data.get("model", data.get("modelVersion"))),
        finish_reason=finish_reason(ended),
        usage=plain(usage),
        note="a part of the provider's answer could not be read; its text could",
    )


def usage_of(data: Mapping[str, Any], known: object) -> object:
    """The raw usage object: as it came from a chat completion, else as litellm tells it."""
    if "choices" in data:
        return plain(data.get("usage"))
    try:
        return plain(known.model_dump(mode="json", exclude_none=True))  # type: ignore[attr-defined]
    except Exception:  # pydantic raises its own for values that are no JSON
        return None


def text_of(content: object, levels: int = _DEEPEST) -> str:
    """The text of a message's content: a string, a number, or parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and levels:
        return "".join(text_of(part, levels - 1) for part in content[:1000])
    if isinstance(content, Mapping) and levels:
        if content.get("type") in _THOUGHTS or content.get("thought") is True:
            return ""
        named = (content[n] for n in ("text", "content", "parts") if content.get(n) is not None)
        inner = next(named, "")
        return text_of(inner, levels - 1)
    return str(content) if isinstance(content, float) or type(content) is int else ""


def model_name(asked: str, answered: object) -> str:
    """The name that the provider answered under (often dated), with the provider before it."""
    name = clean_line(answered).strip()[: bounds.LINE] if isinstance(answered, str) else ""
    provider, slash, _ = asked.partition("/")
    if not name or not slash or name.startswith(f"{provider}/"):
        return name or asked
    return f"{provider}/{name}"


def finish_reason(value: object) -> str:
    """Why the provider ended the reply, as one short word; "stop" where it does not say."""
    return (clean_line(value).strip()[:40] if isinstance(value, str) else "") or "stop"


def plain(value: object, levels: int = _LEVELS) -> object:
    """A value as JSON that any program can read again, cut where it is out of all proportion."""
    if value is None or isinstance(value, bool | int | float | str):
        return _plain_scalar(value)
    if levels and isinstance(value, Mapping):
        items = list(value.items())[:_ENTRIES]
        return {str(k)[:_CHARACTERS]: plain(v, levels - 1) for k, v in items}
    if levels and isinstance(value, list | tuple):
        return [plain(item, levels - 1) for item in value[:_ENTRIES]]
    return f"({type(value).__name__})"


def _plain_scalar(value: bool | float | str | None) -> object:
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return shortened(value, _CHARACTERS) if isinstance(value, str) else value


def _messages(data: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Text and finish reason of each completion in an answer."""
    for name in ("choices", "candidates"):
        items = data.get(name)
        if isinstance(items, Mapping):
            items = [items] if "message" in items else list(items.values())
        if isinstance(items, list) and any(isinstance(item, Mapping) for item in items):
            choices = [item for item in items if isinstance(item, Mapping)]
            return [
                (
                    text_of(c.get("message", c.get("content", c))),
                    c.get("finish_reason", c.get("finishReason")),
                )
                for c in choices
            ]
    for name, kind in (("output", list), ("content", list), ("message", Mapping)):
        if isinstance(data.get(name), kind) and data[name] and not data.get("error"):
            return [(text_of(data[name]), data.get("stop_reason", data.get("done_reason")))]
    return []


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) < 400 else f"a number of {len(digits):,} digits"


def _members(text: str) -> dict[str, object]:
    """The members of a JSON object, each parsed by itself; what cannot be parsed stays text."""
    found: dict[str, object] = {}
    depth, start, name, key = 0, 0, "", ""
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if depth == 1 and mark in ",}" and key:
            found[key] = _value(text[start : token.start()])
            key = ""
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
        elif depth == 1 and mark == ":" and not key:
            key, start = name, token.end()
        elif depth == 1 and not key:
            name = mark[1:-1]
    return found


def _value(text: str) -> object:
    try:
        return json.loads(text, parse_int=_whole)
    except (ValueError, RecursionError):
        return shortened(text.strip(), _CHARACTERS)
