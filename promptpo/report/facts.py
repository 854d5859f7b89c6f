"""The figures of a run in a few words: what it cost, how long it took, how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptpo.common import text
from promptpo.report.figures import measures
from promptpo.stats import Interval
from promptpo.store.run import Run
from promptpo.types import Rollout
from promptpo.ui.summary import isolation_words


@dataclass(frozen=True)
class Fact:
    """One tile: a label, a figure, and a line below it."""

    label: str
    figure: str
    note: str = ""


def facts(run: Run) -> list[Fact]:
    """Cost and tokens where a model is asked; steps, candidates and time."""
    usage = run.usage
    total = sum(usage.steps.values())
    failed = sum(t.state == "failed" for t in run.policies)
    rounds = sum(r.done for r in run.round_records)
    wanted = run.settings.get("rounds", rounds)
    calls = f", {usage.calls:,} {'reply' if usage.calls == 1 else 'replies'}"
    time, done = text.duration(run.elapsed), f"{rounds} of {text.plural(wanted, 'round')}"
    asks = run.asks_model and not run.given
    paid = [Fact("Cost", *_cost(run)), Fact("Tokens", *_tokens(run))]
    return [
        *(paid if asks else []),
        Fact("Environment steps", f"{total:,}", text.steps(usage.steps, test="held-out")),
        Fact(
            "Candidates",
            f"{len(run.policies):,}",
            f"{failed:,} failed{calls if asks else ''}",
        ),
        Fact("Time", time, done),
    ]


def _cost(run: Run) -> tuple[str, str]:
    if run.replayed:
        return "$0.00", "replies were replayed"
    if run.synthesized:
        return "$0.00", "no language model"
    cost = run.usage.cost
    return ("unknown", "a price is not known") if cost is None else (text.money(cost), "")


def _tokens(run: Run) -> tuple[str, str]:
    sent, received = run.usage.prompt_tokens, run.usage.completion_tokens
    if run.replayed:
        return "0", "replies were replayed"
    if run.synthesized:
        return "0", "no language model"
    if sent is None or received is None:
        return "unknown", "the provider does not count all"
    cached = run.usage.cached_tokens
    read = "" if cached is None else f" ({cached:,} from the provider's cache)"
    return f"{sent + received:,}", f"{sent:,} in{read}, {received:,} out"


def settings(run: Run) -> list[tuple[str, list[tuple[str, str]]]]:
    """Settings that have a value, versions, and the sandbox, as groups of labelled lines."""
    given = {k: v for k, v in run.settings.items() if v is not None and k != "out"}
    isolation = isolation_words(run.header.get("isolation"))
    return [
        ("Settings", _lines(given)),
        ("Versions", _lines(run.header.get("versions", {}))),
        ("Sandbox", [("isolation", isolation)] if isolation else []),
    ]


def _lines(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), _shown(value)) for name, value in values.items()]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text.number(value) if isinstance(value, int | float) else str(value)


def figures(rollout: Rollout | None) -> list[Fact]:
    """Success rate, if the task has one, and mean return; each with how sure it is."""
    if rollout is None or rollout.error is not None or not rollout.returns:
        return []
    found = []
    for title, value, interval in measures(rollout.score.success_rate is not None):
        number = value(rollout.score)
        form = ".2f" if title == "Success rate" else ""
        if number is not None:
            words = f"{number:.2f}" if form else text.number(number)
            found.append(Fact(title.lower(), words, _sure(rollout, interval(rollout), form)))
    return found


def _sure(rollout: Rollout, interval: Interval | None, form: str) -> str:
    count = len(rollout.returns)
    if interval is None:
        return f"{text.plural(count, 'episode')}: too few for an interval"
    if interval.low == interval.high:
        return f"in every one of {count} episodes"
    ends = [f"{v:{form}}" if form else text.number(v) for v in (interval.low, interval.high)]
    return f"{interval.level:.0%} interval {' to '.join(ends)}, {count} episodes"
