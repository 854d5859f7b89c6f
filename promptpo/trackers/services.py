"""The trackers themselves, each with its own package, which is imported when a run begins.

All have the same methods, called by one thread: ``track`` takes a delivery, which is safe with the
tracker when it returns; ``file`` takes a policy, a report or a video; ``finish`` closes the run. A
run is opened by making an object, or found again by its id. Any exception ends the tracking, and
never the run.
"""

from __future__ import annotations

import importlib
import inspect
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from promptpo.errors import UsageError
from promptpo.spec.calls import one_line
from promptpo.trackers.feed import Delivery


@dataclass(frozen=True)
class TrackedRun:
    """A run as trackers know it.

    Attributes:
        folder: the run's folder.
        name: what people see, e.g. ``cartpole/20261120-143000``.
        task: the spec's name, by which runs are grouped.
        settings: the run's settings and versions, plain values: hyperparameters.
    """

    folder: Path
    name: str
    task: str
    settings: Mapping[str, object]


class TensorBoard:
    """Event files in ``RUN/tensorboard``, so that ``tensorboard --logdir runs`` finds all runs."""

    package = "tensorboardX"

    def __init__(self, run: TrackedRun, id: str) -> None:
        """Open a file beside those of earlier sessions, which TensorBoard joins."""
        # Files are named after the second, and read in the order of their names: one of a later
        # session in the same second must come later.
        self._writer = importlib.import_module("tensorboardX").SummaryWriter(
            str(run.folder / "tensorboard"), flush_secs=5, filename_suffix=f".{time.time_ns()}"
        )
        self._settings = {
            k: v if isinstance(v, bool | int | float | str) else str(v)
            for k, v in run.settings.items()
            if v is not None
        }
        rows = [f"| {name} | {value} |" for name, value in self._settings.items()]
        table = "\n".join(["| setting | value |", "|---|---|", *rows])
        self._writer.add_text("settings", table, 0)

    def track(self, delivery: Delivery) -> None:
        """Write scalars, and the source as text."""
        for name, value in delivery.values.items():
            self._writer.add_scalar(name, value, delivery.step)
        if delivery.source is not None:
            code = "\n".join(f"    {line}" for line in delivery.source.splitlines())
            self._writer.add_text("best/policy", code, delivery.step)
        self._writer.flush()

    def file(self, path: Path) -> None:
        """Show a GIF among the images; TensorBoard has no place for other files."""
        if path.suffix != ".gif":
            return
        summary = importlib.import_module("tensorboardX.proto.summary_pb2").Summary
        data = path.read_bytes()
        image = summary.Image(
            width=int.from_bytes(data[6:8], "little"),
            height=int.from_bytes(data[8:10], "little"),
            colorspace=3,
            encoded_image_string=data,
        )
        value = summary.Value(tag=f"videos/{path.stem}", image=image)
        self._writer.file_writer.add_summary(summary(value=[value]), 0)

    def finish(self, status: str, summary: Mapping[str, float]) -> None:
        """Write settings and final scores side by side, for the HParams page, and close."""
        if summary:
            make = importlib.import_module("tensorboardX.summary").hparams
            for entry in make(self._settings, dict(summary)):
                self._writer.file_writer.add_summary(entry)
        self._writer.close()


class WeightsAndBiases:
    """A run of the project ``$WANDB_PROJECT``, else ``promptpo``, grouped by task.

    wandb reads its own settings from the environment: ``WANDB_MODE=offline`` keeps everything in
    ``RUN/wandb``, for ``wandb sync`` to send later.
    """

    package = "wandb"

    def __init__(self, run: TrackedRun, id: str) -> None:
        """Open, with the environment steps as x axis of everything."""
        self._be_quiet()
        import wandb

        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "promptpo"),
            id=id,
            name=run.name,
            group=run.task,
            config=dict(run.settings),
            dir=str(run.folder),
            resume="allow",
            settings=wandb.Settings(console="off"),  # keeps no copy of what the run prints
        )
        self._run.define_metric("env_steps")
        self._run.define_metric("*", step_metric="env_steps")

    @classmethod
    def check(cls) -> None:
        """Raise UsageError where wandb has no key, or its server refuses it."""
        cls._be_quiet()
        if os.environ.get("WANDB_MODE", "online") not in ("online", "shared"):
            return
        import wandb

        try:
            if "prompt" in inspect.signature(wandb.login).parameters:
                has_key = bool(wandb.login(prompt=False))
            else:  # older ones
                has_key = wandb.api.api_key is not None
        except Exception as error:
            raise UsageError(
                f"wandb cannot be used: {one_line(error)}; set WANDB_MODE=offline to track into the"
                " run's folder"
            ) from error
        if not has_key:
            raise UsageError(
                "wandb has no API key; run: wandb login, or set WANDB_MODE=offline to track into"
                " the run's folder"
            )

    @staticmethod
    def _be_quiet() -> None:
        """Leave the terminal to the run, and report errors to wandb's makers only if users ask."""
        os.environ.setdefault("WANDB_SILENT", "true")
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")

    def track(self, delivery: Delivery) -> None:
        """Add a row of history; a source becomes the next version of the policy's artifact."""
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
        """Put videos among the media, and other files among the run's own, which are sent."""
        if path.suffix in (".mp4", ".gif", ".webm"):
            import wandb

            self._run.log({f"videos/{path.stem}": wandb.Video(str(path))})
        else:
            shutil.copy(path, self._run.dir)

    def finish(self, status: str, summary: Mapping[str, float]) -> None:
        """Set the summary, and wait until all is sent or on disk."""
        self._run.summary.update({**summary, "status": status})
        self._run.finish(exit_code=0 if status in ("finished", "stopped") else 1)


class MLflow:
    """A run of the experiment ``$MLFLOW_EXPERIMENT_NAME``, else ``promptpo``, by mlflow-skinny.

    It goes to ``$MLFLOW_TRACKING_URI``, else to the folder ``mlruns`` beside the task's folder of
    runs (``runs/mlruns``), which ``mlflow ui --backend-store-uri runs/mlruns`` shows.
    """

    package = "mlflow"

    #: The tag by which a resumed run finds its MLflow run again.
    _TAG = "promptpo.id"

    def __init__(self, run: TrackedRun, id: str) -> None:
        """Create the MLflow run, or find and reopen it."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # a plain folder, as ever
        from mlflow.tracking import MlflowClient

        local = (run.folder.parent.parent / "mlruns").resolve().as_uri()
        self._client: Any = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or local)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "promptpo")
        experiment = self._client.get_experiment_by_name(name)
        number = experiment.experiment_id if experiment else self._client.create_experiment(name)
        earlier = self._client.search_runs([number], f"tags.`{self._TAG}` = '{id}'")
        if earlier:
            self._run: str = earlier[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
            return
        tags = {self._TAG: id, "task": run.task}
        self._run = self._client.create_run(number, run_name=run.name, tags=tags).info.run_id
        for key, value in run.settings.items():
            self._client.log_param(self._run, key, value)

    def track(self, delivery: Delivery) -> None:
        """Log metrics at their step; the source as an artifact, the steps in its name."""
        for name, value in delivery.values.items():
            self._client.log_metric(self._run, name, value, step=delivery.step)
        if delivery.source is not None:
            path = f"policies/{delivery.step:09d}.py"
            self._client.log_text(self._run, delivery.source, path)

    def file(self, path: Path) -> None:
        """Log an artifact; videos in a folder of their own."""
        folder = "videos" if path.parent.name == "videos" else None
        self._client.log_artifact(self._run, str(path), folder)

    def finish(self, status: str, summary: Mapping[str, float]) -> None:
        """Set the status; the last value of each metric is its summary."""
        ends = {"finished": "FINISHED", "stopped": "FINISHED", "interrupted": "KILLED"}
        self._client.set_tag(self._run, "status", status)
        self._client.set_terminated(self._run, ends.get(status, "FAILED"))


Service: TypeAlias = TensorBoard | WeightsAndBiases | MLflow

#: The trackers by name; the extra that installs a tracker's package has the same name.
SERVICES: Mapping[str, type[Service]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
}
