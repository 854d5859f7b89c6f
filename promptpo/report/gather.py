"""Reads a run's folder; nothing is written, and a run that is going on may be read at any time."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptpo.errors import RunError
from promptpo.llm.recording import reply_from_event
from promptpo.report.records import LIVE, Call, FieldColumns, RoundRecord, RunRecord, Trial
from promptpo.store.events import elapsed, read_log
from promptpo.store.folder import RunFolder
from promptpo.store.past import proof_from_event, rollout_from_event
from promptpo.store.standing import configs_of, run_of, standing
from promptpo.types import CallKey, Candidate, Event, Message, Proof, Reply, Rollout, Stream
from promptpo.ui.text import near_path
from promptpo.usage import Tally


def gather(path: Path) -> RunRecord:
    """Everything that a report shows of the run in ``path``.

    Raises RunError where there is no run, or its files cannot be read.
    """
    folder = RunFolder.open(path)
    contents, stands = read_log(folder.events), standing(folder)
    damaged = contents.words(folder.events.name)
    remedy = f"`promptpo repair {near_path(path)}` puts it right"
    unread = tuple(f"{text}; {remedy}" for text in (damaged, stands.problem) if text)
    try:
        return _record(folder, contents.events, stands.info, unread)
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        raise RunError(
            f"{folder.events}: an event does not hold what a report needs"
            f" ({type(e).__name__}: {e}); was it written by another version of promptpo?"
        ) from None


def _record(
    folder: RunFolder, events: Sequence[Event], info: Mapping[str, Any], unread: tuple[str, ...]
) -> RunRecord:
    log = _Log(events)
    run = run_of(events, info)
    if not run:  # killed before its first line was whole
        raise RunError(f"{folder.events}: no run is recorded in it; start a new one")
    finished = log.last("finished")
    best, test = log.best(finished)
    status = _status(folder, info, finished)
    seconds, since = _clock(status, info, events)
    return RunRecord(
        folder=folder.path.resolve(),
        status=status,
        reason=str(info.get("reason") or finished.get("reason") or ""),
        run=run,
        config=(configs_of(events) or [run["config"]])[-1],
        info=info,
        rounds=log.rounds(),
        best=best,
        test=test,
        selection=log.last("selection").get("finalists", ()),
        usage=Tally.of(events).usage,
        seconds=seconds,
        since=since,
        opening=tuple(c for c in log.calls.values() if c.key.round == 0),
        notices=(*(str(e.data["text"]) for e in events if e.type == "notice"), *unread),
        unread=unread,
        fields=_fields(run),
        videos=tuple(sorted((folder.path / "videos").glob("*.mp4"))),
        proof=log.proofs.get(best or ""),
    )


class _Log:
    """The events of a run, by what they are about; the last word on a thing holds."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.calls = _calls(events)
        self.attempts: dict[tuple[int, int], Mapping[str, Any]] = {}
        self.played: dict[tuple[Stream, int, int], Rollout] = {}
        self.proofs: dict[str, Proof] = {}
        self.at_steps: dict[tuple[int, int], int] = defaultdict(int)
        self.steps: dict[Stream, int] = {"search": 0, "selection": 0, "test": 0}
        for event in events:
            if event.type == "rollout":
                self._add_rollout(event.data)
            elif event.type == "proof":
                name = Candidate(event.data["round"], event.data["index"], None).name
                self.proofs[name] = proof_from_event(event.data)
            elif event.type == "candidate":
                place = (event.data["round"], event.data["index"])
                self.attempts[place] = event.data
                self.at_steps[place] = self.steps["search"]

    def _add_rollout(self, data: Mapping[str, Any]) -> None:
        rollout = rollout_from_event(data)
        self.played[(rollout.stream, data["round"], data["index"])] = rollout
        self.steps[rollout.stream] += rollout.steps

    def last(self, kind: str) -> Mapping[str, Any]:
        return next((e.data for e in reversed(self.events) if e.type == kind), {})

    def best(self, finished: Mapping[str, Any]) -> tuple[str | None, Rollout | None]:
        """The policy that stands, so far or in the end, and its held-out episodes."""
        if test := self.last("test"):
            return test["name"], rollout_from_event(test)
        tests = [(k, r) for k, r in self.played.items() if k[0] == "test"]
        if tests:  # a log of an older version
            (_, round_, index), rollout = tests[-1]
            return Candidate(round_, index, None).name, rollout
        last_round = self.last("round").get("best") or {}
        so_far = last_round.get("name") if last_round.get("score") else None
        return finished.get("best") or self.last("selection").get("winner") or so_far, None

    def rounds(self) -> tuple[RoundRecord, ...]:
        """All rounds that have begun, in order."""
        asked = {(k.round, k.candidate) for k in self.calls if k.round and k.candidate}
        places = sorted(asked | set(self.attempts))
        numbers = sorted({number for number, _ in places})
        ends = {e.data["round"]: e.data for e in self.events if e.type == "round"}
        return tuple(
            self._round(n, [index for number, index in places if number == n], ends.get(n))
            for n in numbers
        )

    def _round(
        self, number: int, indices: Iterable[int], end: Mapping[str, Any] | None
    ) -> RoundRecord:
        trials = tuple(self._trial(number, index) for index in indices)
        winner = None
        if end and end.get("score"):
            winner = next((t for t in trials if t.name == end["winner"]), None)
        told = self._feedback(winner)
        # The reflection on the round before opens this one; a repair of Feedback closes it.
        own = {("reflection", number - 1), ("feedback_repair", number)}
        return RoundRecord(
            number=number,
            trials=trials,
            done=end is not None,
            winner=winner,
            reflection=str(end.get("reflection") or "") if end else "",
            feedback=tuple(map(str, told.get("texts", ()))),
            feedback_by=str(told.get("by", "")),
            calls=tuple(c for c in self.calls.values() if (c.key.role, c.key.round) in own),
        )

    def _feedback(self, winner: Trial | None) -> Mapping[str, Any]:
        if winner is None:
            return {}
        place = (winner.candidate.round, winner.candidate.index)
        told = [
            e.data
            for e in self.events
            if e.type == "feedback" and (e.data["round"], e.data["index"]) == place
        ]
        good = [data for data in told if not data.get("error")]
        return good[-1] if good else {}

    def _trial(self, round_: int, index: int) -> Trial:
        place = (round_, index)
        calls = tuple(c for c in self.calls.values() if (c.key.round, c.key.candidate) == place)
        data = self.attempts.get(place)
        if data is None:
            state = "playing" if any(c.reply for c in calls) else "asked"
            return Trial(Candidate(round_, index, None), state, 0, calls)
        rollout = self.played.get(("search", round_, index)) if data["source"] else None
        candidate = Candidate(
            round_, index, data["source"], rollout, data["error"], repairs=data["attempt"]
        )
        state = "failed" if candidate.score.failed else "scored"
        return Trial(candidate, state, self.at_steps[place], calls)


def _calls(events: Sequence[Event]) -> dict[CallKey, Call]:
    calls: dict[CallKey, Call] = {}
    for event in events:
        if event.type == "prompt":
            key = CallKey.of(event.data["key"])
            messages = tuple(Message(m["role"], m["content"]) for m in event.data["messages"])
            calls[key] = Call(key, messages)
        elif event.type == "reply":
            key, recorded = reply_from_event(dict(event.data))
            reply: Reply = recorded.reply
            calls[key] = replace(calls.get(key, Call(key)), reply=reply)
    return calls


def _status(folder: RunFolder, info: Mapping[str, Any], finished: Mapping[str, Any]) -> str:
    status = str(info.get("status") or finished.get("status") or LIVE)
    return "killed" if status == LIVE and not folder.is_running else status


def _clock(
    status: str, info: Mapping[str, Any], events: Sequence[Event]
) -> tuple[float, float | None]:
    """The seconds that a run took, and while it goes on, since when they count."""
    logged = elapsed(events)
    if status != LIVE:
        return float(info["seconds"]) if info.get("ended") else logged, None
    since = events[-1].time - logged  # it goes on after its last event, waiting for a reply, say
    return max(logged, time.time() - since), since


def _fields(run: Mapping[str, Any]) -> tuple[FieldColumns, ...]:
    start = 0
    columns = []
    for item in run.get("spec", {}).get("observation", ()):
        stop = start + math.prod(item["shape"])
        columns.append(FieldColumns(item["name"], item["unit"], start, stop))
        start = stop
    return tuple(columns)
