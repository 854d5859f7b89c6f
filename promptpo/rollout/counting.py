"""Recorded episodes, fed once more to a policy whose lines are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from promptpo.common.lives import in_lives
from promptpo.policies import CoverageRun
from promptpo.rollout.jobs import CoverageJob
from promptpo.rollout.steady import steadily

if TYPE_CHECKING:
    import sandbox

#: How much longer than usual a policy may take while its lines are counted.
_SLOWER = 20

#: Opens a fresh process with a counting policy in it.
Open = Callable[["sandbox.Limits"], "sandbox.Policy"]


def counted(job: CoverageJob, limits: sandbox.Limits, open_policy: Open) -> CoverageRun:
    """In how many steps each line ran; a policy that fails is a result, never an exception."""
    import sandbox

    limits = replace(
        limits,
        act_seconds=limits.act_seconds * _SLOWER,
        init_seconds=limits.init_seconds * _SLOWER,
        total_seconds=limits.total_seconds * _SLOWER,
    )

    def count() -> CoverageRun:
        with open_policy(limits) as policy:
            for life in in_lives(job.episodes, job.life, lambda episode: episode.seed):
                for number, episode in enumerate(life):
                    policy.begin(episode.seed, fresh=not number)
                    for row in episode.observations[:-1]:
                        policy.act(row)
            steps = sum(len(episode.rewards) for episode in job.episodes)
            return CoverageRun(policy.line_hits(), steps)

    try:
        return steadily(count)
    except (sandbox.ProgramError, sandbox.Disturbed) as e:
        return CoverageRun(error=e.message)
