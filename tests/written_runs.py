"""Run folders written as a run writes them, with numbers of a test's choice."""

import json

from promptpo.config import RunConfig
from promptpo.methods import find_method
from promptpo.outcomes import Terms
from promptpo.store.codec import encode, score_data
from promptpo.store.events import FORMAT, EventLog
from promptpo.types import Candidate, Episode, Key, Rollout

REFERENCES = {
    "random": {"mean_return": 20.0, "success_rate": 0.0, "deviation": None},
    "expert": {"mean_return": 95.0, "success_rate": 1.0, "deviation": None},
}


def rollout(stream, seeds, returns, successes=None, objective="mean"):
    hits = [None] * len(returns) if successes is None else successes
    rows = zip(seeds, returns, hits, strict=True)
    episodes = tuple(Episode(seed, value, 100, hit) for seed, value, hit in rows)
    terms = {} if objective == "mean" else {"terms": Terms(objective)}
    return Rollout(stream, tuple(seeds), episodes, 100 * len(returns), **terms)


def written_run(out, *, search=(10.0, 50.0), test=None, **rest):
    """A run of one candidate per round: ``search`` are its scores (None: it failed).

    ``test`` are the held-out returns, on seeds that the run's seed decides or on ``test_seeds``.
    With ``successes`` every number is also an episode that succeeds where it is at least 50.
    Before each candidate come ``tuning`` steps of tuning. ``ranks`` is the objective of the spec.
    What is none of these is a setting.
    """
    how = {"test_seeds": None, "successes": False, "cost": 0.01, "status": "finished",
           "spec": "toy", "sha": "0" * 16, "has_facts": False, "twin_of": "",
           "tuning": 0, "ranks": "mean"}  # fmt: skip
    how |= {name: rest.pop(name) for name in list(rest) if name in how and name != "spec"}
    how["spec"] = rest.setdefault("spec", "toy")
    config = settings(**{"model": "openai/a", **rest})
    number = len(list(out.glob(f"{how['spec']}/*")))
    folder = out / how["spec"] / f"20260101-{number:06d}"
    folder.mkdir(parents=True)
    about = {"name": how["spec"], "title": "A toy.", "sha": how["sha"], "horizon": 100,
             "references": REFERENCES, "facts": how["has_facts"],
             "twin_of": how["twin_of"]}  # fmt: skip
    log = EventLog(folder / "events.jsonl")
    log.emit("run", format=FORMAT, config=config, spec=about, model=config["model"], isolation=None)
    best = written_rounds(log, search, config["model"], how)
    if test is not None:
        seeds = how["test_seeds"] or range(1000 * config["seed"], 1000 * config["seed"] + len(test))
        hits = [x >= 50 for x in test] if how["successes"] else None
        played = rollout("test", list(seeds), test, hits, how["ranks"])
        log.emit("rollout", key=encode(Key.named(best)), digest="held-out", **encode(played))
        log.emit("test", name=best, digest="held-out")
    info = {"config": config, "status": how["status"], "reason": "so it was", "seconds": 1.0}
    if how["status"] == "finished":
        log.emit("finished", status="finished", reason="so it was", best=best, score=None)
    log.close()
    (folder / "run.json").write_text(json.dumps(info))
    return folder


def tuned_samples(number, steps):
    """What two vectors of constants have played for tuning, in so many steps."""
    half = {"returns": [1.0], "lengths": [steps // 2], "successes": [None], "steps": steps // 2,
            "error": None, "bound": None, "pace": None}  # fmt: skip
    return {"digest": f"tuning {number}", "seeds": [number], "runs": [half, half]}


def settings(method="promptpo", **rest):
    """The settings of a run as it writes them down, the method's own under ``options``."""
    kind = find_method(method).Options
    own = {name: rest.pop(name) for name in list(rest) if name in kind.__dataclass_fields__}
    return RunConfig(method=method, options=kind(**own), **rest).as_dict()


def written_rounds(log, search, model, how):
    """Write the events of all rounds; returns the name of the best candidate, or None."""
    best, highest = None, float("-inf")
    for round_, value in enumerate(search, 1):
        key, digest = Key(round_, 1), f"round {round_}"
        if model is not None:
            log.emit(
                "reply", key=encode(Key(round_, 1, role="policy")), prompt_sha256="", text="",
                model=model, cost=how["cost"], finish_reason="stop",
                usage={"prompt_tokens": 10, "completion_tokens": 5}, latency=1.0,
            )  # fmt: skip
        candidate = Candidate(key, "class Policy: ...", error="it does not parse")
        if how["tuning"]:
            log.emit("tuning", key=encode(key), **tuned_samples(round_, how["tuning"]))
        if value is not None:
            hits = [value >= 50] if how["successes"] else None
            played = rollout("search", [round_], [value], hits, how["ranks"])
            candidate = Candidate(key, "class Policy: ...", played)
            log.emit("rollout", key=encode(key), digest=digest, **encode(played))
            if value > highest:
                best, highest = key.name, value
        score = score_data(candidate.score)
        written = {**encode(candidate), "rollout": digest if value is not None else None}
        log.emit("candidate", **written, score=score)
        ends = {"name": best or "r01_c01", "score": score and {"mean_return": highest}}
        log.emit("round", round=round_, winner=key.name, score=score, best=ends, notes=[])
    return best
