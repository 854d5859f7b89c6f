"""How a run stands, for readers: from ``run.json``, and from the log where that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpo.errors import RunError
from promptpo.store.events import elapsed, read_log
from promptpo.store.folder import RunFolder
from promptpo.types import Event

#: Events that change nothing about how a run stands.
_ASIDE = ("resumed", "notice", "run")


@dataclass(frozen=True)
class Standing:
    """``info``, as ``run.json`` has it, and ``problem``, one line on what could not be read."""

    info: Mapping[str, Any]
    problem: str = ""


def standing(folder: RunFolder) -> Standing:
    """How a run stands. Raises RunError or FileError where neither of its files can be read."""
    problem = ""
    try:
        if info := folder.read_info():
            return Standing(info)
    except RunError as e:
        problem = f"{e}; this is from the log"
    return Standing(info_of(read_log(folder.events).events), problem)


def configs_of(events: Sequence[Event]) -> list[Mapping[str, Any]]:
    """The settings of each session, the latest last."""
    return [e.data["config"] for e in events if e.type in ("run", "resumed")]


def run_of(events: Sequence[Event], info: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first event of a run, or where it is lost, what ``run.json`` has of it."""
    for event in events:
        if event.type == "run":
            return event.data
    if not info.get("config"):
        return {}
    spec = {"name": info.get("spec", ""), "title": info.get("title", ""), "sha": ""}
    spec["references"] = info.get("references") or {}
    return {**{k: info.get(k) for k in ("config", "model", "versions", "isolation")}, "spec": spec}


def info_of(events: Sequence[Event]) -> dict[str, Any]:
    """What ``run.json`` would say, as far as the log tells."""
    last = {event.type: event.data for event in events}
    done = [event.type for event in events if event.type not in _ASIDE]
    finished = last.get("finished", {}) if done[-1:] == ["finished"] else {}
    run, configs = run_of(events, {}), configs_of(events)
    info: dict[str, Any] = {
        **{k: v for k, v in run.items() if k != "spec"},
        "config": configs[-1] if configs else {},
        "spec": run["spec"]["name"] if run else "",
        "title": run["spec"].get("title", "") if run else "",
        "references": run["spec"].get("references") if run else {},
        "status": finished.get("status", "running"),
        "reason": finished.get("reason", ""),
        "seconds": round(elapsed(events), 1),
    }
    best = last.get("round", {}).get("best", {})
    name = finished.get("best") or last.get("test", {}).get("name") or best.get("name")
    scores = {
        f"r{e.data['round']:02d}_c{e.data['index']:02d}": e.data["score"]
        for e in events
        if e.type == "candidate"
    }
    if name is not None and scores.get(name) is not None:
        info["best"] = {"name": name, "search": scores[name]}
    if "test" in last:
        info["test"] = {k: v for k, v in last["test"].items() if k != "name"}
    return info
