"""How a run's policies stand against each other, and what described them, as its record tells."""

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
    told: Paired


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


def meeting(record: Run, trial: Trial) -> Meeting | None:
    """How a policy did against the best before it; None where they have not met."""
    candidate = trial.candidate
    incumbent = met_before(candidate, [t.candidate for t in record.policies])
    if incumbent is None or incumbent.pooled is None or candidate.pooled is None:
        return None
    told = paired(candidate.pooled, incumbent.pooled)
    return None if told is None else Meeting(incumbent, told)


def hard_episodes(record: Run) -> list[HardEpisode]:
    """The episodes that challengers have played because the best so far had failed in them."""
    found: dict[tuple[str, int], list[tuple[str, Episode]]] = {}
    for trial in record.policies:
        hard = trial.candidate.hard
        best = (record.ends.get(trial.key.round - 1) or {}).get("best") or {}
        for episode in hard.whole if hard is not None else ():
            found.setdefault((best.get("name", ""), episode.seed), []).append((trial.name, episode))
    return [
        HardEpisode(seed, name, _episode(record, name, seed), tuple(challengers))
        for (name, seed), challengers in found.items()
    ]


def _episode(record: Run, name: str, seed: int) -> Episode | None:
    trial = record.trials.get(name)
    run = trial.candidate.pooled if trial else None
    return next((e for e in run.whole if e.seed == seed), None) if run else None


def feedback_classes(record: Run) -> list[FeedbackClass]:
    """The Feedback classes that have described episodes, in the order of their first use."""
    sources: dict[str, tuple[Key, str]] = {}
    for key, recorded in record.replies.items():
        if key.candidate or not key.role.startswith(("feedback", "reflection")):
            continue
        try:
            source = extract_code(recorded.reply, "Feedback")
        except ReplyRejected:
            continue
        sources.setdefault(digest(source), (key, source))
    return [
        FeedbackClass(sources[name][1], sources[name][0], since)
        for name, since in record.feedback_classes.items()
        if name in sources
    ]
