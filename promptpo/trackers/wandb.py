"""Weights & Biases."""

from __future__ import annotations

import inspect
import os
import shutil
from pathlib import Path
from typing import Any

from promptpo.errors import UsageError
from promptpo.spec.calls import one_line
from promptpo.trackers.base import Delivery, End, Start

_VIDEOS = (".mp4", ".gif", ".webm")


class WeightsAndBiases:
    """A run of the project ``$WANDB_PROJECT``, else ``promptpo``, grouped by task.

    wandb reads its own settings from the environment: ``WANDB_MODE=offline`` keeps everything in
    ``RUN/wandb``, for ``wandb sync`` to send later.
    """

    def __init__(self) -> None:
        self._run: Any = None

    @staticmethod
    def check() -> None:
        """Raise UsageError where wandb has no key, or its server does not take it."""
        _quiet()
        if os.environ.get("WANDB_MODE", "online") not in ("online", "shared"):
            return
        if not _has_key():
            raise UsageError(
                "wandb has no API key; run: wandb login, or set WANDB_MODE=offline to track into"
                " the run's folder"
            )

    def start(self, start: Start) -> None:
        """Open, with the environment steps as x axis of everything."""
        _quiet()
        import wandb

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "promptpo"),
            id=start.id,
            name=start.name,
            group=start.task,
            config=dict(start.settings),
            dir=str(start.folder),
            resume="allow",
            settings=wandb.Settings(console="off"),  # keeps no copy of what the run prints
        )
        self._run.define_metric("env_steps")
        self._run.define_metric("*", step_metric="env_steps")

    def track(self, delivery: Delivery) -> None:
        """One row of history; a source becomes the next version of the policy's artifact."""
        if delivery.values:
            self._run.log({**delivery.values, "env_steps": delivery.step})
        if delivery.source is not None:
            import wandb

            about = {"env_steps": delivery.step}
            artifact = wandb.Artifact(f"policy-{self._run.id}", type="policy", metadata=about)
            with artifact.new_file("policy.py", encoding="utf-8") as file:
                file.write(delivery.source)
            self._run.log_artifact(artifact)

    def file(self, path: Path) -> None:
        """Videos go among the media; what lies in the run's own folder is sent as its files."""
        if path.suffix in _VIDEOS:
            import wandb

            self._run.log({f"videos/{path.stem}": wandb.Video(str(path))})
        else:
            shutil.copy(path, self._run.dir)

    def finish(self, end: End) -> None:
        """Set the summary, and wait until all is sent or on disk."""
        self._run.summary.update({**end.summary, "status": end.status})
        self._run.finish(exit_code=0 if end.status in ("finished", "stopped") else 1)


def _has_key() -> bool:
    """Whether wandb finds credentials; it does not ask for them."""
    import wandb

    if "prompt" not in inspect.signature(wandb.login).parameters:  # older ones
        return wandb.api.api_key is not None
    try:
        return bool(wandb.login(prompt=False))
    except Exception as error:
        raise UsageError(
            f"wandb cannot be used: {one_line(error)}; set WANDB_MODE=offline to track into the"
            " run's folder"
        ) from error


def _quiet() -> None:
    """The terminal shows the run; wandb's makers hear of its errors only where users want it."""
    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
