"""Which episodes are filmed: the best, median and worst of the held-out ones, or the first few."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptpo.types import Episode, Rollout, Score

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.rollout.jobs import Lifetime, PlayRun
    from promptpo.spec import EnvSpec


def pick(episodes: Sequence[Episode], wanted: tuple[str, ...] | int) -> dict[str, Episode]:
    """Label -> episode, in the order wanted; no episode twice, so there may be fewer."""
    if isinstance(wanted, int):
        return {f"episode{n}": e for n, e in enumerate(episodes[:wanted], 1)}
    ranked = sorted(episodes, key=_score, reverse=True)
    places = {"best": 0, "median": len(ranked) // 2, "worst": len(ranked) - 1}
    chosen: dict[str, Episode] = {}
    for name in wanted:
        episode = ranked[places[name]]
        if episode not in chosen.values():
            chosen[name] = episode
    return chosen


def _score(episode: Episode) -> Score:
    """Sorts episodes from worst to best, as candidates are."""
    rate = None if episode.success is None else float(episode.success)
    return Score(episode.return_, rate, failed=episode.error is not None)


def recorded(test: Rollout | None, seeds: Sequence[int]) -> list[Episode]:
    """The held-out episodes on record; empty unless they are those of ``seeds``, and all ended."""
    if test is None or test.error is not None or test.seeds != tuple(seeds):
        return []
    return list(test.episodes)


async def play(
    spec: EnvSpec, settings: RunConfig, source: str, seeds: Sequence[int], lifetime: Lifetime
) -> list[Episode]:
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


def _scored(seeds: Sequence[int], run: PlayRun) -> list[Episode]:
    rows = zip(seeds, run.returns, run.lengths, run.successes, strict=False)
    ended = [Episode(*row) for row in rows]
    if run.error is None:
        return ended
    return [*ended, Episode(seeds[len(ended)], 0.0, 0, error=run.error)]
