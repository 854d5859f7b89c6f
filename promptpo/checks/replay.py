"""Plays seeds in a process of its own, to be compared.

One process plays all the specs of a command in turn and sends their digests, while the command is
at other checks. A second environment steps beside the one that is digested there, as others do
where episodes are played together.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from promptpo.errors import SpecError
from promptpo.rollout.watched import Lost, Watched
from promptpo.spec import Flat, Task, load_spec
from promptpo.spec.running.explanation import one_line

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: What a step returns: observation, reward, terminated, truncated, success.
Outcome: TypeAlias = tuple[Flat, float, bool, bool, bool | None]

SEEDS = (0, 1, 2, 3, 1_000_003, 2_000_000_011)
STEPS = 200

#: Chance may hang on the actions, as an opponent's does: so many others are tried.
ACTION_STREAMS = 30


class Company:
    """Another environment of the same spec, which plays episodes of its own meanwhile."""

    def __init__(self, task: Task) -> None:
        self._task, self._seed, self._over = task, 0, True
        self._space = copy.deepcopy(task.env.action_space)  # a class may share one
        self._space.seed(1)

    def step(self) -> None:
        """Go on by a step, or begin the next episode."""
        if self._over:
            self._seed += 1
            self._task.reset(self._seed)
        row = np.asarray(self._space.sample(), dtype=np.float64).reshape(-1)
        self._over = any(self._task.step(row)[2:4])


def digests(task: Task, seeds: Sequence[int] = SEEDS, company: Company | None = None) -> list[str]:
    """One digest a seed, of observations and rewards under the same actions for all seeds.

    Where these actions show no difference between the seeds, others are tried.
    """
    found: list[str] = []
    for stream in range(1 if task.spec.deterministic else ACTION_STREAMS):
        found = [_digest(task, seed, stream, company) for seed in seeds]
        if len(set(found)) > 1:
            break
    return found


def _digest(task: Task, seed: int, stream: int, company: Company | None) -> str:
    hashed = hashlib.sha256()
    for flat, *rest in episode_of(task, seed, stream, company):
        hashed.update(flat.tobytes())
        hashed.update(repr(tuple(rest)).encode())
    return hashed.hexdigest()


def episode_of(
    task: Task, seed: int, stream: int = 0, company: Company | None = None
) -> Iterator[Outcome]:
    """The first observation and what at most STEPS steps return; ``stream`` decides the actions."""
    space = task.env.action_space
    space.seed(stream)
    yield task.reset(seed), 0.0, False, False, None
    for _ in range(STEPS):
        if company is not None:
            company.step()
        row = np.asarray(space.sample(), dtype=np.float64).reshape(-1)
        outcome = task.step(row)
        yield outcome
        if outcome[2] or outcome[3]:
            break


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
            found = f"{lost.words}{lost.location}"
            self.close()
            self._start()
        return found

    def _start(self) -> None:
        if self._refs:
            # What an environment prints is told by the checks: here it is shown under no name.
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
    for ref in refs:
        try:
            spec = load_spec(ref)
            task, other = Task.open(spec), Task.open(spec)
            found: list[str] | str = digests(task, company=Company(other))
            with contextlib.suppress(SpecError):  # the command itself tells of this one
                other.close()
                task.close()
        except SpecError as error:
            found = str(error)
        except Exception as error:
            found = one_line(error)
        connection.send(found)
