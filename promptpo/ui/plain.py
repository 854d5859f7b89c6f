"""Plain lines, for logs and pipes: one line for each thing that matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TextIO

from promptpo.plaintext import clean_line
from promptpo.types import Event, successes_text
from promptpo.ui import summary, text
from promptpo.ui.progress import Progress, candidate_name
from promptpo.ui.summary import Row
from promptpo.ui.terminal import say

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
        if self.progress.run:
            self._write("")
            self._rows(summary.closing(self.progress))

    def __call__(self, event: Event) -> None:
        """Take note of one event, and write the line that it deserves, if any."""
        self.progress.apply(event)
        if event.type == "run":
            self._rows(summary.opening(self.progress))
            self._write("")
        for line in event_lines(event, self.progress):
            stamp = text.duration(event.time - self.progress.started)
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


def _resumed(data: Mapping[str, Any], progress: Progress) -> list[str]:
    return [f"resumed: {text.plural(data.get('events', 0), 'event')} are on record already"]


def _notice(data: Mapping[str, Any], progress: Progress) -> list[str]:
    return [str(data["text"])]


def _reply(data: Mapping[str, Any], progress: Progress) -> list[str]:
    key = data["key"]
    if key["role"] == "feedback":
        return ["the Feedback class is written"]
    if key["role"] == "reflection":
        return [
            f"round {key['round'] + 1} begins: the reflection on round {key['round']} is written"
        ]
    return []


def _rollout(data: Mapping[str, Any], progress: Progress) -> list[str]:
    name = candidate_name(data)
    stream = "" if data["stream"] == "search" else f"{_STREAMS[data['stream']]} "
    stream += "each alone  " if data.get("mark") else ""
    if data.get("error"):
        return [f"{name}  {stream}failed: {text.gist(data['error'])}"]
    returns = data["returns"]
    hits = successes_text(data.get("successes", ()))
    score = f"success {hits:>5}  " if hits != "-" else ""
    mean = text.number(sum(returns) / len(returns))
    return [f"{name}  {stream}{score}return {mean:>9}  {data['steps']:>9,} steps"]


def _proof(data: Mapping[str, Any], progress: Progress) -> list[str]:
    if not data["differing"]:
        return []
    return [
        f"{candidate_name(data)}  {data['verdict']}: {text.proof(data)}; played again, each alone"
    ]


def _candidate(data: Mapping[str, Any], progress: Progress) -> list[str]:
    if data.get("source") is not None or not data.get("error"):
        return []  # its rollout says what became of it
    return [f"{candidate_name(data)}  failed: {text.gist(data['error'])}"]


def _feedback(data: Mapping[str, Any], progress: Progress) -> list[str]:
    if not data.get("error"):
        return []
    used = "" if data.get("by") == "model" else "; the built-in summary takes over"
    return [f"the Feedback class failed: {text.gist(data['error'])}{used}"]


def _round(data: Mapping[str, Any], progress: Progress) -> list[str]:
    total = progress.config.get("rounds", "?")
    if not data.get("score"):
        return [f"round {data['round']} of {total}: every candidate failed"]
    line = f"round {data['round']} of {total}: {data['winner']} wins, {text.score(data['score'])}"
    best = data["best"]
    if best["name"] == data["winner"]:
        return [f"{line} (best so far)"]
    return [f"{line}; best so far {best['name']}, {text.score(best['score'])}"]


def _state(data: Mapping[str, Any], progress: Progress) -> list[str]:
    names = data.get("finalists", ())
    if data["state"] == "selecting":
        return [f"the winners of the rounds meet again: {', '.join(names)}"]
    return [f"held-out episodes of {', '.join(names)}"] if data["state"] == "testing" else []


def _selection(data: Mapping[str, Any], progress: Progress) -> list[str]:
    return [f"{data['winner']} is chosen"]


_WRITERS: dict[str, Callable[[Mapping[str, Any], Progress], list[str]]] = {
    "resumed": _resumed,
    "notice": _notice,
    "reply": _reply,
    "rollout": _rollout,
    "proof": _proof,
    "candidate": _candidate,
    "feedback": _feedback,
    "round": _round,
    "state": _state,
    "selection": _selection,
}
