"""The status of a run as lines of JSON for programs: ``promptpo SPEC --json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TextIO

from promptpo.common.terminal import say
from promptpo.store.codec import score_data
from promptpo.store.events import Event
from promptpo.store.run import Run
from promptpo.ui.progress import TuningState, View, WatchedRun

_PHASES = {
    "starting": "starting",
    "feedback": "first prompt",
    "selection": "selection",
    "test": "held-out test",
}


@dataclass(frozen=True)
class RunStatus:
    """The status of a run.

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
    def of(cls, run: Run) -> RunStatus:
        """Return the status of a run, as its folder tells it or as it is watched."""
        score, test, usage = run.best_score, run.test, run.usage
        watched = run if isinstance(run, WatchedRun) else None
        return cls(
            folder=str(run.folder) if run.header else "",
            status=run.status,
            state=_state(watched) if watched else run.status,
            best=score_data(score) if score and not score.failed else None,
            held_out=score_data(test.score) if test and not test.score.failed else None,
            steps=sum(usage.steps.values()),
            search_steps=usage.searched,
            calls=usage.calls,
            cost=usage.cost,
            reason=run.reason,
            tuning=_tuning(watched.tuning) if watched and watched.tuning else None,
            prepared=_prepared(run),
            tables=_tables(run),
        )

    def ended(self, status: str, reason: str) -> RunStatus:
        """Return the status of the same run once it is over."""
        return replace(self, status=status, state=status, reason=reason)


def _state(run: WatchedRun) -> str:
    if run.phase == "search":
        tuning = ", tuning" if run.tuning else ""
        return f"round {run.number} of {run.settings.get('rounds', '?')}{tuning}"
    return _PHASES.get(run.phase, run.status)


def _tuning(tuning: TuningState) -> dict[str, Any]:
    score = tuning.score or {"mean_return": None}
    return {
        "name": tuning.name,
        "steps": tuning.steps,
        "budget": tuning.budget,
        "mean_return": score["mean_return"],
        "success_rate": score.get("success_rate"),
        "seconds_left": round(tuning.left, 1),
    }


def _prepared(run: Run) -> dict[str, Any] | None:
    if not (results := run.preparations.values()):
        return None
    failed = sum(result.error is not None for result in results)
    seconds = round(sum(result.seconds for result in results), 3)
    return {"programs": len(results), "failed": failed, "seconds": seconds}


def _tables(run: Run) -> dict[str, Any]:
    latest = {title: by_round[max(by_round)] for title, by_round in run.tables.items()}
    return {
        title: {
            "round": table.round,
            "text": table.text,
            "columns": list(table.columns),
            "rows": [list(row) for row in table.rows],
        }
        for title, table in latest.items()
    }


class JsonView(View):
    """A view that writes an object a line: the status, whenever it changes; notices."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream
        self._last = RunStatus()

    def __call__(self, event: Event) -> None:
        """Take note of one event, and write its line, if it has one."""
        super().__call__(event)
        if event.type == "notice":
            say(json.dumps({"notice": event.data["text"]}), self.stream)
        status = RunStatus.of(self.run)
        if status != self._last:
            self._last = status
            say(json.dumps(asdict(status)), self.stream)
