"""Where the runs of a sweep play their episodes, and what they share besides: calls of a model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpo.llm.waiting import TURNS


@dataclass(frozen=True)
class Machines:
    """``cores`` are a cluster's (None: this machine plays); runs have ``environ`` besides."""

    cores: int | None = None
    environ: Mapping[str, str] = field(default_factory=dict)


def on_ray(settings: Mapping[str, Any]) -> bool:
    """Whether settings of a sweep say that episodes are played on a Ray cluster."""
    return (settings.get("executor") or ("ray" if settings.get("ray_address") else "")) == "ray"


@contextlib.contextmanager
def machines(settings: Mapping[str, Any], folder: Path) -> Iterator[Machines]:
    """The machines of a sweep in a folder, for as long as it goes on.

    Model calls that are under way at once are counted over all runs where ``max_concurrency`` is
    given. Raises UsageError and ClusterError where a cluster is asked for and cannot be had.
    """
    environ: dict[str, str] = {}
    if settings.get("max_concurrency"):
        environ[TURNS] = str((folder / ".turns").resolve())
    if not on_ray(settings):
        yield Machines(environ=environ)
        return
    from promptpo.rollout.cluster.connection import connect

    address, workers = settings.get("ray_address") or "", settings.get("workers")
    with contextlib.closing(connect(address, workers)) as connection:
        environ["RAY_ADDRESS"] = connection.reach
        yield Machines(connection.cores, environ)
