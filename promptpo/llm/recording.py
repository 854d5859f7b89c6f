"""Recordings: the replies of a run, one JSON object per line, as in ``events.jsonl``.

A reply line::

    {"type": "reply", "time": 1795170000.0,
     "key": {"round": 1, "candidate": 2, "attempt": 0, "role": "policy"},
     "prompt_sha256": "…", "text": "…", "model": "…", "finish_reason": "stop",
     "usage": {…} or null, "cost": 0.01 or null, "latency": 3.2}

A recording that ships with the package starts with a header, with the settings of its run::

    {"type": "recording", "format": 2, "spec": "cartpole", "policy_seed": 17,
     "config": {"rounds": 3, "candidates": 3, ...}, "model": "…", "how": "…", "date": "2026-11-20"}

Lines of any other type are skipped, so that the ``events.jsonl`` of a run is a recording as it is.
"""

from __future__ import annotations

import codecs
import contextlib
import importlib.resources
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from promptpo import config
from promptpo.common.files import other_encoding
from promptpo.common.plaintext import shown
from promptpo.errors import ModelError, UsageError
from promptpo.llm.messages import (
    Reply,
    Request,
    dollars,
    finish_reason,
    model_name,
    plain,
    prompt_hash,
)
from promptpo.types import Key

#: The format of logs and recordings, named by the first line of each; no other is read.
FORMAT = 2


#: Settings that a replay takes over, beside those of the method.
_REPLAYED = (
    "method", "published_prompt", "facts", "rounds", "candidates", "episodes",
    "selection_episodes", "test_episodes", "seed", "target", "patience", "early_stop",
    "act_timeout", "episode_timeout", "policy_lifetime", "evaluation_episodes", "prepare_time",
    "prepare_transitions", "tune", "tune_steps", "tune_share", "constants",
    "constants_in", "last_word",
)  # fmt: skip

#: Settings that older runs and recordings lack, as they were then.
FORMERLY: Mapping[str, Any] = {
    "prepare_time": 0,
    "constants_in": "assigned",
    "last_word": "closed",
}

_REMEDY = "give recorded:PATH a run's folder or its events.jsonl"
_MEND = "; mend or remove the line, or record the run again"


@dataclass(frozen=True)
class RecordingHeader:
    """The origin of a recording, and the settings of its run, those of its method included."""

    config: Mapping[str, Any]
    spec: str = ""
    policy_seed: int = 0
    model: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that decide which replies are asked for, and what is played."""
        fields = config.fields(config.RunConfig)
        stated = {k: v for k, v in self.config.items() if k != "options"}
        own = self.config.get("options") or {k: v for k, v in stated.items() if k not in fields}
        replayed = {k: v for k, v in stated.items() if k in _REPLAYED and v is not None}
        return {**FORMERLY, **replayed, **own}


@dataclass(frozen=True)
class RecordedReply:
    """A reply and the fingerprint of its prompt (empty: not recorded)."""

    reply: Reply
    prompt_sha256: str


@dataclass(frozen=True)
class Recording:
    """The replies of an earlier run by the keys of their calls.

    ``cut``: the last line was cut off by a kill, and is left out.
    """

    path: Path
    header: RecordingHeader | None
    replies: Mapping[Key, RecordedReply]
    cut: bool = False

    def contents(self) -> str:
        """Return the contents in a few words, e.g. ``"21 replies, rounds 1 to 5, ..."``."""
        count = f"{len(self.replies)} {'reply' if len(self.replies) == 1 else 'replies'}"
        rounds = [key.round for key in self.replies if key.round]
        if not rounds:
            return count
        most = max(key.candidate for key in self.replies)
        return f"{count}, rounds {min(rounds)} to {max(rounds)}, up to {most} candidates"


@dataclass(frozen=True)
class _Typed:
    type: str


@dataclass(frozen=True)
class _Options:
    options: dict[str, Any] | None = None


@dataclass(frozen=True)
class _ReplyLine:
    """The types of a reply line; a provider's numbers and names may be anything."""

    key: Key
    text: str


class ReplyMissing(ModelError):
    """A recording does not hold a reply that was asked for."""


def reply_event(request: Request, reply: Reply) -> dict[str, Any]:
    """Return the fields of a reply line but for ``type`` and ``time``."""
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
    """Return the key and reply of a reply line. Raises ValueError for a wrong key or text."""
    line = msgspec.convert(event, _ReplyLine)
    reply = Reply(
        text=line.text,
        model=model_name("", event.get("model")),
        finish_reason=finish_reason(event.get("finish_reason")),
        usage=plain(event.get("usage")),
        cost=dollars(event.get("cost")),
        latency=dollars(event.get("latency")) or 0.0,
    )
    return line.key, RecordedReply(reply, str(event.get("prompt_sha256") or ""))


def find_recording(spec_name: str, method: str = "", *, only: bool = False) -> Path | None:
    """Return the recording that ships for a spec: ``SPEC.METHOD.jsonl``, else ``SPEC.jsonl``.

    With ``only`` the method's own recording, or None.
    """
    if not spec_name.isidentifier():
        return None
    folder = Path(str(importlib.resources.files("promptpo").joinpath("recordings")))
    names = [f"{spec_name}.{method}"] * bool(method) + [spec_name] * (not only)
    paths = (folder / f"{name}.jsonl" for name in names)
    return next((path for path in paths if path.is_file()), None)


def load_recording(path: Path) -> Recording:
    """Read a recording: a run's folder, its ``events.jsonl`` or a shipped file.

    Raises ModelError, with file and line, for a file that cannot be read, holds no reply, or holds
    a line that is no event.
    """
    file, cut = _file(path), False
    header, replies = None, dict[Key, RecordedReply]()
    for where, event in _events(file):
        if event is None:
            cut = True
            continue
        with _naming(where):
            if msgspec.convert(event, _Typed).type == "reply":
                key, recorded = reply_from_event(event)
                replies[key] = recorded
            header = header or _header(event)
    if not replies:
        raise ModelError(f"{file}: no reply in it; give the folder of a run that asked a model")
    return Recording(file, header, replies, cut)


def load_header(path: Path) -> RecordingHeader | None:
    """Read the header of a recording, or a run's first event, without the replies; None: no header.

    Raises ModelError for a file that cannot be read or whose header is broken.
    """
    where, event = next(_events(_file(path)), ("", None))
    with _naming(where):
        return _header(event or {})


def _file(path: Path) -> Path:
    return path / "events.jsonl" if path.is_dir() else path


def _events(file: Path) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yield the lines of a file by their places; None for a last one that was cut off."""
    try:
        if file.exists() and not file.is_file():  # a pipe or a device, which may have no end
            raise ModelError(f"{file}: not a file; {_REMEDY}")
        data = file.read_bytes()
    except OSError as e:
        raise ModelError(f"{file}: {e.strerror or e}; {_REMEDY}") from None
    if name := other_encoding(data):
        raise ModelError(f"{file}:1: the file is {name}; save it as UTF-8")
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as e:
            if number < len(lines):
                raise ModelError(f"{file}:{number}: not JSON ({e}){_MEND}") from None
            yield f"{file}:{number}", None
            return
        if not isinstance(event, dict):
            raise ModelError(f"{file}:{number}: not a JSON object{_MEND}")
        yield f"{file}:{number}", event


@contextlib.contextmanager
def _naming(where: str) -> Iterator[None]:
    """Raise ModelError with the place for a line that is no event of a recording."""
    try:
        yield
    except (ValueError, UsageError) as e:
        raise ModelError(f"{where}: not an event of a recording: {e}{_MEND}") from None


def _header(event: Mapping[str, Any]) -> RecordingHeader | None:
    """Return the header in an event; None for an event of another type.

    Raises ValueError or UsageError for another format, and for settings that no run may have.
    """
    kind = event.get("type")
    if kind not in ("run", "recording"):
        return None
    if event.get("format", 1) != FORMAT:
        raise ValueError(f"format {shown(event.get('format', 1))}; only format {FORMAT} is read")
    own = {"config"} if kind == "run" else event.keys()
    header = msgspec.convert({name: event[name] for name in own & event.keys()}, RecordingHeader)
    msgspec.convert(header.config, _Options)
    if kind == "run":
        header = replace(header, policy_seed=header.config.get("policy_seed") or 0)
    fields = config.fields(config.RunConfig)
    for name, value in {**header.config, "policy_seed": header.policy_seed}.items():
        if name in fields:
            fields[name].check(value)
    return header
