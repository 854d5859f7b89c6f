"""What a run has already done, looked up in its log: the memory that resuming rests on.

Things are remembered by the digest of their content, model calls by their key, and decisions by
their order. Running a method again, its own random numbers included, is resuming it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from promptpo.errors import LimitReached
from promptpo.store.events import Event
from promptpo.store.record import Record
from promptpo.types import Key, Rollout

#: What an event is about; of two events about the same thing the later one holds.
_SUBJECT = ("key", "digest", "round", "rollout", "later", "hard", "notes", "budget")

#: What events of older versions hold besides.
_FORMER = ("mark",)

#: Decisions in their order: each rests on the ones before, and falls when one of them is new.
_DECISIONS = ("round", "selection", "test", "finished")


def digest(*content: object) -> str:
    """A short fingerprint of a text, or of other plain values."""
    text = content[0] if len(content) == 1 else None
    whole = text if isinstance(text, str) else json.dumps(content, sort_keys=True, default=list)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Memo:
    """Replies, rollouts and decisions of a run; those of earlier sessions are there from the start.

    ``record`` folds the same events; what is done in this session is added to it.
    """

    def __init__(self, past: Sequence[Event]) -> None:
        self.record = Record()
        self._last: dict[tuple[str, ...], str] = {}
        for event in past:
            self.repeats(event.type, event.data)
            self.record.apply(event)

    def check_allowed(self, key: Key) -> None:
        """Raises LimitReached where a limit forbade the call and the search went on without it.

        What was built on that stays as it was, whatever the limits are now.
        """
        if key in self.record.refused and self.record.has_begun(key.round + 1):
            raise LimitReached(self.record.refused[key])

    def repeats(self, event: str, data: Mapping[str, Any]) -> bool:
        """Whether this is the log's last word on its subject already; from now on it is."""
        names = () if event in _DECISIONS[1:] else _SUBJECT
        subject = (event, *(json.dumps(data.get(name), sort_keys=True) for name in names))
        content = digest({name: value for name, value in data.items() if name not in _FORMER})
        known = self._last.get(subject) == content
        self._last[subject] = content
        if not known and event in _DECISIONS:
            later = _DECISIONS[_DECISIONS.index(event) + 1 :]
            self._last = {k: v for k, v in self._last.items() if k[0] not in later}
        return known

    def has(self, event: str) -> bool:
        """Whether a decision of this kind holds."""
        return (event,) in self._last

    def add(self, kind: str, data: Mapping[str, Any], time: float = 0.0) -> None:
        """Take note of what has just been recorded."""
        self.record.apply(Event(kind, data, time))

    def rollout(self, of: str) -> Rollout | None:
        """What was played under a digest."""
        return self.record.rollouts.get(of)
