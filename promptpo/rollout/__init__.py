"""Rollouts: a sandboxed policy against a live environment, many episodes at a time."""

from promptpo.rollout.evaluate import evaluate
from promptpo.rollout.executor import Executor, open_executor, rehearse, worker_settings
from promptpo.rollout.jobs import EpisodeData, Job, PlayJob, PlayRun, Settings, TaskInfo
from promptpo.rollout.local import LocalExecutor
from promptpo.rollout.seeds import episode_seeds

__all__ = [
    "EpisodeData",
    "Executor",
    "Job",
    "LocalExecutor",
    "PlayJob",
    "PlayRun",
    "Settings",
    "TaskInfo",
    "episode_seeds",
    "evaluate",
    "open_executor",
    "rehearse",
    "worker_settings",
]
