"""Comparisons of a run's policies with each other, and the classes that described episodes."""

from __future__ import annotations

from dataclasses import dataclass

from promptpo.llm.extraction import ReplyRejected, extract_code
from promptpo.racing import Paired, met_before, paired
from promptpo.store.codec import digest
from promptpo.store.run import Run
from promptpo.store.trials import Trial
from promptpo.types import Candidate, Episode, Key


@dataclass(frozen=True)
class Meeting:
    """A policy less the best before it (``incumbent``), on the episodes that both have played."""

    incumbent: Candidate
    difference: Paired


@dataclass(frozen=True)
class HardEpisode:
    """An episode in which the best so far had failed: how it went there, and its challengers."""

    seed: int
    incumbent: str
    own: Episode | None
    challengers: tuple[tuple[str, Episode], ...]


@dataclass(frozen=True)
class FeedbackClass:
    """A class that described episodes: its source, and the call whose reply it came with.

    ``since``: how many rounds were done when it was first used.
    """

    source: str
    key: Key
    since: int


def meeting(run: Run, trial: Trial) -> Meeting | None:
    """Compare a policy with the best before it; None where they have not met."""
    candidate = trial.candidate
    incumbent = met_before(candidate, [t.candidate for t in run.policies])
    if incumbent is None or incumbent.pooled is None or candidate.pooled is None:
        return None
    difference = paired(candidate.pooled, incumbent.pooled)
    return None if difference is None else Meeting(incumbent, difference)


def hard_episodes(run: Run) -> list[HardEpisode]:
    """Return the episodes that challengers played because the best so far had failed in them."""
    challengers: dict[tuple[str, int], list[tuple[str, Episode]]] = {}
    for trial in run.policies:
        hard = trial.candidate.hard
        best = (run.ends.get(trial.key.round - 1) or {}).get("best") or {}
        for episode in hard.whole if hard is not None else ():
            place = best.get("name", ""), episode.seed
            challengers.setdefault(place, []).append((trial.name, episode))
    return [
        HardEpisode(seed, name, _episode(run, name, seed), tuple(each))
        for (name, seed), each in challengers.items()
    ]


def _episode(run: Run, name: str, seed: int) -> Episode | None:
    trial = run.trials.get(name)
    pooled = trial.candidate.pooled if trial else None
    return next((e for e in pooled.whole if e.seed == seed), None) if pooled else None


def feedback_classes(run: Run) -> list[FeedbackClass]:
    """Return the Feedback classes that have described episodes, in the order of their first use."""
    sources: dict[str, tuple[Key, str]] = {}
    for key, recorded in run.replies.items():
        if key.candidate or not key.role.startswith(("feedback", "reflection")):
            continue
        try:
            source = extract_code(recorded.reply, "Feedback")
        except ReplyRejected:
            continue
        sources.setdefault(digest(source), (key, source))
    return [
        FeedbackClass(sources[name][1], sources[name][0], since)
        for name, since in run.feedback_classes.items()
        if name in sources
    ]
