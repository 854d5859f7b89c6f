"""Recordings: the replies of a run, one JSON object per line, as ``events.jsonl`` holds them.

A reply line::

    {"type": "reply", "time": 1795170000.0,
     "key": {"role": "policy", "round": 1, "candidate": 2, "attempt": 0},
     "prompt_sha256": "…", "text": "…", "model": "…", "finish_reason": "stop",
     "usage": {…} or null, "cost": 0.01 or null, "latency": 3.2}

A recording that ships with the package starts with one more line, its header::

    {"type": "recording", "spec": "cartpole", "seed": 0, "rounds": 3, "candidates": 3,
     "episodes": 5, "policy_seed": 17, "model": "…", "how": "…", "date": "2026-11-20"}

Lines of any other type are skipped, so that the ``events.jsonl`` of a run is a recording as it is.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from promptpo.errors import ModelError
from promptpo.llm.prompt_hash import prompt_hash
from promptpo.types import CallKey, Reply, Request
from promptpo.usage import dollars


@dataclass(frozen=True)
class RecordingHeader:
    """What a shipped recording says of itself: the settings to replay it with, and its origin."""

    spec: str
    seed: int
    rounds: int
    candidates: int
    episodes: int
    policy_seed: int = 0
    published_prompt: bool = False
    model: str = ""
    how: str = ""
    date: str = ""


@dataclass(frozen=True)
class RecordedReply:
    """One reply and the fingerprint of the prompt that it answered (empty: not recorded)."""

    reply: Reply
    prompt_sha256: str


@dataclass(frozen=True)
class Recording:
    """The replies of an earlier run by the key of their call."""

    path: Path
    header: RecordingHeader | None
    replies: Mapping[CallKey, RecordedReply]
    cut: bool = False

    def contents(self) -> str:
        """What it holds, in a few words for messages, e.g. ``"21 replies, rounds 1 to 5"``."""
        count = f"{len(self.replies)} {'reply' if len(self.replies) == 1 else 'replies'}"
        rounds = [key.round for key in self.replies if key.round]
        if not rounds:
            return count
        most = max(key.candidate for key in self.replies)
        return f"{count}, rounds {min(rounds)} to {max(rounds)}, up to {most} candidates"


def reply_event(request: Request, reply: Reply) -> dict[str, Any]:
    """The fields of a reply line but for ``type`` and ``time``."""
    return {
        "key": asdict(request.key),
        "prompt_sha256": prompt_hash(request.messages),
        "text": reply.text,
        "model": reply.model,
        "finish_reason": reply.finish_reason,
        "usage": reply.usage,
        "cost": reply.cost,
        "latency": round(reply.latency, 3),
    }


def reply_from_event(event: Mapping[str, Any]) -> tuple[CallKey, RecordedReply]:
    """The inverse of ``reply_event``; KeyError, TypeError or ValueError where a field is wrong."""
    key = CallKey(**event["key"])
    text = event["text"]
    if not isinstance(text, str):
        raise TypeError("'text' is not a string")
    reply = Reply(
        text=text,
        model=str(event.get("model", "")),
        finish_reason=str(event.get("finish_reason") or "stop"),
        usage=event.get("usage"),
        cost=dollars(event.get("cost")),
        latency=float(event.get("latency") or 0.0),
    )
    return key, RecordedReply(reply, str(event.get("prompt_sha256") or ""))


def find_recording(spec_name: str) -> Path | None:
    """The recording that ships for a spec, or None."""
    if not spec_name.isidentifier():
        return None
    root = importlib.resources.files("promptpo")
    path = Path(str(root.joinpath("recordings", f"{spec_name}.jsonl")))
    return path if path.is_file() else None


def load_recording(path: Path) -> Recording:
    """Read a recording: a run's folder, its ``events.jsonl`` or a shipped file.

    A last line that was cut off by a kill is left out (``cut`` tells). Raises ModelError, with file
    and line, for a file that cannot be read, holds no reply, or holds a line that is no event.
    """
    file = path / "events.jsonl" if path.is_dir() else path
    header = None
    replies: dict[CallKey, RecordedReply] = {}
    events, cut = _events(file)
    for number, event in events:
        try:
            if event["type"] == "reply":
                key, recorded = reply_from_event(event)
                replies[key] = recorded
            elif event["type"] == "recording":
                header = _header(event)
        except (KeyError, TypeError, ValueError) as e:
            what = f"no field {e}" if isinstance(e, KeyError) else str(e)
            raise ModelError(f"{file}:{number}: not an event of a recording: {what}") from None
    if not replies:
        raise ModelError(f"{file}: no reply in it; give the folder of a run that asked a model")
    return Recording(file, header, replies, cut)


def load_header(path: Path) -> RecordingHeader | None:
    """The header of a recording, read without its replies; None where it has none.

    Raises ModelError for a file that cannot be read or whose header is broken.
    """
    file = path / "events.jsonl" if path.is_dir() else path
    try:
        with file.open(encoding="utf-8") as lines:
            event = json.loads(lines.readline())
        return _header(event) if event["type"] == "recording" else None
    except OSError as e:
        raise ModelError(f"{file}: {e.strerror or e}; {_REMEDY}") from None
    except (KeyError, TypeError, ValueError) as e:
        raise ModelError(f"{file}:1: not the first line of a recording: {e}") from None


def recorded_policy_seed(path: Path) -> int:
    """The seed of the policies' random numbers that a recording was made with; 0 if unsaid.

    Raises ModelError for a file that cannot be read.
    """
    file = path / "events.jsonl" if path.is_dir() else path
    first = next((event for _, event in _events(file)[0]), {})
    said = first if first.get("type") == "recording" else first.get("config")
    seed = said.get("policy_seed") if isinstance(said, dict) else None
    return seed if isinstance(seed, int) and seed >= 0 else 0


_REMEDY = "give recorded:PATH a run's folder or its events.jsonl"


def _events(file: Path) -> tuple[list[tuple[int, dict[str, Any]]], bool]:
    """The numbered lines of a file, and whether its last line was cut off."""
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as e:
        raise ModelError(f"{file}: {e.strerror or e}; {_REMEDY}") from None
    cut = bool(lines[-1].strip())
    events: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except ValueError as e:
            if number == len(lines):
                return events, True
            raise ModelError(f"{file}:{number}: not JSON ({e}); {_REMEDY}") from None
        if not isinstance(event, dict):
            raise ModelError(f"{file}:{number}: not a JSON object; {_REMEDY}")
        events.append((number, event))
        cut = cut and number != len(lines)
    return events, cut


def _header(event: Mapping[str, Any]) -> RecordingHeader:
    names = {f.name for f in fields(RecordingHeader)}
    return RecordingHeader(**{k: v for k, v in event.items() if k in names})
