"""Which episodes are filmed: the best, median and worst of the held-out ones, or the first few."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpo.types import Score

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.rollout.jobs import Lifetime, PlayRun
    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class Scored:
    """One held-out episode as it was scored; ``length`` is 0 where it was not, or not to its end.

    ``failure`` is why the policy did not end it, if so.
    """

    seed: int
    total: float = 0.0
    length: int = 0
    success: bool | None = None
    failure: str | None = None

    @property
    def score(self) -> Score:
        """Sorts episodes from worst to best, as candidates are."""
        rate = None if self.success is None else float(self.success)
        return Score(self.total, rate, failed=self.failure is not None)


def pick(episodes: Sequence[Scored], wanted: tuple[str, ...] | int) -> dict[str, Scored]:
    """Label -> episode, in the order wanted; no episode twice, so there may be fewer."""
    if isinstance(wanted, int):
        return {f"episode{n}": e for n, e in enumerate(episodes[:wanted], 1)}
    ranked = sorted(episodes, key=lambda e: e.score, reverse=True)
    places = {"best": 0, "median": len(ranked) // 2, "worst": len(ranked) - 1}
    chosen: dict[str, Scored] = {}
    for name in wanted:
        episode = ranked[places[name]]
        if episode not in chosen.values():
            chosen[name] = episode
    return chosen


def recorded(test: Mapping[str, Any] | None, seeds: Sequence[int]) -> list[Scored]:
    """The held-out episodes that ``run.json`` tells of; empty unless they are those of ``seeds``.

    An evaluation that a failure ended tells the returns of the other episodes only, without
    saying which they were, and counts as none.
    """
    if not test or test.get("error") is not None or list(test.get("seeds", ())) != list(seeds):
        return []
    columns = test["seeds"], test["returns"], test["lengths"], test["successes"]
    return [Scored(*row) for row in zip(*columns, strict=True)]


async def play(
    spec: EnvSpec, settings: RunConfig, source: str, seeds: Sequence[int], lifetime: Lifetime
) -> list[Scored]:
    """Score the policy on every seed, each by itself, so that a failure has its episode.

    With lifetime "evaluation" the episodes follow each other on one policy object, and those
    after a failure are not there.
    """
    from promptpo.rollout import PlayJob, open_executor

    groups = [tuple(seeds)] if lifetime == "evaluation" else [(seed,) for seed in seeds]
    with contextlib.closing(open_executor(settings, spec)) as executor:
        jobs = (executor.run(PlayJob(source, group, lifetime)) for group in groups)
        runs = await asyncio.gather(*jobs)
    return [e for group, run in zip(groups, runs, strict=True) for e in _scored(group, run)]


def _scored(seeds: Sequence[int], run: PlayRun) -> list[Scored]:
    rows = zip(seeds, run.returns, run.lengths, run.successes, strict=False)
    ended = [Scored(*row) for row in rows]
    if run.error is None:
        return ended
    return [*ended, Scored(seeds[len(ended)], length=0, failure=run.error)]
