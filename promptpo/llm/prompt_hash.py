"""The fingerprint of a prompt, by which a replay notices that a prompt has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from promptpo.llm.messages import Message


def prompt_hash(messages: Iterable[Message]) -> str:
    """SHA-256, in hex, of the messages' roles and contents as canonical JSON."""
    plain = [{"content": m.content, "role": m.role} for m in messages]
    text = json.dumps(plain, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
