"""Rollouts: a sandboxed policy against a live environment, many episodes at a time."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptpo.rollout.evaluation import evaluate, evaluate_baseline
    from promptpo.rollout.executor import (
        Executor,
        connected,
        open_executor,
        rehearse,
        worker_settings,
    )
    from promptpo.rollout.jobs import Job, PlayJob, PlayRun, Settings, TaskInfo
    from promptpo.rollout.local import LocalExecutor
    from promptpo.rollout.seeds import episode_seeds

#: Where each name lives; imported on first use, because workers and simulators are heavy.
_HOMES = {
    "Trajectory": "promptpo.rollout.jobs",
    "Executor": "promptpo.rollout.executor",
    "Job": "promptpo.rollout.jobs",
    "LocalExecutor": "promptpo.rollout.local",
    "PlayJob": "promptpo.rollout.jobs",
    "PlayRun": "promptpo.rollout.jobs",
    "Settings": "promptpo.rollout.jobs",
    "TaskInfo": "promptpo.rollout.jobs",
    "connected": "promptpo.rollout.executor",
    "episode_seeds": "promptpo.rollout.seeds",
    "evaluate": "promptpo.rollout.evaluation",
    "evaluate_baseline": "promptpo.rollout.evaluation",
    "open_executor": "promptpo.rollout.executor",
    "rehearse": "promptpo.rollout.executor",
    "worker_settings": "promptpo.rollout.executor",
}

__all__ = [
    "Executor",
    "Job",
    "LocalExecutor",
    "PlayJob",
    "PlayRun",
    "Settings",
    "TaskInfo",
    "Trajectory",
    "connected",
    "episode_seeds",
    "evaluate",
    "evaluate_baseline",
    "open_executor",
    "rehearse",
    "worker_settings",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute may be anything
    if name not in _HOMES:
        raise AttributeError(f"module 'promptpo.rollout' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
