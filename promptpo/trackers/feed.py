"""What trackers are told of a run: its events, turned into deliveries.

Names follow what is usual: ``GROUP/VALUE``, over the environment steps of search.

    candidate/   mean_return, success_rate, failed (0 or 1): every policy that was written
    round/       mean_return, success_rate of the round's winner, and number
    best/        mean_return, success_rate of the best so far, by search episodes
    test/        mean_return, success_rate of held-out episodes, each with _low and _high (95%);
                 marked: 1 where a proof found that the policy depends on other episodes, else 0
    cost/        usd (where all prices are known), calls
    tokens/      prompt, completion
    steps/       search, selection, test
    time/        seconds
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from promptpo.trackers.base import Delivery
from promptpo.types import Event


class Feed:
    """Folds the events of a run; ``summary`` has the latest values of all but single candidates."""

    def __init__(self) -> None:
        self.summary: dict[str, float] = {}
        self.status = "failed"  # until the run tells how it ended
        self._usage: Mapping[str, Any] = {}
        self._sources: dict[str, str] = {}
        self._shown = ""
        self._handlers: dict[str, Callable[[Mapping[str, Any]], Iterator[Delivery]]] = {
            "candidate": self._candidate,
            "round": self._round,
            "test": self._test,
        }

    def apply(self, event: Event) -> list[Delivery]:
        """The deliveries that an event brings, most often none."""
        if event.type == "usage":
            self._usage = event.data
        elif event.type == "finished":
            self.status = event.data["status"]
        handler = self._handlers.get(event.type)
        made = list(handler(event.data)) if handler else []
        if event.type != "candidate":
            for delivery in made:
                self.summary.update(delivery.values)
        return made

    @property
    def _step(self) -> int:
        return int(self._reached.get("steps", {}).get("search", 0))

    @property
    def _reached(self) -> Mapping[str, Any]:
        """What had been spent where the run stands: a resumed one tells its past again."""
        reached: Mapping[str, Any] = self._usage.get("reached", self._usage)
        return reached

    def _candidate(self, data: Mapping[str, Any]) -> Iterator[Delivery]:
        name = f"r{data['round']:02d}_c{data['index']:02d}"
        if data["source"] is not None:
            self._sources[name] = data["source"]
        failed = data["score"] is None
        values = {"candidate/failed": float(failed), **_scores("candidate", data["score"])}
        alone = " alone" if data.get("mark") else ""  # it is told again, with another score
        yield Delivery(f"candidate {name} {data['attempt']}{alone}", self._step, values)

    def _round(self, data: Mapping[str, Any]) -> Iterator[Delivery]:
        best = data["best"]
        values = {
            "round/number": float(data["round"]),
            **_scores("round", data["score"]),
            **_scores("best", best["score"]),
            **self._spent(self._reached),
        }
        source = None
        if best["score"] is not None and best["name"] != self._shown:
            self._shown = best["name"]
            source = self._sources.get(best["name"])
        yield Delivery(f"round {data['round']}", self._step, values, source)

    def _test(self, data: Mapping[str, Any]) -> Iterator[Delivery]:
        if data["error"] is not None:
            return
        held_out, spent = _held_out(data["returns"], data["successes"]), self._spent(self._usage)
        values = {**held_out, "test/marked": float(bool(data.get("mark"))), **spent}
        source = None if data["name"] == self._shown else self._sources.get(data["name"])
        yield Delivery("test", self._step, values, source)

    def _spent(self, u: Mapping[str, Any]) -> dict[str, float]:
        """What the run has cost by some totals; an unknown price is left out."""
        found = {
            "cost/usd": u.get("cost"),
            "cost/calls": u.get("calls"),
            "tokens/prompt": u.get("prompt_tokens"),
            "tokens/completion": u.get("completion_tokens"),
            "time/seconds": self._usage.get("elapsed"),
            **{f"steps/{stream}": count for stream, count in u.get("steps", {}).items()},
        }
        return {name: float(value) for name, value in found.items() if value is not None}


def _scores(group: str, score: Mapping[str, Any] | None) -> dict[str, float]:
    """The values of a score that there are; none of a failure."""
    items = (score or {}).items()
    return {f"{group}/{name}": float(value) for name, value in items if value is not None}


def _held_out(returns: list[float], successes: list[bool | None]) -> dict[str, float]:
    from promptpo.stats import mean_interval, success_interval

    values = {"test/mean_return": sum(returns) / len(returns)}
    intervals = {"test/mean_return": mean_interval(returns)}
    if successes and successes[0] is not None:
        met = sum(map(bool, successes))
        values["test/success_rate"] = met / len(successes)
        intervals["test/success_rate"] = success_interval(met, len(successes))
    for name, interval in intervals.items():
        if interval is not None:
            values |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return values
