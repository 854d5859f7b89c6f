"""Plain lines, for logs and pipes: one line for each thing that matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TextIO

from promptpo.common import text
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import say
from promptpo.common.text import success_count
from promptpo.store.codec import decode
from promptpo.store.events import Event
from promptpo.types import Key, Preparation, Rollout
from promptpo.ui import summary
from promptpo.ui.progress import Progress
from promptpo.ui.summary import Row
from promptpo.ui.tuning import outcome_words

_STREAMS = {"selection": "selection", "test": "held-out"}


class PlainView:
    """A Listener that writes lines to ``stream``, and the closing summary when it is left."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.progress = Progress()

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.progress.record.header:
            self._write("")
            self._rows(summary.closing(self.progress))

    def __call__(self, event: Event) -> None:
        """Take note of one event, and write the line that it deserves, if any."""
        self.progress.apply(event)
        if event.type == "run":
            self._rows(summary.opening(self.progress))
            self._write("")
        for line in event_lines(event, self.progress):
            stamp = text.duration(event.time - self.progress.record.started)
            self._write(f"{stamp:>7}  {line}")

    def _rows(self, rows: Sequence[Row]) -> None:
        for label, words in rows:
            self._write(f"{label:11}  {words}")

    def _write(self, line: str) -> None:
        say(clean_line(line.rstrip()), self.stream)


def event_lines(event: Event, progress: Progress) -> list[str]:
    """What a log shows of an event, without the time."""
    writer = _WRITERS.get(event.type)
    return writer(event.data, progress) if writer else []


def _name(data: Mapping[str, Any]) -> str:
    return decode(Key, data["key"]).name


def _resumed(data: Mapping[str, Any], progress: Progress) -> list[str]:
    return [f"resumed: {text.plural(data.get('events', 0), 'event')} are on record already"]


def _notice(data: Mapping[str, Any], progress: Progress) -> list[str]:
    return [str(data["text"])]


def _reply(data: Mapping[str, Any], progress: Progress) -> list[str]:
    key = decode(Key, data["key"])
    if key.role == "feedback":
        return ["the Feedback class is written"]
    if key.role == "reflection" and not key.attempt:
        before = key.round - 1
        return [f"round {key.round} begins: the reflection on round {before} is written"]
    return []


def _rollout(data: Mapping[str, Any], progress: Progress) -> list[str]:
    run = decode(Rollout, data)
    stream = "" if run.stream == "search" else f"{_STREAMS[run.stream]} "
    return [f"{_name(data)}  {stream}{_outcome(run)}{_occasion(data, progress)}"]


def _occasion(data: Mapping[str, Any], progress: Progress) -> str:
    """Why episodes were played that are not those that a candidate begins with."""
    key, trial = decode(Key, data["key"]), progress.record.trials.get(_name(data))
    if data["stream"] != "search" or trial is None:
        return ""
    if not key.round:
        return "  (warm-up)" if "warm_up" in progress.record.settings else "  (without a policy)"
    if trial.played is None or set(data["seeds"]) & set(trial.played.seeds):
        return ""
    if key.attempt not in trial.attempts:
        return "  (episodes in which the best had failed)"
    if progress.round > key.round:
        return f"  (again, on round {progress.round}'s episodes)"
    return "  (more episodes, to tell it from the best)"


def _outcome(run: Rollout) -> str:
    """What came of episodes: the score and the steps, or why they failed."""
    if run.error is not None:
        return f"failed: {text.gist(run.error)}"
    hits = success_count(run.successes)
    score = f"success {hits:>5}  " if hits != "-" else ""
    return f"{score}return {text.number(run.score.mean_return):>9}  {run.steps:>9,} steps"


def _prepared(data: Mapping[str, Any], progress: Progress) -> list[str]:
    """That it failed is said by its candidate."""
    done = decode(Preparation, data)
    if done.error is not None:
        return []
    on = f"{done.episodes:,} episodes, {done.transitions:,} transitions"
    return [f"{_name(data)}  prepared in {done.seconds:.3g} s on {on}"]


def _candidate(data: Mapping[str, Any], progress: Progress) -> list[str]:
    """Its rollout has said what became of it, unless there is none, or it is another's."""
    name, digest = _name(data), data["rollout"]
    if digest is None:
        return [f"{name}  failed: {text.gist(data['error'])}"] if data["error"] else []
    trial = progress.record.trials[name]
    if trial.played is not None or trial.candidate.rollout is None:
        return []
    played = progress.record.folder_of(trial)
    if played == name:  # its first attempt came to nothing, and a later one was played
        return []
    return [f"{name}  {_outcome(trial.candidate.rollout)}: the same policy as {played}"]


def _feedback(data: Mapping[str, Any], progress: Progress) -> list[str]:
    if not data["error"]:
        return []
    used = "" if data["by"] == "model" else "; the built-in summary takes over"
    return [f"the Feedback class failed: {text.gist(data['error'])}{used}"]


def _tuning(data: Mapping[str, Any], progress: Progress) -> list[str]:
    now = progress.tuning
    if now is None or not now.due:
        return []
    left = text.duration(now.seconds_left(now.time))
    return [f"{now.name}  tuning: {now.words}, about {left} left"]


def _tuned(data: Mapping[str, Any], progress: Progress) -> list[str]:
    name = _name(data)
    return [f"{name}  tuning {outcome_words(progress.record.tuned[name])}"]


def _round(data: Mapping[str, Any], progress: Progress) -> list[str]:
    total = progress.record.settings.get("rounds", "?")
    if not data["score"]:
        return [f"round {data['round']} of {total}: every candidate failed"]
    line = f"round {data['round']} of {total}: {data['winner']} wins, {text.score(data['score'])}"
    best = data["best"]
    if best["name"] == data["winner"]:
        return [f"{line} (best so far)"]
    return [f"{line}; best so far {best['name']}, {text.score(best['score'])}"]


def _state(data: Mapping[str, Any], progress: Progress) -> list[str]:
    names = ", ".join(data.get("finalists", ()))
    if data["state"] == "selecting":
        winners = progress.finalists_words == "winners"
        who = "the winners of the rounds meet again" if winners else "the finalists meet"
        return [f"{who}: {names}"]
    return [f"held-out episodes of {names}"] if data["state"] == "testing" else []


def _selection(data: Mapping[str, Any], progress: Progress) -> list[str]:
    return [f"{data['winner']} is chosen"]


_WRITERS: dict[str, Callable[[Mapping[str, Any], Progress], list[str]]] = {
    "resumed": _resumed,
    "notice": _notice,
    "reply": _reply,
    "prepared": _prepared,
    "rollout": _rollout,
    "candidate": _candidate,
    "feedback": _feedback,
    "tuning_state": _tuning,
    "tuned": _tuned,
    "round": _round,
    "state": _state,
    "selection": _selection,
}
