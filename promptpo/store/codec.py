"""Records as JSON has them, and back; digests of plain values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from promptpo.outcomes import Reading, Rollout, Score
from promptpo.stats import ends

T = TypeVar("T")


def encode(record: object) -> Any:  # noqa: ANN401 - JSON of any kind
    """Return a record as JSON has it: dicts, lists, texts and numbers."""
    return _lists(msgspec.to_builtins(record, enc_hook=_number))


def _number(value: Any) -> object:  # noqa: ANN401 - a number of numpy
    return value.item()


def _lists(value: object) -> object:
    """Return plain values with lists in place of tuples."""
    if isinstance(value, dict):
        return {name: _lists(item) for name, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value


def decode(kind: type[T], data: object) -> T:
    """Return the record that ``encode`` made plain; fields left out have their defaults.

    Raises ValueError, which names the place, where the data does not have the record's types.
    """
    return msgspec.convert(data, kind)


def score_data(score: Score) -> dict[str, Any] | None:
    """Return a score as JSON; None for a failure."""
    if score.failed:
        return None
    data = {"mean_return": score.mean_return, "success_rate": score.success_rate}
    return data if score.worst_tenth is None else {**data, "worst_tenth": score.worst_tenth}


def score_of(data: Mapping[str, Any] | None) -> Score:
    """Return the score that ``score_data`` made plain."""
    if not data:
        return Score(failed=True)
    tenth = data.get("worst_tenth")
    return Score(data["mean_return"], data.get("success_rate"), worst_tenth=tenth)


def further_scores(run: Rollout) -> dict[str, Any]:
    """Return worst tenth and metrics of episodes as JSON, where the task has them."""
    data: dict[str, Any] = {}
    if run.worst_tenth is not None:
        bounds = ends(run.worst_tenth_interval)
        data |= {"worst_tenth": run.worst_tenth, "worst_tenth_interval": bounds}
    if run.readings:
        data["metrics"] = {reading.name: _reading(reading) for reading in run.readings}
    return data


def _reading(reading: Reading) -> dict[str, Any]:
    data = {**encode(reading.gauge), "value": reading.mean, "interval": ends(reading.interval)}
    if reading.gauge.bounded:
        held = sum(breach == 0 for breach in reading.breaches) / len(reading.values)
        data |= {"held": held, "breach": max(reading.breaches)}
    return data


def digest(*content: object) -> str:
    """Return a short fingerprint of a text, or of other plain values."""
    text = content[0] if len(content) == 1 else None
    whole = text if isinstance(text, str) else json.dumps(content, sort_keys=True, default=list)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]
