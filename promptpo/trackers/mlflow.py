"""MLflow, through the client of mlflow-skinny."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from promptpo.trackers.base import Delivery, End, Start

_STATUS = {
    "finished": "FINISHED",
    "stopped": "FINISHED",
    "interrupted": "KILLED",
    "failed": "FAILED",
}

#: The tag by which a resumed run finds its MLflow run again.
_TAG = "promptpo.id"


class MLflow:
    """A run of the experiment ``$MLFLOW_EXPERIMENT_NAME``, else ``promptpo``.

    It goes to ``$MLFLOW_TRACKING_URI``, else to the folder ``mlruns`` beside the task's folder of
    runs (``runs/mlruns``), which ``mlflow ui --backend-store-uri runs/mlruns`` shows.
    """

    def __init__(self) -> None:
        self._client: Any = None
        self._run = ""

    def start(self, start: Start) -> None:
        """Create the MLflow run, or find and reopen it."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # a plain folder, as ever
        from mlflow.tracking import MlflowClient

        local = (start.folder.parent.parent / "mlruns").resolve().as_uri()
        self._client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or local)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "promptpo")
        found = self._client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else self._client.create_experiment(name)
        known = self._client.search_runs([experiment], f"tags.`{_TAG}` = '{start.id}'")
        if known:
            self._run = known[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
            return
        tags = {_TAG: start.id, "task": start.task}
        created = self._client.create_run(experiment, run_name=start.name, tags=tags)
        self._run = created.info.run_id
        for key, value in start.settings.items():
            self._client.log_param(self._run, key, value)

    def track(self, delivery: Delivery) -> None:
        """Metrics at their step; the source as an artifact, the steps in its name."""
        for name, value in delivery.values.items():
            self._client.log_metric(self._run, name, value, step=delivery.step)
        if delivery.source is not None:
            path = f"policies/{delivery.step:09d}.py"
            self._client.log_text(self._run, delivery.source, path)

    def file(self, path: Path) -> None:
        """An artifact; videos in a folder of their own."""
        folder = "videos" if path.parent.name == "videos" else None
        self._client.log_artifact(self._run, str(path), folder)

    def finish(self, end: End) -> None:
        """Set the status; the last value of each metric is its summary."""
        self._client.set_tag(self._run, "status", end.status)
        self._client.set_terminated(self._run, _STATUS.get(end.status, "FAILED"))
