"""The events of a run, in their order, as the views receive them."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from promptpo.config import RunConfig
from promptpo.store.codec import encode
from promptpo.store.events import FORMAT, Event
from promptpo.tuning import TuningAccount
from promptpo.types import Episode, Preparation, Rollout, Stream
from promptpo.ui.plain import PlainView
from promptpo.ui.progress import WatchedRun
from promptpo.ui.status import JsonView

START = 1_000_000.0


def key(role: str = "", round_: int = 0, candidate: int = 0, attempt: int = 0) -> dict[str, Any]:
    return {"round": round_, "candidate": candidate, "attempt": attempt, "role": role}


def run(folder: Path | str, model: str | None = "openai/gpt-5", **settings: Any) -> Event:
    data = {
        "format": FORMAT,
        "folder": str(folder),
        "config": RunConfig(spec="reach", model=model, **settings).as_dict(),
        "spec": {
            "name": "reach",
            "title": "Reach a goal",
            "horizon": 500,
            "references": {
                "random": {"mean_return": 798.2, "success_rate": 0.01},
                "expert": {"mean_return": 4839.0, "success_rate": 1.0},
            },
        },
        "model": model,
        "isolation": {
            "level": "reduced",
            "protections": {"seccomp": "on", "Landlock": "no kernel"},
        },
    }
    return Event("run", data, START, transient=True)


def reply(role: str, time: float, round_: int = 0, candidate: int = 0) -> Event:
    data = {"key": key(role, round_, candidate), "text": "x", "model": "openai/gpt-5"}
    return Event("reply", {**data, "prompt_sha256": "", "note": ""}, START + time)


def rollout(
    round_: int,
    index: int,
    returns: list[float],
    time: float,
    stream: Stream = "search",
    error: str | None = None,
) -> Event:
    episodes = tuple(Episode(i, r, 500, r > 1000) for i, r in enumerate(returns))
    steps = 500 * max(len(returns), 1)
    run = Rollout(stream, tuple(range(max(len(returns), 1))), episodes, steps, error=error)
    data = {"key": key("", round_, index), "digest": digest(round_, index, stream)}
    return Event("rollout", {**data, **encode(run)}, START + time)


def digest(round_: int, index: int, stream: Stream = "search") -> str:
    return f"{stream} {round_} {index}"


def candidate(
    round_: int, index: int, time: float, error: str | None = None, of: str | None = None
) -> Event:
    """A candidate; ``of`` is the digest of its rollout where another played it."""
    score = None if error else {"mean_return": 700.0, "success_rate": 0.0}
    data = {
        "key": key("", round_, index),
        "kind": "policy",
        "parents": [],
        "notes": [],
        "source": "class Policy: ...",
        "error": error,
        "score": score,
        "rollout": of or digest(round_, index),
    }
    return Event("candidate", data, START + time)


def state(round_: int, index: int, name: str, time: float) -> Event:
    data = {"name": f"r{round_:02d}_c{index:02d}", "state": name}
    return Event("state", data, START + time, transient=True)


def usage(time: float, **data: Any) -> Event:
    values = {
        "calls": 12,
        "prompt_tokens": 34_120,
        "completion_tokens": 8_200,
        "cost": 0.1234,
        "steps": {"search": 42_500, "selection": 0, "test": 0},
    }
    return Event("usage", {**values, **data}, START + time, transient=True)


def round_end(number: int, winner: str, best: str, time: float, rate: float = 0.6) -> Event:
    score = {"mean_return": 3305.9, "success_rate": rate}
    data = {"round": number, "winner": winner, "score": score, "notes": []}
    return Event("round", {**data, "best": {"name": best, "score": score}}, START + time)


def one_round(folder: Path | str, candidates: int = 4, **settings: Any) -> Iterator[Event]:
    """From the start to the end of round 1 of 5: one candidate fails, the others score."""
    yield run(folder, candidates=candidates, **settings)
    yield Event("prompt", {"key": key("feedback"), "messages": []}, START + 1)
    yield reply("feedback", 3)
    for i in range(1, candidates + 1):
        yield state(1, i, "asked", 4)
        yield Event("prompt", {"key": key("policy", 1, i), "messages": []}, START + 4)
    for i in range(1, candidates + 1):
        yield reply("policy", 8, 1, i)
        yield state(1, i, "rolling out", 8)
        if i == 2:
            error = (
                "Traceback (most recent call last):\n  line 3, in act\nValueError: no " + "x" * 99
            )
            yield rollout(1, i, [], 10, error=error)
            yield candidate(1, i, 10, error)
            yield state(1, i, "failed", 10)
        else:
            yield rollout(1, i, [500.0 * i, 900.0 * i], 10)
            yield candidate(1, i, 10)
            yield state(1, i, "scored", 10)
    yield usage(10)
    yield round_end(1, "r01_c04", "r01_c04", 10)


def the_end(folder: Path | str) -> Iterator[Event]:
    """Selection, held-out episodes, the end."""
    names = ["r01_c04", "r02_c01"]
    yield Event("state", {"state": "selecting", "finalists": names}, START + 20, True)
    yield rollout(1, 4, [3000.0] * 4, 21, stream="selection")
    yield Event("selection", {"finalists": [], "winner": "r01_c04"}, START + 22)
    yield Event("state", {"state": "testing", "finalists": ["r01_c04"]}, START + 22, True)
    yield rollout(1, 4, [3000.0] * 48 + [500.0] * 2, 30, stream="test")
    yield Event("test", {"name": "r01_c04", "digest": digest(1, 4, "test")}, START + 30)
    yield usage(30, steps={"search": 42_500, "selection": 2_000, "test": 25_000})
    data = {"status": "finished", "reason": "all rounds are done", "best": "r01_c04"}
    yield Event("finished", {**data, "score": None}, START + 31)


def prepared(index: int, time: float, done: Preparation, *, transient: bool = False) -> Event:
    data = {"key": key("", 1, index), **encode(done)}
    return Event("prepared", data, START + time, transient=transient)


def tuning_state(steps: int, time: float) -> Event:
    score = {"mean_return": 480.0, "success_rate": None, "failed": False}
    data = {"name": "r01_c01", "steps": steps, "budget": 30_000, "score": score}
    more = {"generations": 1, "constants": 4, "seconds_left": 40.0}
    return Event("tuning_state", {**data, **more}, START + time, transient=True)


def tuned(time: float, account: TuningAccount) -> Event:
    return Event("tuned", {"key": key("", 1, 1), "budget": 30_000, **encode(account)}, START + time)


def before_tuning() -> Iterator[Event]:
    yield run("runs/x", candidates=1, rounds=1, tune=True, tune_steps=30_000)
    yield rollout(1, 1, [9.0, 9.0], 2)
    yield candidate(1, 1, 2)
    yield state(1, 1, "tuning", 3)


def watched(*events: Event) -> WatchedRun:
    watched_run = WatchedRun()
    for event in events:
        watched_run.apply(event)
    return watched_run


def plain(*events: Event) -> list[str]:
    """The lines of a log."""
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in events:
            view(event)
    return stream.getvalue().splitlines()


def as_json(*events: Event) -> list[dict[str, Any]]:
    """The lines of a run with ``--json``."""
    stream = io.StringIO()
    with JsonView(stream) as view:
        for event in events:
            view(event)
    return [json.loads(line) for line in stream.getvalue().splitlines()]
