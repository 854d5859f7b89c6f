"""All checks of a spec, in processes of their own: an environment may hang, crash or exit.

One process checks; another replays the seeds of all specs of a command in turn meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from promptpo.checks.description import check_action, check_facts, check_observation, check_prompt
from promptpo.checks.episodes import (
    Company,
    check_ends,
    check_references,
    check_seeds,
    check_speed,
    digests,
)
from promptpo.checks.findings import Effort, Finding, judged
from promptpo.checks.play import Played, play
from promptpo.checks.reward import check_reward
from promptpo.errors import SpecError
from promptpo.rollout.watched import Lost, Watched
from promptpo.spec import EnvSpec, Task, load_spec
from promptpo.spec.calls import one_line, reraise_interrupt
from promptpo.spec.validation import published_form

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


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


def check_spec(spec: EnvSpec, effort: Effort, replays: Replays) -> Iterator[Finding]:
    """Yield what each check finds, as soon as it is known; an error in a check is a failure.

    ``replays`` must have been opened with this spec next in turn. Raises SpecError where the
    environment does not construct.
    """
    began = time.perf_counter()
    try:
        task = Task.open(spec)
    except SpecError:
        replays.next()
        raise
    construct = time.perf_counter() - began
    problem = ""
    try:
        yield from _checks(task, effort, replays, construct)
    finally:
        try:
            task.close()
        except SpecError as error:  # must not hide what was found
            problem = str(error)
    if problem:
        yield Finding("close", "FAIL", problem)


def _checks(task: Task, effort: Effort, replays: Replays, construct: float) -> Iterator[Finding]:
    try:
        played = play(task, effort.transitions)
    except BaseException as error:
        reraise_interrupt(error)
        replays.next()
        yield Finding("episodes", "FAIL", _message(error))
        return
    yield from _safely("observation", lambda: check_observation(played))
    yield from _safely("action", lambda: check_action(task))
    yield from _safely("reward", lambda: check_reward(played))
    yield from _safely("horizon", lambda: check_ends(task, played))
    replayed = replays.next()
    yield from _safely("seeds", lambda: check_seeds(task, replayed, effort))
    yield from _safely("facts", lambda: check_facts(task))
    yield from _safely("prompt", lambda: check_prompt(task.spec))
    yield from _safely("published", lambda: check_published(played))
    yield check_speed(played, construct)
    yield from _safely("references", lambda: check_references(task, effort))


def check_published(played: Played) -> Iterator[Finding]:
    """The published form is as true as the spec's own, and tells nothing that it withholds."""
    if not played.spec.published:
        return
    theirs = replace(played, spec=published_form(played.spec))
    found = [
        *check_observation(theirs),
        *check_reward(theirs),
        *check_prompt(theirs.spec),
    ]
    failed = [finding for finding in found if finding.failed]
    problems = [f"{finding.check}: {finding.detail}" for finding in failed]
    own = ", ".join(played.spec.published)
    prompt = next(finding.detail for finding in found if finding.check == "prompt")
    more = tuple(line for finding in failed for line in finding.more)
    yield replace(judged("published", problems, f"its own {own}; {prompt}"), more=more)


def _safely(check: str, run: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Findings of a check; what it raises is one more."""
    try:
        yield from run()
    except GeneratorExit:
        raise
    except BaseException as error:
        reraise_interrupt(error)
        yield Finding(check, "FAIL", _message(error))


def _message(error: BaseException) -> str:
    """Our own errors say where and what; others are told with their type."""
    return str(error) if isinstance(error, SpecError) else one_line(error)


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
