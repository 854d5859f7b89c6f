"""The episodes of a job in one environment process, group after group."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from promptpo.rollout.division import (
    BASE,
    concatenated,
    divided,
    first_failure,
    joined,
    joined_lives,
    unplayed,
)
from promptpo.rollout.jobs import Moment, Phase, PlayJob, PlayRun
from promptpo.rollout.lockstep import Lockstep
from promptpo.rollout.steady import steadily

if TYPE_CHECKING:
    import sandbox
    from promptpo.spec import Task

#: Faults of a policy that may come of too many episodes in one process.
_CROWDED = ("memory", "died")

#: So many live environments.
OpenTasks = Callable[[int], Sequence["Task"]]
#: A fresh process with the policy in it, for so many episodes.
OpenPolicy = Callable[[int], "sandbox.Policy"]


def play(job: PlayJob, groups: int, open_tasks: OpenTasks, open_policy: OpenPolicy) -> PlayRun:
    """Play a job's episodes in so many groups; a policy that fails is a result, no exception.

    One that fails in a crowd, of which its memory may be too small, is played in smaller groups.
    """
    import sandbox

    runs: list[PlayRun] = []
    waiting = deque(divided(job, groups))
    while waiting and not (job.in_turn and runs and runs[-1].error):
        failed = first_failure(runs)
        group = replace(waiting.popleft(), before=failed.failed_at if failed else None)
        run = steadily(
            partial(_played, group, open_tasks, open_policy),
            lambda run: run.error_kind == sandbox.Disturbed.kind,
        )
        if run.error_kind in _CROWDED and len(group.seeds) > BASE and not group.in_turn:
            smaller = divided(group, math.ceil(len(group.seeds) / BASE))
            waiting.extendleft(reversed(smaller))
            continue
        runs.append(run)
        if run.error_kind == "environment":  # what it has left behind is not to be relied on
            break
    left = job.seeds[sum(len(run.results) for run in runs) :]
    runs.append(unplayed(left))
    return joined_lives(runs) if job.in_turn else joined(runs, job.first)


def _played(job: PlayJob, open_tasks: OpenTasks, open_policy: OpenPolicy) -> PlayRun:
    """Play episodes with one policy process, in lockstep or, of one life, in turn on one object."""
    import sandbox

    runs: list[PlayRun] = []
    output = ""
    try:
        with open_policy(len(job.seeds)) as policy:
            for seeds in ((seed,) for seed in job.seeds) if job.in_turn else (job.seeds,):
                lockstep = Lockstep(open_tasks(len(seeds)), seeds, job.keep, job.first, job.life)
                runs.append(lockstep.play(policy, fresh=not runs, before=job.before))
                if runs[-1].error is not None:
                    break
            output = policy.output
    except (sandbox.ProgramError, sandbox.Disturbed) as e:  # it could not be loaded
        at = Moment(0, Phase.LOAD, job.first)
        runs.append(PlayRun(error=e.message, error_kind=e.kind, failed_at=at))
    left = job.seeds[sum(len(run.results) for run in runs) :]
    last = runs[-1]
    return replace(
        concatenated([*runs, unplayed(left)]),
        output=output,
        error=last.error,
        error_kind=last.error_kind,
        failed_at=None if job.in_turn else last.failed_at,
    )
