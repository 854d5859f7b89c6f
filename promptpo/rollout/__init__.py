"""Rollouts: a sandboxed policy against a live environment, many episodes at a time."""

from promptpo.rollout.evaluate import evaluate
from promptpo.rollout.executor import Executor, LocalExecutor
from promptpo.rollout.jobs import EpisodeData, PolicyJob, PolicyRun, Settings, TaskInfo
from promptpo.rollout.seeds import episode_seeds

__all__ = [
    "EpisodeData",
    "Executor",
    "LocalExecutor",
    "PolicyJob",
    "PolicyRun",
    "Settings",
    "TaskInfo",
    "episode_seeds",
    "evaluate",
]
