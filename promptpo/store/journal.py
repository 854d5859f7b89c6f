"""The log of a run that is going on, with the ``Run`` folded from it: the memory of resuming.

Things are remembered by the digest of their content, model calls by their key, and decisions by
their order. Resuming is running a method again, its own random numbers included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from promptpo.errors import LimitReached
from promptpo.store.codec import digest
from promptpo.store.events import EventLog
from promptpo.store.run import Run
from promptpo.types import Key

#: The subject of an event; of two events on the same subject the later one holds.
_SUBJECT = ("key", "digest", "round", "rollout", "later", "hard", "notes", "budget", "title")

#: Fields that events of older versions have besides.
_FORMER = ("mark",)

#: Decisions in their order: each rests on the ones before, and falls when one of them is new.
_DECISIONS = ("round", "selection", "test", "finished")


class Journal:
    """Records each thing once, and answers from ``run`` what earlier sessions have recorded."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.run = Run(folder=log.path.parent)
        self._last: dict[tuple[str, ...], str] = {}
        for event in log.past:
            self._repeats(event.type, event.data)
            self.run.apply(event)

    def write(self, kind: str, /, **data: object) -> None:
        """Record an event; one that repeats the last on its subject only reaches listeners."""
        if self._repeats(kind, data):
            self.tell(kind, **data)
        else:
            self.append(kind, **data)

    def append(self, kind: str, /, **data: object) -> None:
        """Record an event, whether or not it repeats another."""
        self.run.apply(self.log.emit(kind, transient=False, **data))

    def tell(self, kind: str, /, **data: object) -> None:
        """Hand an event to the listeners; nothing is recorded."""
        self.log.emit(kind, transient=True, **data)

    def notice(self, text: str) -> None:
        """Record a notice to the user."""
        self.append("notice", text=text)

    def has(self, decision: str) -> bool:
        """Return whether a decision of this kind holds."""
        return (decision,) in self._last

    def check_allowed(self, key: Key) -> None:
        """Raise LimitReached where a limit forbade the call and the search went on without it.

        Later rounds rest on that, whatever the limits are now.
        """
        if key in self.run.refused and self.run.has_begun(key.round + 1):
            raise LimitReached(self.run.refused[key])

    def _repeats(self, kind: str, data: Mapping[str, Any]) -> bool:
        """Return whether this was the last event on its subject already; from now on it is."""
        names = () if kind in _DECISIONS[1:] else _SUBJECT
        subject = (kind, *(json.dumps(data.get(name), sort_keys=True) for name in names))
        content = digest({name: value for name, value in data.items() if name not in _FORMER})
        repeated = self._last.get(subject) == content
        self._last[subject] = content
        if not repeated and kind in _DECISIONS:
            later = _DECISIONS[_DECISIONS.index(kind) + 1 :]
            self._last = {k: v for k, v in self._last.items() if k[0] not in later}
        return repeated
