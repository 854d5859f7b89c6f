"""Logs and ``run.json`` of format 1, read as of format 2: no reader knows of the older one.

Format 1 names no format. It spelled round, candidate (``index``) and attempt out in each event,
had a list for each figure of the episodes in place of a record for each episode, keyed a
reflection by the round before the one that it opens, and knew no digest, kind, parent or note.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from promptpo.store.shapes import EVENTS, FORMAT, fits, is_event, shape_of
from promptpo.types import Key, Rollout

_PLACE = {"round": range(10**9), "index": range(10**9), "attempt": range(10**9)}
_ROLLOUT = {k: v for k, v in shape_of(Rollout, "life").items() if k != "episodes"} | {
    "returns": [float],
    "lengths": [int],
    "successes": [(None, bool)],
    "mark?": str,
}
_RUN = {k: v for k, v in EVENTS["run"].items() if k != "format"}
_SCORED = {"source": (None, str), "error": (None, str), "score": EVENTS["candidate"]["score"]}
_ROUND = {k: v for k, v in EVENTS["round"].items() if k != "notes"}

#: What the events of format 1 that are not those of format 2 must hold.
_SHAPES: dict[str, dict[str, Any]] = {
    "run": _RUN,
    "rollout": {**_PLACE, "source_sha": str, **_ROLLOUT},
    "candidate": {**_PLACE, **_SCORED, "mark?": str},
    "feedback": {
        "round": range(10**9), "index": range(10**9), "feedback_sha": str, "by?": str,
        "texts": [str], "error": (None, str),
    },
    "round": {**_ROUND, "reflection?": (None, str)},
    "test": {"name": str, **_ROLLOUT},
}  # fmt: skip

#: Fields by which an event of a type is of one format and not of the other.
_ONLY_1 = {"rollout": "index", "candidate": "index", "feedback": "index",
           "test": "returns", "round": "reflection"}  # fmt: skip
_ONLY_2 = {"rollout": "digest", "candidate": "kind", "feedback": "digest",
           "test": "digest", "round": "notes"}  # fmt: skip


#: What runs did that knew nothing of these settings: they are resumed as they began.
_LATER = {"prepare_time": 0}
_UNKNOWN_THEN: dict[str, dict[str, Any]] = {
    "": {"early_stop": False},
    "promptpo": {
        "without_reflection": 0, "revise_feedback": False, "second_line": False,
        "challenge": False, "probe": 0, "trace": False, "history": "published",
    },
}  # fmt: skip


def with_settings_unknown_then(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run, with those that came later as what the run did without them."""
    if "early_stop" in settings:
        return {**_LATER, **settings}
    own = _UNKNOWN_THEN.get(str(settings.get("method", "")), {})
    return {**_LATER, **_UNKNOWN_THEN[""], **own, **settings}


def format_of(lines: Iterable[object]) -> int:
    """The format of a log, given its lines as JSON: what its first event says, or looks like."""
    for data in lines:
        if not isinstance(data, Mapping) or not isinstance(kind := data.get("type"), str):
            continue
        if kind == "run":
            known = data.get("format", 1)
            return known if isinstance(known, int) else FORMAT
        if _ONLY_1.get(kind, "") in data:
            return 1
        if _ONLY_2.get(kind, "") in data:
            return FORMAT
    return FORMAT


class Upgrade:
    """Turns the lines of one log of format 1 into events, in order."""

    def __init__(self) -> None:
        self._tests: dict[tuple[str, str], tuple[str, list[int]]] = {}
        self._texts: dict[str, Sequence[str]] = {}
        self._handlers = {
            "run": self._run,
            "prompt": self._call,
            "reply": self._call,
            "refused": self._call,
            "rollout": self._rollout,
            "candidate": self._candidate,
            "feedback": self._feedback,
            "round": self._round,
            "test": self._test,
        }

    def lines(self, line: object) -> list[dict[str, Any]]:
        """What a line as JSON tells, as lines of format 2; none where it is no event."""
        if not isinstance(line, Mapping) or not isinstance(kind := line.get("type"), str):
            return []
        handler = self._handlers.get(kind)
        if handler is None:
            made = [dict(line)]
        elif fits(line, _SHAPES.get(kind) or EVENTS[kind]):
            made = handler(dict(line))
        else:
            made = []
        return made if all(map(is_event, made)) else []

    def _run(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        return [{**data, "format": 1}]

    def _call(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        key = data["key"]
        return [{**data, "key": {**key, "round": key["round"] + (key["role"] == "reflection")}}]

    def _rollout(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        key = Key(data["round"], data["index"], data["attempt"])
        digest = _digest(key, data["source_sha"], data["stream"], data.get("mark", ""))
        if data["stream"] == "test":
            self._tests[key.name, data.get("mark", "")] = digest, data["seeds"]
        return [_line(data, key, digest, **_rollout(data))]

    def _candidate(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        key, mark = Key(data["round"], data["index"], data["attempt"]), data.get("mark", "")
        sha = None if data["source"] is None else _sha(data["source"])
        rollout = None if sha is None else _digest(key, sha, "search", mark)
        told = {name: data[name] for name in _SCORED}
        about: dict[str, Any] = {"kind": "policy", "parents": [], "notes": [], "rollout": rollout}
        return [{**_line(data, key, ""), **told, **about}]

    def _feedback(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        key = Key(data["round"], data["index"])
        if data["error"] is None:
            self._texts[key.name] = data["texts"]
        by = data.get("by") or ("built-in" if data["feedback_sha"] == "built-in" else "model")
        digest = _digest(key, data["feedback_sha"], "feedback")
        told = {"by": by, "texts": data["texts"], "error": data["error"]}
        return [_line(data, key, digest, **told)]

    def _round(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        """The notes are those that rounds of the method promptpo have had since."""
        reflection = data.pop("reflection", None)
        notes = [("Reflection before it", reflection)] if reflection else []
        texts = self._texts.get(data["winner"], ()) if data["score"] else ()
        notes += [(f"Episode {i}", text) for i, text in enumerate(texts, 1)]
        return [{**data, "notes": [{"title": title, "text": text} for title, text in notes]}]

    def _test(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        """Told of with its rollout, which stands in the log by itself unless that line is lost."""
        key, mark = Key.named(data["name"]), data.get("mark", "")
        digest, seeds = self._tests.get((data["name"], mark), ("", []))
        test = {"type": "test", "time": data.get("time", 0.0), "name": data["name"]}
        if digest and seeds == data["seeds"]:
            return [{**test, "digest": digest}]
        digest = _digest(key, "lost", "test", mark)
        rollout = _line({**data, "type": "rollout"}, key, digest, **_rollout(data))
        return [rollout, {**test, "digest": digest}]


def upgraded_info(info: object) -> object:
    """``run.json`` as of format 2."""
    if not isinstance(info, dict) or not fits(info.get("test"), _ROLLOUT):
        return info
    test: dict[str, Any] = info["test"]
    rest = {k: v for k, v in test.items() if k not in ("returns", "lengths", "successes")}
    return {**info, "test": {**rest, **_rollout(test)}}


def _line(data: Mapping[str, Any], key: Key, digest: str, **told: object) -> dict[str, Any]:
    named = {"digest": digest} if digest else {}
    return {"type": data["type"], "time": data.get("time", 0.0), "key": vars(key), **named, **told}


def _rollout(data: Mapping[str, Any]) -> dict[str, Any]:
    """Which seeds ended before a failure is not known: the figures are told of the first ones."""
    columns = zip(data["seeds"], data["returns"], data["lengths"], strict=False)
    successes = [*data["successes"], *[None] * len(data["seeds"])]
    episodes = [
        {"seed": seed, "return": value, "length": length, "success": success, "error": None}
        for (seed, value, length), success in zip(columns, successes, strict=False)
    ]
    told = {f.name: data[f.name] for f in fields(Rollout) if f.name in data}
    return {**told, "episodes": episodes}


def _sha(source: str) -> str:
    """The fingerprint of a source in format 1."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _digest(key: Key, sha: str, stream: str, mark: str = "") -> str:
    """Format 1 has no digests: each candidate played by itself, so its name is part of them."""
    content = json.dumps([key.name, key.attempt, sha, stream, mark])
    return hashlib.sha256(content.encode()).hexdigest()[:16]
