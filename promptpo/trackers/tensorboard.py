"""TensorBoard: event files in the run's folder, by tensorboardX."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any

from promptpo.trackers.base import Delivery, End, Start


class TensorBoard:
    """Writes to ``RUN/tensorboard``, so that ``tensorboard --logdir runs`` finds all runs."""

    def __init__(self) -> None:
        self._writer: Any = None
        self._settings: dict[str, object] = {}

    def start(self, start: Start) -> None:
        """Open a file beside those of earlier sessions, which TensorBoard joins."""
        tensorboard = importlib.import_module("tensorboardX")
        folder = str(start.folder / "tensorboard")
        # Files are named after the second, and read in the order of their names: one of a later
        # session in the same second must come later.
        own = f".{time.time_ns()}"
        self._writer = tensorboard.SummaryWriter(folder, flush_secs=5, filename_suffix=own)
        self._settings = {k: _plain(v) for k, v in start.settings.items() if v is not None}
        rows = [f"| {name} | {value} |" for name, value in self._settings.items()]
        table = "\n".join(["| setting | value |", "|---|---|", *rows])
        self._writer.add_text("settings", table, 0)

    def track(self, delivery: Delivery) -> None:
        """Scalars, and the source as text."""
        for name, value in delivery.values.items():
            self._writer.add_scalar(name, value, delivery.step)
        if delivery.source is not None:
            code = "\n".join(f"    {line}" for line in delivery.source.splitlines())
            self._writer.add_text("best/policy", code, delivery.step)
        self._writer.flush()

    def file(self, path: Path) -> None:
        """A GIF is shown among the images; TensorBoard has no place for other files."""
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

    def finish(self, end: End) -> None:
        """Settings and final scores side by side, for the HParams page, and the end."""
        if end.summary:
            make = importlib.import_module("tensorboardX.summary").hparams
            for summary in make(self._settings, dict(end.summary)):
                self._writer.file_writer.add_summary(summary)
        self._writer.close()


def _plain(value: object) -> object:
    """What the HParams page can hold."""
    return value if isinstance(value, bool | int | float | str) else str(value)
