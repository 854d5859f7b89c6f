"""Plays seeds in a process of its own, to be compared: ``python -m promptpo.check.replay SPEC...``.

One process plays all the specs of a command in turn and writes one JSON line for each, while the
command is at other checks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from promptpo.errors import SpecError
from promptpo.spec import Task, load_spec
from promptpo.spec.trouble import one_line

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


class Replays:
    """Digests from the other process, in the order in which its specs were named."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def next(self) -> list[str] | str:
        """Digests of the next spec, or the error that playing it met."""
        assert self._process.stdout is not None  # noqa: S101 - opened as a pipe
        line = self._process.stdout.readline()
        if not line:
            return "the process that replays ended early"
        found: list[str] | str = json.loads(line)
        return found


@contextlib.contextmanager
def open_replays(refs: Sequence[str]) -> Iterator[Replays]:
    """Start the process for these specs, and end it."""
    command = [sys.executable, "-m", "promptpo.check.replay", *refs]
    process = subprocess.Popen(  # noqa: S603 - our own module
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield Replays(process)
    finally:
        process.kill()
        process.communicate()


def main(refs: Sequence[str]) -> int:
    """Write the digests of every spec."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # what an environment prints must not come between
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
            print(json.dumps(found), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
