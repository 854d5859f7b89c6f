"""The events of a run as deliveries for trackers.

Names follow what is usual: ``GROUP/VALUE``, over the environment steps of search and tuning.

    candidate/   mean_return, success_rate, failed (0 or 1): every policy that was written,
                 and again with every further episode that it played
    round/       mean_return, success_rate of the round's winner, and number
    best/        mean_return, success_rate of the best so far, by search episodes
    test/        mean_return, success_rate of held-out episodes, each with _low and _high (95%)
    metric/      means of the task's metrics by name: of each policy, and in held-out episodes
                 (NAME_test); worst_tenth stands beside every mean_return where that ranks
    cost/        usd (where all prices are known), calls: where a model is asked
    tokens/      prompt, completion: likewise; cached: of the prompts', where providers tell it
    steps/       search, tuning, selection, test
    time/        seconds
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from promptpo.outcomes import Rollout
from promptpo.store.codec import score_data, score_of
from promptpo.store.events import Event
from promptpo.store.run import Run
from promptpo.store.trials import searched
from promptpo.types import Key, Score


@dataclass(frozen=True)
class Delivery:
    """Values to track, delivered once in the life of a run, however often that is resumed.

    Attributes:
        key: identifies it.
        step: environment steps of search and tuning so far, the x axis.
        values: scores, costs, counts by name, e.g. ``round/mean_return``.
        source: Python source of the best policy so far; None: unchanged.
    """

    key: str
    step: int
    values: Mapping[str, float] = field(default_factory=dict)
    source: str | None = None


class Feed:
    """Turns the events of a run into deliveries.

    ``summary`` has the latest values of all but single candidates.
    """

    def __init__(self) -> None:
        self.summary: dict[str, float] = {}
        self._run = Run()
        self._totals: Mapping[str, Any] = {}
        self._source = ""
        self._candidates: set[str] = set()

    @property
    def status(self) -> str:
        """Status in which the run ended; failed without an event of its end."""
        return str((self._run.finished or {}).get("status", "failed"))

    def apply(self, event: Event) -> list[Delivery]:
        """Return the deliveries of an event, most often none."""
        self._run.apply(event)
        if event.type == "usage":
            self._totals = event.data
        if event.type == "candidate":
            return list(self._candidate(event.data))
        deliveries = []
        if event.type == "round":
            deliveries = [self._round(event.data)]
        elif event.type == "test":
            deliveries = list(self._test(event.data))
        for delivery in deliveries:
            self.summary.update(delivery.values)
        return deliveries

    @property
    def _reached(self) -> Mapping[str, Any]:
        """Totals where the run stands: a resumed one repeats the events of its past."""
        reached: Mapping[str, Any] = self._totals.get("reached", self._totals)
        return reached

    @property
    def _step(self) -> int:
        return searched(self._reached.get("steps", {}))

    def _candidate(self, data: Mapping[str, Any]) -> Iterator[Delivery]:
        key, score = data["key"], score_of(data["score"])
        if not key["round"]:
            return  # played without a policy
        values = {"candidate/failed": float(score.failed), **_scores("candidate", score)}
        values |= _metrics(
            self._run.trials[Key(key["round"], key["candidate"]).name].candidate.pooled
        )
        name = Key(key["round"], key["candidate"]).name
        # The event comes again with more episodes, and with notes.
        later = len(data.get("later", ()))
        words = f"candidate {name} {key['attempt']}{f' later {later}' * bool(later)}"
        if words not in self._candidates:
            self._candidates.add(words)
            step = self._step if later else self._run.trials[name].at_steps
            yield Delivery(words, step, values)

    def _round(self, data: Mapping[str, Any]) -> Delivery:
        best = score_of(data["best"]["score"])
        values = {
            "round/number": float(data["round"]),
            **_scores("round", score_of(data["score"])),
            **_scores("best", best),
            **self._spent(self._reached),
        }
        source = None if best.failed else self._new_source(data["best"]["name"])
        return Delivery(f"round {data['round']}", self._step, values, source)

    def _test(self, data: Mapping[str, Any]) -> Iterator[Delivery]:
        test = self._run.test
        if test is None or test.score.failed:
            return
        values = _scores("test", test.score)
        for name, interval in (
            ("test/mean_return", test.return_interval),
            ("test/success_rate", test.success_interval),
            ("test/worst_tenth", test.worst_tenth_interval),
        ):
            if interval is not None:
                values |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
        values |= {**_metrics(test, "_test"), **self._spent(self._totals)}
        yield Delivery("test", self._step, values, self._new_source(data["name"]))

    def _new_source(self, name: str) -> str | None:
        """Return the source of a policy that has not been delivered yet."""
        trial = self._run.trials.get(name)
        if name == self._source or trial is None:
            return None
        self._source = name
        return trial.candidate.source

    def _spent(self, totals: Mapping[str, Any]) -> dict[str, float]:
        """Return costs and counts, but for unknown prices, and calls where no model is asked."""
        calls = {
            "cost/usd": totals.get("cost"),
            "cost/calls": totals.get("calls"),
            "tokens/prompt": totals.get("prompt_tokens"),
            "tokens/completion": totals.get("completion_tokens"),
            "tokens/cached": totals.get("cached_tokens"),
        }
        spent = {
            **(calls if self._run.asks_model else {}),
            "time/seconds": self._totals.get("elapsed"),
            **{f"steps/{stream}": count for stream, count in totals.get("steps", {}).items()},
        }
        return {name: float(value) for name, value in spent.items() if value is not None}


def _metrics(run: Rollout | None, suffix: str = "") -> dict[str, float]:
    """Return means of metrics, under names that every tracker takes."""
    readings = run.readings if run is not None else ()
    return {f"metric/{re.sub(r'[^a-zA-Z0-9_. -]', '_', r.name)}{suffix}": r.mean for r in readings}


def _scores(group: str, score: Score) -> dict[str, float]:
    """Return the values of a score; none of a failure."""
    items = (score_data(score) or {}).items()
    return {f"{group}/{name}": float(value) for name, value in items if value is not None}
