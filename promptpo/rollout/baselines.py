"""Episodes without a policy, played in an environment process with a behaviour of the task."""

from __future__ import annotations

import numpy as np

from promptpo.rollout.jobs import BaselineJob, PlayRun, RehearsalJob
from promptpo.spec import Task
from promptpo.spec.baselines import MEASURED, play_episode
from promptpo.spec.calls import EnvironmentFault
from promptpo.types import Episode


def rehearse(task: Task, job: RehearsalJob, steps: int | None = None) -> None:
    """Play whole episodes, or so many ``steps`` of them.

    Raises EnvironmentFault where the environment fails.
    """
    for seed in job.seeds:
        try:
            task.reset(seed)
            choose = MEASURED[job.controller](task, seed)
            over, left = False, steps if steps is not None else task.horizon
            while left and not over:
                row = np.asarray(choose(task.raw), dtype=np.float64).reshape(-1)
                flat, _, terminated, truncated, _ = task.step(row)
                task.require_finite(flat)
                over, left = terminated or truncated, left - 1
        except EnvironmentFault as fault:
            moment = f"at step {task.steps}" if task.steps else "in the reset"
            place = f"{moment} of seed {seed}, with {job.words}"
            raise fault.at(place) from fault


def play(task: Task, job: BaselineJob) -> PlayRun:
    """Play whole episodes; SpecError where the environment or the expert fails."""
    controller = MEASURED[job.controller]
    results = tuple(
        Episode(seed, *play_episode(task, controller, seed, job.life)) for seed in job.seeds
    )
    return PlayRun(results, steps=sum(episode.length for episode in results))
