"""A run in words: rows before and after it, and one line for each event that matters.

Logs and pipes get just these lines.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self, TextIO

from msgspec import UNSET

from promptpo.common import text
from promptpo.common.lives import life_of, whole
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import STATUS, say
from promptpo.common.text import success_count
from promptpo.config import AUTO
from promptpo.store.codec import decode
from promptpo.store.events import Event
from promptpo.store.run import USUAL_METHOD, Run
from promptpo.tuning import Standpoint, TuningAccount
from promptpo.types import Key, Preparation, Rollout
from promptpo.ui.progress import View, WatchedRun

#: A label and what stands beside it.
Row = tuple[str, str]


class PlainView(View):
    """A view that writes lines to ``stream``, and the closing summary when it is left."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream

    def __enter__(self) -> Self:
        STATUS.show(self._waiting, lines=True)
        return self

    def __exit__(self, *error: object) -> None:
        STATUS.end()
        if self.run.header:
            self._write("")
            self._rows(closing(self.run))

    def __call__(self, event: Event) -> None:
        """Take note of one event, and write its line, if it has one."""
        super().__call__(event)
        if event.type == "run":
            self._rows(opening(self.run))
            self._write("")
        if line := event_line(event, self.run):
            self._write(f"{text.duration(event.time - self.run.started):>7}  {line}")

    def _waiting(self) -> str:
        """Return the line for those who have read nothing for a while."""
        stamp = text.duration(time.time() - self.run.started) if self.run.started else ""
        return f"{stamp:>7}  {words}" if (words := self.activity()) else ""

    def _rows(self, rows: Iterable[Row]) -> None:
        for label, words in rows:
            self._write(f"{label:11}  {words}")

    def _write(self, line: str) -> None:
        say(clean_line(line.rstrip()), self.stream)


def event_line(event: Event, run: WatchedRun) -> str:  # noqa: PLR0911 - a case for each type
    """Return the line of a log on an event, without the time; empty where there is none."""
    data = event.data
    match event.type:
        case "resumed":
            return f"resumed: {text.plural(data.get('events', 0), 'event')} are on record already"
        case "notice":
            return str(data["text"])
        case "reply":
            return _reply(decode(Key, data["key"]))
        case "prepared" if data["error"] is None:  # an error is stated by its candidate
            done = decode(Preparation, data)
            on = f"{done.episodes:,} episodes, {done.transitions:,} transitions"
            return f"{_name(data)}  prepared in {done.seconds:.3g} s on {on}"
        case "rollout":
            rollout = decode(Rollout, data)
            stream = {"search": "", "test": "held-out "}.get(rollout.stream, f"{rollout.stream} ")
            return f"{_name(data)}  {stream}{_outcome(rollout)}{_occasion(data, run)}"
        case "candidate":
            return _candidate(data, run)
        case "feedback" if data["error"]:
            fallback = "" if data["by"] == "model" else "; the built-in summary takes over"
            return f"the Feedback class failed: {text.gist(data['error'])}{fallback}"
        case "tuned":
            return f"{_name(data)}  tuning {outcome_words(run.tuned[_name(data)])}"
        case "round":
            return _round(data, run)
        case "state" if data["state"] == "selecting":
            winners = run.finalists_words == "winners"
            who = "the winners of the rounds meet again" if winners else "the finalists meet"
            return f"{who}: {', '.join(data['finalists'])}"
        case "state" if data["state"] == "testing":
            return f"held-out episodes of {', '.join(data['finalists'])}"
        case "selection":
            why = text.tie_words(data)
            return f"{data['winner']} is chosen" + (f": {why}" if why else "")
    return ""


def _name(data: Mapping[str, Any]) -> str:
    return decode(Key, data["key"]).name


def _reply(key: Key) -> str:
    if key.role == "reflection" and not key.attempt:
        before = key.round - 1
        return f"round {key.round} begins: the reflection on round {before} is written"
    return "the Feedback class is written" if key.role == "feedback" else ""


def _occasion(data: Mapping[str, Any], run: WatchedRun) -> str:
    """Return why episodes were played that are not those that a candidate begins with."""
    key, trial = decode(Key, data["key"]), run.trials.get(_name(data))
    if data["stream"] != "search" or trial is None:
        return ""
    if not key.round:
        return "  (warm-up)" if "warm_up" in run.settings else "  (without a policy)"
    if trial.played is None or set(data["seeds"]) & set(trial.played.seeds):
        return ""
    if key.attempt not in trial.attempts:
        return "  (episodes in which the best had failed)"
    if run.number > key.round:
        return f"  (again, on round {run.number}'s episodes)"
    return "  (more episodes, to tell it from the best)"


def _outcome(rollout: Rollout) -> str:
    """Return the score and the steps of episodes, or why they failed."""
    if rollout.error is not None:
        return f"failed: {text.gist(rollout.error)}"
    hits = success_count(rollout.successes)
    score = f"success {hits:>5}  " if hits != "-" else ""
    if rollout.worst_tenth is not None:
        score += f"worst tenth {text.number(rollout.worst_tenth):>9}  "
    return f"{score}return {text.number(rollout.score.mean_return):>9}  {rollout.steps:>9,} steps"


def _candidate(data: Mapping[str, Any], run: Run) -> str:
    """Return a line where its rollout has none: there is none, or another candidate played it."""
    name = _name(data)
    if data["rollout"] is None:
        return f"{name}  failed: {text.gist(data['error'])}" if data["error"] else ""
    trial = run.trials[name]
    if trial.played is not None or trial.candidate.rollout is None:
        return ""
    played = run.folder_of(trial)
    if played == name:  # its first attempt came to nothing, and a later one was played
        return ""
    return f"{name}  {_outcome(trial.candidate.rollout)}: the same policy as {played}"


def _round(data: Mapping[str, Any], run: Run) -> str:
    head = f"round {data['round']} of {run.settings.get('rounds', '?')}"
    if not data["score"]:
        return f"{head}: every candidate failed"
    line, best = f"{head}: {data['winner']} wins, {text.score(data['score'])}", data["best"]
    if best["name"] == data["winner"]:
        return f"{line} (best so far)"
    return f"{line}; best so far {best['name']}, {text.score(best['score'])}"


def opening(run: Run) -> list[Row]:
    """Return what the run is about to do."""
    config = run.settings
    races = config["episodes"] == AUTO
    episodes = "5 episodes or more" if races else text.plural(config["episodes"], "episode")
    rounds = text.plural(config["rounds"], "round")
    candidates = text.plural(config["candidates"], "candidate")
    held_out = whole(config["test_episodes"], life_of(config))
    model = run.model
    if run.synthesized:
        model += " (a synthesizer of standard structures; no language model)"
    if run.replayed:
        model += " (replays the replies of an earlier run; no model is called)"
    tuning = ""
    if config.get("tune"):
        kinds = {"declared": "declared constants", "auto": "all constants that are found"}
        which = kinds.get(config["constants"], "declared constants, else all")
        tuning = f"{config['tune_steps']:,} environment steps; {which}; seed {config['seed']}"
    search = f"{rounds} of {candidates}, {episodes} each; seed {config['seed']}"
    rows = [
        ("task", f"{run.spec}: {run.title}".rstrip(": ")),
        ("method", run.method if run.method != USUAL_METHOD else ""),
        ("policy", text.near_path(run.policy_file) if run.policy_file else ""),
        ("model", "" if run.policy_file else model),
        ("facts", "withheld" if run.facts_withheld else ""),
        ("search", "" if run.policy_file else search),
        ("tuning", tuning),
        ("score", f"{text.plural(held_out, 'held-out episode')}" if held_out else "search only"),
        ("sandbox", isolation_words(run.header.get("isolation"))),
        ("folder", text.near_path(run.folder)),
    ]
    return [row for row in rows if row[1]]


def closing(run: Run) -> list[Row]:
    """Return the result of a run, whether or not it got to its end, and how to go on."""
    if run.status == "finished" or not run.header:
        return run.rows()
    limited = run.status == "stopped" and not run.reason.startswith("finished early")
    more = "  (with a higher limit)" if limited else ""
    command = f"{text.program()} --resume {text.near_path(run.folder)}"
    return [*run.rows(), ("resume", f"{command}{more}")]


def isolation_words(isolation: Mapping[str, Any] | None) -> str:
    """Return the sandbox's level in force and what this machine lacks."""
    if not isolation:
        return ""
    missing = [k for k, v in isolation.get("protections", {}).items() if v != "on"]
    level = str(isolation.get("level", ""))
    return f"{level} isolation" + (f", without {', '.join(missing)}" if missing else "")


def outcome_words(account: TuningAccount) -> str:
    """Return ``kept: return 9.1 to 500, +490.9 ± 0.25 (20 episodes)``: as written, and tuned."""
    before, after = account.before, account.after
    if before is None or after is None:
        if any(c.before != c.after for c in account.constants):
            return "not kept: no steps were left to compare it with the written values"
        return f"not changed: nothing better was found in {account.steps:,} steps"
    words = f"{_return(before)} to {_return(after)}"
    if before.mean_return is not None and after.mean_return is not None:
        words = f"{_return(before)} to {_return(after).rpartition(' ')[2]}"
        if before.success_rate is not None and after.success_rate is not None:
            words = f"success {before.success_rate:.2f} to {after.success_rate:.2f}, {words}"
    if account.difference is not None:
        words += f", {difference_words(account)}"
    verdict = "kept" if account.kept else "not kept, no better beyond noise"
    if account.open:
        verdict = "open, so its estimate counts"
    return f"{verdict}: {words} ({text.plural(account.final, 'episode')})"


def _return(point: Standpoint) -> str:
    if point.worst_tenth is not UNSET:
        return f"worst tenth {text.number(point.worst_tenth)}"
    return "failed" if point.mean_return is None else f"return {text.number(point.mean_return)}"


def difference_words(account: TuningAccount) -> str:
    """Return ``+490.9 ± 0.25``: the mean of paired differences and its standard error."""
    error, value = account.difference_error, account.difference or 0.0
    noise = ""
    if error:  # two digits of it, and as many decimals of the difference
        places = 1 - math.floor(math.log10(error))
        value, noise = round(value, places), f" ± {text.number(round(error, places))}"
    return f"{'+' if value > 0 else ''}{text.number(value)}{noise}"
