"""Recordings: the replies of a run, one JSON object per line, as ``events.jsonl`` holds them.

A reply line::

    {"type": "reply", "time": 1795170000.0,
     "key": {"round": 1, "candidate": 2, "attempt": 0, "role": "policy"},
     "prompt_sha256": "…", "text": "…", "model": "…", "finish_reason": "stop",
     "usage": {…} or null, "cost": 0.01 or null, "latency": 3.2}

A recording that ships with the package starts with one more line, its header, with the settings of
the run that it was made of::

    {"type": "recording", "format": 2, "spec": "cartpole", "policy_seed": 17,
     "config": {"rounds": 3, "candidates": 3, ...}, "model": "…", "how": "…", "date": "2026-11-20"}

Lines of any other type are skipped, so that the ``events.jsonl`` of a run is a recording as it is.
"""

from __future__ import annotations

import codecs
import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from promptpo import config
from promptpo.common.files import other_encoding
from promptpo.common.values import shown
from promptpo.errors import ModelError, UsageError
from promptpo.llm import answers
from promptpo.llm.messages import Reply, Request, prompt_hash
from promptpo.llm.usage import dollars
from promptpo.types import Key

T = TypeVar("T")

#: The format of logs and recordings, which the first line of each names; no other is read.
FORMAT = 2


@dataclass(frozen=True)
class RecordingHeader:
    """What a recording says of itself: the settings to replay it with, and its origin.

    ``config`` are the settings of the run that it was made of, those of its method included.
    """

    config: Mapping[str, Any]
    spec: str = ""
    policy_seed: int = 0
    model: str = ""
    how: str = ""
    date: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """Those settings that decide which replies are asked for, and what is played."""
        known = config.fields(config.RunConfig)
        told = {k: v for k, v in self.config.items() if k != "options"}
        own = self.config.get("options") or {k: v for k, v in told.items() if k not in known}
        replayed = {k: v for k, v in told.items() if k in _REPLAYED and v is not None}
        return {**BEFORE_PREPARE, **replayed, **own}


#: Settings that a replay takes over, beside those of the method.
_REPLAYED = (
    "method", "published_prompt", "facts", "rounds", "candidates", "episodes",
    "selection_episodes", "test_episodes", "seed", "target", "patience", "early_stop",
    "act_timeout", "episode_timeout", "policy_lifetime", "evaluation_episodes", "prepare_time",
    "prepare_transitions", "tune", "tune_steps", "tune_share", "constants",
)  # fmt: skip

#: Settings of runs and recordings from before policies could prepare, which do not name them.
BEFORE_PREPARE: Mapping[str, Any] = {"prepare_time": 0}


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
    replies: Mapping[Key, RecordedReply]
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


def reply_from_event(event: Mapping[str, Any]) -> tuple[Key, RecordedReply]:
    """The inverse of ``reply_event``; ValueError where the key or the text is not what it was."""
    key = _key(event)
    reply = Reply(
        text=_of_type(str, event, "text"),
        model=answers.model_name("", event.get("model")),
        finish_reason=answers.finish_reason(event.get("finish_reason")),
        usage=answers.plain(event.get("usage")),
        cost=dollars(event.get("cost")),
        latency=dollars(event.get("latency")) or 0.0,
    )
    return key, RecordedReply(reply, str(event.get("prompt_sha256") or ""))


def _key(event: Mapping[str, Any]) -> Key:
    key = _of_type(dict, event, "key")
    numbers = [_of_type(int, key, name) for name in ("round", "candidate", "attempt")]
    if min(numbers) < 0:
        raise ValueError(f"'key' counts below 0: {shown(key)}")
    round_, candidate, attempt = numbers
    return Key(round_, candidate, attempt, _of_type(str, key, "role"))


def _of_type(kind: type[T], data: Mapping[str, Any], name: str) -> T:
    """A field of an event, which has this type. Raises ValueError."""
    if name not in data:
        raise ValueError(f"no field '{name}'")
    value = data[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        words = {str: "a text", int: "a whole number", dict: "an object", bool: "true or false"}
        raise ValueError(f"'{name}' must be {words[kind]}, not {shown(value)}")
    return value


def find_recording(spec_name: str, method: str = "", *, only: bool = False) -> Path | None:
    """The recording that ships for a spec, or None: ``SPEC.METHOD.jsonl``, else ``SPEC.jsonl``.

    With ``only`` no recording will do that is not the method's own.
    """
    if not spec_name.isidentifier():
        return None
    folder = Path(str(importlib.resources.files("promptpo").joinpath("recordings")))
    names = [f"{spec_name}.{method}"] * bool(method) + [spec_name] * (not only)
    paths = (folder / f"{name}.jsonl" for name in names)
    return next((path for path in paths if path.is_file()), None)


def load_recording(path: Path) -> Recording:
    """Read a recording: a run's folder, its ``events.jsonl`` or a shipped file.

    A last line that was cut off by a kill is left out (``cut`` tells). Raises ModelError, with file
    and line, for a file that cannot be read, holds no reply, or holds a line that is no event.
    """
    file = path / "events.jsonl" if path.is_dir() else path
    header = None
    replies: dict[Key, RecordedReply] = {}
    events, cut = _events(file)
    for number, event in events:
        try:
            _check_format(event)
            if event.get("type") == "reply":
                key, recorded = reply_from_event(event)
                replies[key] = recorded
            elif _of_type(str, event, "type") == "recording":
                header = _header(event)
        except (ValueError, UsageError) as e:
            raise ModelError(f"{file}:{number}: not an event of a recording: {e}{_MEND}") from None
    if not replies:
        raise ModelError(f"{file}: no reply in it; give the folder of a run that asked a model")
    return Recording(file, header, replies, cut)


def load_header(path: Path) -> RecordingHeader | None:
    """The header of a recording, or a run's first event, read without its replies; None: none.

    Raises ModelError for a file that cannot be read or whose header is broken.
    """
    file = path / "events.jsonl" if path.is_dir() else path
    number, event = next(iter(_events(file, first=True)[0]), (1, {}))
    try:
        _check_format(event)
        if event.get("type") == "run" and isinstance(event.get("config"), dict):
            _check_settings(event["config"])
            return RecordingHeader(event["config"])
        return _header(event) if event.get("type") == "recording" else None
    except (ValueError, UsageError) as e:
        raise ModelError(f"{file}:{number}: not the header of a recording: {e}{_MEND}") from None


def recorded_policy_seed(path: Path) -> int:
    """The seed of the policies' random numbers that a recording was made with; 0 if unsaid.

    Raises ModelError for a file that cannot be read.
    """
    file = path / "events.jsonl" if path.is_dir() else path
    first = next((event for _, event in _events(file)[0]), {})
    said = first if first.get("type") == "recording" else first.get("config")
    seed = said.get("policy_seed") if isinstance(said, dict) else None
    return seed if isinstance(seed, int) and seed >= 0 else 0


def _check_format(event: Mapping[str, Any]) -> None:
    """Raise ValueError where a first line is of another format."""
    if event.get("type") in ("run", "recording") and event.get("format", 1) != FORMAT:
        raise ValueError(f"format {shown(event.get('format', 1))}; only format {FORMAT} is read")


_REMEDY = "give recorded:PATH a run's folder or its events.jsonl"
_MEND = "; mend or remove the line, or record the run again"


def _events(file: Path, *, first: bool = False) -> tuple[list[tuple[int, dict[str, Any]]], bool]:
    """The numbered lines of a file (or its first one), and whether its last line was cut off."""
    try:
        if file.exists() and not file.is_file():  # a pipe or a device, which may have no end
            raise ModelError(f"{file}: not a file; {_REMEDY}")
        data = file.read_bytes()
    except OSError as e:
        raise ModelError(f"{file}: {e.strerror or e}; {_REMEDY}") from None
    if name := other_encoding(data):
        raise ModelError(f"{file}:1: the file is {name}; save it as UTF-8")
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    cut = bool(lines[-1].strip())
    events: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as e:
            if number == len(lines):
                return events, True
            raise ModelError(f"{file}:{number}: not JSON ({e}){_MEND}") from None
        if not isinstance(event, dict):
            raise ModelError(f"{file}:{number}: not a JSON object{_MEND}")
        events.append((number, event))
        cut = cut and number != len(lines)
        if first:
            break
    return events, cut


def _header(event: Mapping[str, Any]) -> RecordingHeader:
    """A header whose settings a run can have. Raises ValueError or UsageError."""
    settings = _of_type(dict, event, "config")
    _check_settings(settings)
    texts = {n: _of_type(str, event, n) for n in ("spec", "model", "how", "date") if n in event}
    seed = _of_type(int, event, "policy_seed") if "policy_seed" in event else 0
    config.fields(config.RunConfig)["policy_seed"].check(seed)
    return RecordingHeader(settings, policy_seed=seed, **texts)


def _check_settings(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        if name in config.fields(config.RunConfig):
            config.fields(config.RunConfig)[name].check(value)
    if settings.get("options") is not None:
        _of_type(dict, settings, "options")
