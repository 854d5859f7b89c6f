"""What trackers are told of a run: its events, turned into deliveries.

Names follow what is usual: ``GROUP/VALUE``, over the environment steps of search and tuning.

    candidate/   mean_return, success_rate, failed (0 or 1): every policy that was written,
                 and again with every further episode that it played
    round/       mean_return, success_rate of the round's winner, and number
    best/        mean_return, success_rate of the best so far, by search episodes
    test/        mean_return, success_rate of held-out episodes, each with _low and _high (95%)
    cost/        usd (where all prices are known), calls: where a model is asked
    tokens/      prompt, completion: likewise; cached: of the prompts', where providers tell it
    steps/       search, tuning, selection, test
    time/        seconds
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from promptpo.store.codec import score_data, score_of
from promptpo.store.events import Event
from promptpo.store.run import Run
from promptpo.store.trials import searched
from promptpo.trackers.base import Delivery
from promptpo.types import Key, Rollout, Score


class Feed:
    """Turns the events of a run into deliveries; ``record`` folds them.

    ``summary`` has the latest values of all but single candidates.
    """

    def __init__(self) -> None:
        self.record = Run()
        self.summary: dict[str, float] = {}
        self._totals: Mapping[str, Any] = {}
        self._shown = ""
        self._candidates: set[str] = set()
        self._handlers: dict[str, Callable[[Mapping[str, Any]], Iterator[Delivery]]] = {
            "candidate": self._candidate,
            "round": self._round,
            "test": self._test,
        }

    def apply(self, event: Event) -> list[Delivery]:
        """The deliveries that an event brings, most often none."""
        self.record.apply(event)
        if event.type == "usage":
            self._totals = event.data
        handler = self._handlers.get(event.type)
        made = list(handler(event.data)) if handler else []
        if event.type != "candidate":
            for delivery in made:
                self.summary.update(delivery.values)
        return made

    @property
    def status(self) -> str:
        """How the run ended; one that has not told it has failed."""
        return str((self.record.finished or {}).get("status", "failed"))

    @property
    def _step(self) -> int:
        return searched(self._reached.get("steps", {}))

    @property
    def _reached(self) -> Mapping[str, Any]:
        """What had been spent where the run stands: a resumed one tells its past again."""
        reached: Mapping[str, Any] = self._totals.get("reached", self._totals)
        return reached

    def _source(self, name: str) -> str | None:
        """The source of a policy that has not been shown yet."""
        trial = self.record.trials.get(name)
        if name == self._shown or trial is None:
            return None
        self._shown = name
        return trial.candidate.source

    def _candidate(self, data: Mapping[str, Any]) -> Iterator[Delivery]:
        key, score = data["key"], score_of(data["score"])
        if not key["round"]:
            return  # what was played without a policy
        values = {"candidate/failed": float(score.failed), **_scores("candidate", score)}
        name = Key(key["round"], key["candidate"]).name
        # It is told again with more episodes, and with notes.
        later = len(data.get("later", ()))
        told = f"candidate {name} {key['attempt']}{f' later {later}' * bool(later)}"
        if told not in self._candidates:
            self._candidates.add(told)
            step = self._step if later else self.record.trials[name].at_steps
            yield Delivery(told, step, values)

    def _round(self, data: Mapping[str, Any]) -> Iterator[Delivery]:
        best = score_of(data["best"]["score"])
        values = {
            "round/number": float(data["round"]),
            **_scores("round", score_of(data["score"])),
            **_scores("best", best),
            **self._spent(self._reached),
        }
        source = None if best.failed else self._source(data["best"]["name"])
        yield Delivery(f"round {data['round']}", self._step, values, source)

    def _test(self, data: Mapping[str, Any]) -> Iterator[Delivery]:
        test = self.record.test
        if test is None or test.score.failed:
            return
        values = {**_held_out(test), **self._spent(self._totals)}
        yield Delivery("test", self._step, values, self._source(data["name"]))

    def _spent(self, totals: Mapping[str, Any]) -> dict[str, float]:
        """What the run has cost by some totals; an unknown price is left out.

        So are calls, tokens and dollars where no model is asked.
        """
        calls = {
            "cost/usd": totals.get("cost"),
            "cost/calls": totals.get("calls"),
            "tokens/prompt": totals.get("prompt_tokens"),
            "tokens/completion": totals.get("completion_tokens"),
            "tokens/cached": totals.get("cached_tokens"),
        }
        found = {
            **(calls if self.record.asks_model else {}),
            "time/seconds": self._totals.get("elapsed"),
            **{f"steps/{stream}": count for stream, count in totals.get("steps", {}).items()},
        }
        return {name: float(value) for name, value in found.items() if value is not None}


def _scores(group: str, score: Score) -> dict[str, float]:
    """The values of a score that there are; none of a failure."""
    items = (score_data(score) or {}).items()
    return {f"{group}/{name}": float(value) for name, value in items if value is not None}


def _held_out(test: Rollout) -> dict[str, float]:
    values = _scores("test", test.score)
    intervals = {
        "test/mean_return": test.return_interval,
        "test/success_rate": test.success_interval,
    }
    for name, interval in intervals.items():
        if interval is not None:
            values |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return values
