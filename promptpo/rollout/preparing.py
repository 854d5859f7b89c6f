"""A program's ``prepare``, run once in a sandboxed process of its own before its first episode."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpo.rollout.jobs import Job
from promptpo.rollout.steady import steadily

if TYPE_CHECKING:
    import sandbox

#: Runs it on the file of this descriptor.
Run = Callable[[int], "sandbox.Preparation"]


@dataclass(frozen=True)
class PrepareJob(Job["PrepareRun"]):
    """Run ``prepare`` of a program on the recorded episodes in the file ``data``.

    ``seconds`` are of processor time.
    """

    source: str
    data: str
    seconds: float


@dataclass(frozen=True)
class PrepareRun:
    """What became of a PrepareJob.

    Attributes:
        values: what it returned, as ``sandbox`` packs it; empty where it failed.
        output: what it printed.
        seconds: processor time.
        error: why it failed, as its author is told; ``error_kind`` as of a PlayRun.
    """

    values: bytes = b""
    output: str = ""
    seconds: float = 0.0
    error: str | None = None
    error_kind: str | None = None


def prepared(job: PrepareJob, run: Run) -> PrepareRun:
    """What came of it; a program that fails is a result, never an exception."""
    import sandbox

    data = os.open(job.data, os.O_RDONLY | os.O_CLOEXEC)
    try:
        done = steadily(lambda: run(data))
    except (sandbox.ProgramError, sandbox.Disturbed) as e:
        printed = getattr(e, "output", "")
        seconds = getattr(e, "seconds", 0.0)
        return PrepareRun(output=printed, seconds=seconds, error=e.message, error_kind=e.kind)
    finally:
        os.close(data)
    return PrepareRun(done.values, done.output, done.seconds)
