"""Checks in a process of their own: an environment may hang, crash or end the process it is in."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from promptpo.checks.findings import Effort, Finding
from promptpo.checks.replay import Replays
from promptpo.checks.run import check_spec
from promptpo.errors import SpecError
from promptpo.rollout.watched import Lost, Watched
from promptpo.spec import load_spec

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: What the process asks for, and what it says when a spec has been checked.
_REPLAY, _DONE = "replay", "done"


class MissingPackage(SpecError):
    """A spec that failed only for want of a package, which the message names."""


class Checker:
    """Checks one spec after the other; a context manager.

    ``replays`` must have been opened with the same specs in the same order; ``limit`` is the
    seconds that one call of an environment may take.
    """

    def __init__(self, effort: Effort, replays: Replays, limit: float) -> None:
        self._effort, self._replays, self._limit = effort, replays, limit
        self._process: Watched | None = None

    def findings(self, ref: str) -> Iterator[Finding]:
        """What each check of a spec finds, as soon as it is known.

        Raises SpecError where the environment does not construct.
        """
        if self._process is None:
            self._process = Watched(_serve, self._effort, limit=self._limit)
        process, asked = self._process, False
        process.spec = ref
        try:
            process.send(ref)
            while (message := process.receive()) != _DONE:
                if isinstance(message, SpecError):
                    raise message
                if isinstance(message, Finding):
                    yield message
                else:
                    asked = True
                    process.send(self._replays.next())
        except Lost as lost:
            self._end()
            if not asked:
                self._replays.next()
            yield Finding("environment", "FAIL", f"{lost.words}{lost.location}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


@dataclass
class _Asked(Replays):
    """The replays, as the process that checks has them: from the one that started it."""

    connection: Connection

    def next(self) -> list[str] | str:
        self.connection.send(_REPLAY)
        found: list[str] | str = self.connection.recv()
        return found


def _serve(connection: Connection, effort: Effort) -> None:
    warnings.filterwarnings("ignore", message="Constant.s. may be too high")  # Meta-World's experts
    while True:
        try:
            ref = connection.recv()
        except EOFError:
            os._exit(0)
        try:
            for finding in check_spec(load_spec(ref), effort, _Asked(connection)):
                connection.send(finding)
            connection.send(_DONE)
        except SpecError as error:
            cause = error.__cause__
            lacks = isinstance(cause, ModuleNotFoundError) or (
                type(cause).__name__ == "DependencyNotInstalled"
            )
            connection.send((MissingPackage if lacks else SpecError)(str(error)))
