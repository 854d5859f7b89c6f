"""Rollouts: a sandboxed policy against a live environment, many episodes at a time."""

from promptpo.rollout.evaluation import (
    connected,
    evaluate,
    evaluate_baseline,
    open_executor,
    rehearse,
    worker_settings,
)
from promptpo.rollout.executor import Executor, LocalExecutor
from promptpo.rollout.jobs import Job, PlayJob, PlayRun, Settings, TaskInfo
from promptpo.rollout.seeds import episode_seeds

__all__ = [
    "Executor",
    "Job",
    "LocalExecutor",
    "PlayJob",
    "PlayRun",
    "Settings",
    "TaskInfo",
    "connected",
    "episode_seeds",
    "evaluate",
    "evaluate_baseline",
    "open_executor",
    "rehearse",
    "worker_settings",
]
