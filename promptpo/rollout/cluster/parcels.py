"""What is sent to a cluster once, and not with every job: its object store keeps it for all nodes.

Large are what policies are made with, and the file that ``prepare`` reads.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptpo.errors import file_error
from promptpo.rollout.cluster.places import Task
from promptpo.rollout.jobs import InstancesJob, Job, PlayJob, PrepareJob

#: Bytes from which a value is worth a reference of its own.
_LARGE = 1 << 16
#: Contents that are kept in the store, the latest ones.
_KEPT = 32


class Parcels:
    """Packs jobs; ``put`` hands a content to the cluster, and returns what stands for it."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._sent: OrderedDict[Hashable, Any] = OrderedDict()

    def pack(self, job: Job[Any]) -> Task:
        """A job as it is sent. Raises FileError where a file that it names cannot be read."""
        parcels: dict[str, Any] = {}
        light: Any = job
        if isinstance(job, PrepareJob):
            parcels["data"] = self._of_file(Path(job.data))
        prepared = getattr(job, "prepared", b"")
        if len(prepared) >= _LARGE:
            parcels["prepared"] = self._once(prepared, lambda: prepared)
            light = replace(light, prepared=b"")
        return Task(pickle.dumps(light), type(job).__name__, _size(job), tuple(parcels.items()))

    def _of_file(self, path: Path) -> Any:  # noqa: ANN401 - a reference
        import numpy as np

        try:
            state = path.stat()
            key = (str(path), state.st_mtime_ns, state.st_size)
            return self._once(key, lambda: np.fromfile(path, np.uint8))
        except OSError as error:
            raise file_error(error, path) from None

    def _once(self, key: Hashable, content: Callable[[], Any]) -> Any:  # noqa: ANN401
        if key not in self._sent:
            self._sent[key] = self._put(content())
        self._sent.move_to_end(key)
        while len(self._sent) > _KEPT:
            self._sent.popitem(last=False)
        return self._sent[key]


def _size(job: Job[Any]) -> float:
    """How many episodes it has; 1 where it has none."""
    if isinstance(job, InstancesJob):
        return max(len(job.constants) * len(job.seeds), 1)
    if isinstance(job, PlayJob):
        return max(len(job.seeds), 1)
    return 1
