"""How a run stands, as lines of JSON for programs: ``promptpo SPEC --json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from types import TracebackType
from typing import Any, TextIO

from promptpo.common.terminal import say
from promptpo.store.codec import score_data
from promptpo.store.events import Event
from promptpo.store.run import LIVE, Run
from promptpo.store.trials import searched
from promptpo.types import MethodTable
from promptpo.ui.progress import Progress

_PHASES = {
    "starting": "starting",
    "feedback": "first prompt",
    "selection": "selection",
    "test": "held-out test",
}


@dataclass(frozen=True)
class RunStatus:
    """How a run stands.

    ``status``: "running", "finished", "stopped" (by a limit), "interrupted", "failed", or "killed";
    ``state`` says in a few words what it is doing. ``best`` has ``mean_return`` and
    ``success_rate`` of the search score of the best policy so far, ``held_out`` those of its
    held-out episodes. ``steps`` are those of the environment in all streams, ``search_steps`` those
    that a limit counts, tuning included; ``cost`` is in US dollars, None once a price is unknown.
    ``reason`` says why the run has ended. ``tuning`` is of the candidate that is tuned at the
    moment: its ``name``, ``steps`` of the ``budget``, the ``mean_return`` and ``success_rate`` of
    the values that stand, and ``seconds_left``.
    ``prepared`` is what policies have computed before they acted, None where none did: how many
    ``programs``, how many of them ``failed``, and the ``seconds`` of processor time that they took.
    ``tables`` are the latest facts of the method's own by title: each with the ``round`` after
    which they stand, ``text``, ``columns`` and ``rows``.
    """

    folder: str = ""
    status: str = "running"
    state: str = "starting"
    best: Mapping[str, Any] | None = None
    held_out: Mapping[str, Any] | None = None
    steps: int = 0
    search_steps: int = 0
    calls: int = 0
    cost: float | None = 0.0
    reason: str = ""
    tuning: Mapping[str, Any] | None = None
    prepared: Mapping[str, Any] | None = None
    tables: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def live(cls, progress: Progress) -> RunStatus:
        """That of a run that is watched."""
        record, finished = progress.record, progress.record.finished or {}
        status = str(finished.get("status", LIVE))
        state = _PHASES.get(progress.phase, status)
        if progress.phase == "search":
            state = f"round {progress.round} of {record.settings.get('rounds', '?')}"
            state += ", tuning" if progress.tuning else ""
        folder, reason = record.header.get("folder", ""), finished.get("reason", "")
        tuning = progress.tuning.as_dict() if progress.tuning else None
        figures = _figures(record)
        return cls(str(folder), status, state, reason=str(reason), tuning=tuning, **figures)

    @classmethod
    def on_record(cls, record: Run) -> RunStatus:
        """That of a run as its folder tells it."""
        status = record.status
        return cls(str(record.folder), status, status, reason=record.reason, **_figures(record))

    def ended(self, status: str, reason: str) -> RunStatus:
        """The same run once it is over."""
        return replace(self, status=status, state=status, reason=reason)


def _figures(record: Run) -> dict[str, Any]:
    score, test, usage = record.best_score, record.test, record.usage
    return {
        "best": score_data(score) if score and not score.failed else None,
        "held_out": score_data(test.score) if test and not test.score.failed else None,
        "steps": sum(usage.steps.values()),
        "search_steps": searched(usage.steps),
        "calls": usage.calls,
        "cost": usage.cost,
        "prepared": _prepared(record),
        "tables": {title: _latest(by_round) for title, by_round in record.tables.items()},
    }


def _latest(by_round: Mapping[int, MethodTable]) -> dict[str, Any]:
    table = by_round[max(by_round)]
    return {
        "round": table.round,
        "text": table.text,
        "columns": list(table.columns),
        "rows": [list(row) for row in table.rows],
    }


def _prepared(record: Run) -> dict[str, Any] | None:
    found = record.preparations.values()
    if not found:
        return None
    failed = sum(done.error is not None for done in found)
    took = round(sum(done.seconds for done in found), 3)
    return {"programs": len(found), "failed": failed, "seconds": took}


class JsonView:
    """A view that writes an object a line: how the run stands, whenever that changes; notices."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.progress = Progress()
        self._told = RunStatus()

    def __enter__(self) -> JsonView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def __call__(self, event: Event) -> None:
        """Take note of one event, and write the line that it deserves, if any."""
        self.progress.apply(event)
        if event.type == "notice":
            self._write({"notice": event.data["text"]})
        status = RunStatus.live(self.progress)
        if status != self._told:
            self._told = status
            self._write(asdict(status))

    def _write(self, data: Mapping[str, Any]) -> None:
        say(json.dumps(data), self.stream)
