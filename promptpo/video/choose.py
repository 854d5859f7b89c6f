"""Which episodes are filmed: the best, median and worst of the held-out ones, or the first few."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from promptpo.types import Episode, Rollout, Score

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.export.policy_file import PolicyFile
    from promptpo.rollout.jobs import PlayRun
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
    spec: EnvSpec, settings: RunConfig, policy: PolicyFile, seeds: Sequence[int], life: int
) -> list[Episode]:
    """Score the policy on every seed; where it fails, each by itself, so that it fails only there.

    The episodes of a ``life`` of several follow each other on one policy object; those after a
    failure are not there.
    """
    from promptpo.rollout import PlayJob, open_executor

    with contextlib.closing(open_executor(settings, spec)) as executor:
        whole = PlayJob(policy.played, tuple(seeds), life, prepared=policy.prepared)
        run = await executor.run(whole)
        if run.error is None or life > 1:
            return _scored(run)
        jobs = (executor.run(replace(whole, seeds=(seed,))) for seed in seeds)
        return [e for run in await asyncio.gather(*jobs) for e in _scored(run)]


def _scored(run: PlayRun) -> list[Episode]:
    ended = [episode for episode in run.results if episode.error is None]
    if run.error is None:
        return ended
    return [*ended, Episode(run.results[len(ended)].seed, 0.0, 0, error=run.error)]
