"""Weights & Biases."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from promptpo.errors import UsageError
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
        """Raise UsageError where wandb would have to ask for a key."""
        _quiet()
        if os.environ.get("WANDB_MODE", "online") not in ("online", "shared"):
            return
        import wandb

        if wandb.api.api_key is None:
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
            # Neither its words nor a copy of ours: the terminal shows the run.
            settings=wandb.Settings(silent=True, console="off"),
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


def _quiet() -> None:
    """No reports of wandb's own errors to its makers, unless the user asks for them."""
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
