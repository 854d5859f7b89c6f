"""Plays seeds in a process of its own, to be compared.

One process plays all the specs of a command in turn and sends their digests, while the command is
at other checks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from promptpo.errors import SpecError
from promptpo.rollout.watched import Lost, Watched
from promptpo.spec import Task, load_spec
from promptpo.spec.running.explanation import one_line

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SEEDS = (0, 1, 2, 3, 1_000_003, 2_000_000_011)
STEPS = 200

#: Chance may hang on the actions, as an opponent's does: so many others are tried.
ACTION_STREAMS = 30


def digests(task: Task, seeds: Sequence[int] = SEEDS) -> list[str]:
    """One digest a seed, of observations and rewards under the same actions for all seeds.

    Where these actions show no difference between the seeds, others are tried.
    """
    found: list[str] = []
    for stream in range(1 if task.spec.deterministic else ACTION_STREAMS):
        found = [_digest(task, seed, stream) for seed in seeds]
        if len(set(found)) > 1:
            break
    return found


def _digest(task: Task, seed: int, stream: int) -> str:
    space = task.env.action_space
    space.seed(stream)
    hashed = hashlib.sha256(task.reset(seed).tobytes())
    for _ in range(STEPS):
        row = np.asarray(space.sample(), dtype=np.float64).reshape(-1)
        flat, reward, terminated, truncated, success = task.step(row)
        hashed.update(flat.tobytes())
        hashed.update(repr((reward, terminated, truncated, success)).encode())
        if terminated or truncated:
            break
    return hashed.hexdigest()


class Replays(Protocol):
    """Digests of one spec after the other."""

    def next(self) -> list[str] | str:
        """Digests of the next spec, or the error that playing it met."""
        ...


class ProcessReplays:
    """Digests from another process, in the order in which its specs were named."""

    def __init__(self, refs: Sequence[str], limit: float) -> None:
        self._refs, self._limit = list(refs), limit
        self._process: Watched | None = None
        self._start()

    def next(self) -> list[str] | str:
        """See Replays; a process that an environment has ended is replaced."""
        self._refs.pop(0)
        if self._process is None:
            return "there is no process that replays"
        try:
            found: list[str] | str = self._process.receive()
        except Lost as lost:
            found = f"{lost.words}{lost.place}"
            self.close()
            self._start()
        return found

    def _start(self) -> None:
        if self._refs:
            self._process = Watched(main, self._refs, limit=self._limit)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None


@contextlib.contextmanager
def open_replays(refs: Sequence[str], limit: float = 60.0) -> Iterator[Replays]:
    """Start the process for these specs, and end it; ``limit`` is a call's, in seconds."""
    replays = ProcessReplays(refs, limit)
    try:
        yield replays
    finally:
        replays.close()


def main(connection: Connection, refs: Sequence[str]) -> None:
    """Send the digests of every spec, or the error that it met."""
    nowhere = os.open(os.devnull, os.O_WRONLY)  # what an environment prints is told by the checks
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for ref in refs:
        try:
            task = Task.open(load_spec(ref))
            found: list[str] | str = digests(task)
            with contextlib.suppress(SpecError):  # the command itself tells of this one
                task.close()
        except SpecError as error:
            found = str(error)
        except Exception as error:
            found = one_line(error)
        connection.send(found)
