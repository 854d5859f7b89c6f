"""Run folders written as a run writes them, with numbers of a test's choice."""

import json
from dataclasses import asdict

from promptpo.config import RunConfig
from promptpo.store.events import EventLog
from promptpo.types import Rollout

REFERENCES = {
    "random": {"mean_return": 20.0, "success_rate": 0.0, "deviation": None},
    "expert": {"mean_return": 95.0, "success_rate": 1.0, "deviation": None},
}


def rollout(stream, seeds, returns, successes=None):
    count = len(returns)
    hits = (None,) * count if successes is None else tuple(successes)
    return Rollout(stream, tuple(seeds), tuple(returns), (100,) * count, hits, 100 * count)


def score_of(run):
    return {"mean_return": run.score.mean_return, "success_rate": run.score.success_rate}


def written_run(out, *, search=(10.0, 50.0), test=None, **rest):
    """A run of one candidate per round: ``search`` are its scores (None: it failed).

    ``test`` are the held-out returns, on seeds that the run's seed decides or on ``test_seeds``.
    With ``successes`` every number is also an episode that succeeds where it is at least 50.
    What is none of these is a setting.
    """
    how = {"test_seeds": None, "successes": False, "cost": 0.01, "status": "finished",
           "spec": "toy", "sha": "0" * 16}  # fmt: skip
    how |= {name: rest.pop(name) for name in list(rest) if name in how and name != "spec"}
    how["spec"] = rest.setdefault("spec", "toy")
    config = RunConfig(**{"model": "openai/a", **rest}).as_dict()
    number = len(list(out.glob(f"{how['spec']}/*")))
    folder = out / how["spec"] / f"20260101-{number:06d}"
    folder.mkdir(parents=True)
    about = {"name": how["spec"], "title": "A toy.", "sha": how["sha"], "horizon": 100,
             "references": REFERENCES}  # fmt: skip
    log = EventLog(folder / "events.jsonl")
    log.emit("run", config=config, spec=about, model=config["model"], isolation=None)
    best = written_rounds(log, search, config["model"], how)
    if test is not None:
        seeds = how["test_seeds"] or range(1000 * config["seed"], 1000 * config["seed"] + len(test))
        hits = [x >= 50 for x in test] if how["successes"] else None
        place = {"round": int(best[1:3]), "index": 1, "attempt": 0}
        log.emit("rollout", **place, source_sha="x", **asdict(rollout("test", seeds, test, hits)))
    info = {"config": config, "status": how["status"], "reason": "so it was", "seconds": 1.0}
    if how["status"] == "finished":
        log.emit("finished", status="finished", reason="so it was", best=best, score=None)
    log.close()
    (folder / "run.json").write_text(json.dumps(info))
    return folder


def written_rounds(log, search, model, how):
    """Write the events of all rounds; returns the name of the best candidate, or None."""
    best, highest = None, float("-inf")
    for round_, value in enumerate(search, 1):
        place = {"round": round_, "index": 1, "attempt": 0}
        log.emit(
            "reply", key={"role": "policy", "round": round_, "candidate": 1, "attempt": 0},
            prompt_sha256="", text="", model=model, cost=how["cost"], finish_reason="stop",
            usage={"prompt_tokens": 10, "completion_tokens": 5}, latency=1.0,
        )  # fmt: skip
        score, error = None, "it does not parse"
        if value is not None:
            hits = [value >= 50] if how["successes"] else None
            played = rollout("search", [round_], [value], hits)
            score, error = score_of(played), None
            log.emit("rollout", **place, source_sha="x", **asdict(played))
            if value > highest:
                best, highest = f"r{round_:02d}_c01", value
        log.emit("candidate", **place, source="class Policy: ...", error=error, score=score)
        ends = {"name": best or "r01_c01", "score": score and {"mean_return": highest}}
        name = f"r{round_:02d}_c01"
        log.emit("round", round=round_, winner=name, score=score, best=ends, reflection="")
    return best
