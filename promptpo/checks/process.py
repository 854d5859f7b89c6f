"""All checks of a spec, in processes of their own: an environment may hang, crash or exit.

One process checks specs in turn; another plays their seeds meanwhile, to be compared.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

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

#: Digests of a spec's seeds, or the error that playing them met.
Digests: TypeAlias = list[str] | str

#: Sent by the process that checks: it needs digests; a spec has been checked.
_REPLAY, _DONE = "replay", "done"


class MissingPackage(SpecError):
    """Raised for a spec that lacks only a package, which the message names."""


class Replays(contextlib.AbstractContextManager["Replays"]):
    """Digests of one spec after the other, from a process that plays their seeds.

    ``limit`` is the seconds that one call of an environment may take.
    """

    def __init__(self, refs: Sequence[str], limit: float = 60.0) -> None:
        self._refs, self._limit = list(refs), limit
        # What an environment prints is shown by the checks: here it is shown under no name.
        self._process = Watched(_replay, self._refs, limit=limit) if refs else None

    def next(self) -> Digests:
        """Return those of the next spec; a process that an environment has ended is replaced."""
        self._refs.pop(0)
        if self._process is None:
            return "there is no process that replays"
        try:
            received: Digests = self._process.receive()
        except Lost as lost:
            self._process.close()
            self._process = None
            if self._refs:
                self._process = Watched(_replay, self._refs, limit=self._limit)
            return f"{lost.words}{lost.location}"
        return received

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.close()


class Checker(contextlib.AbstractContextManager["Checker"]):
    """Checks specs in the order of ``refs``; ``limit`` as of ``Replays``."""

    def __init__(self, refs: Sequence[str], effort: Effort, limit: float) -> None:
        self._effort, self._limit = effort, limit
        self._replays = Replays(refs, limit)
        self._process: Watched | None = None

    def findings(self, ref: str) -> Iterator[Finding]:
        """Yield what each check of the next spec finds, as soon as it is known.

        Raises SpecError where the environment does not construct.
        """
        process = self._process or Watched(_serve, self._effort, limit=self._limit)
        self._process, process.spec = process, ref
        replayed, error = False, None
        try:
            process.send(ref)
            while (message := process.receive()) != _DONE:
                if message == _REPLAY:
                    replayed = True
                    process.send(self._replays.next())
                elif isinstance(message, SpecError):
                    error = message
                    break
                else:
                    yield message
        except Lost as lost:
            process.close()
            self._process = None
            yield Finding("environment", "FAIL", f"{lost.words}{lost.location}")
        if not replayed:
            self._replays.next()
        if error:
            raise error

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.close()
        self._replays.__exit__()


def _serve(connection: Connection, effort: Effort) -> None:
    """Check the specs whose references come, and send what is found."""
    warnings.filterwarnings("ignore", message="Constant.s. may be too high")  # Meta-World's experts

    def replayed() -> Digests:
        connection.send(_REPLAY)
        received: Digests = connection.recv()
        return received

    while True:
        try:
            ref = connection.recv()
        except EOFError:
            os._exit(0)
        try:
            for finding in check_spec(load_spec(ref), effort, replayed):
                connection.send(finding)
            connection.send(_DONE)
        except SpecError as error:
            cause = error.__cause__
            lacks = isinstance(cause, ModuleNotFoundError) or (
                type(cause).__name__ == "DependencyNotInstalled"
            )
            connection.send((MissingPackage if lacks else SpecError)(str(error)))


def _replay(connection: Connection, refs: Sequence[str]) -> None:
    """Send the digests of every spec, or the error that it met."""
    for ref in refs:
        try:
            spec = load_spec(ref)
            task, other = Task.open(spec), Task.open(spec)
            result: Digests = digests(task, company=Company(other))
            with contextlib.suppress(SpecError):  # the checks show this one
                other.close()
                task.close()
        except Exception as error:
            result = _message(error)
        connection.send(result)


def check_spec(spec: EnvSpec, effort: Effort, replayed: Callable[[], Digests]) -> Iterator[Finding]:
    """Yield what each check finds, as soon as it is known; an error in a check is a failure.

    ``replayed`` returns the digests of another process, and is called once at most. Raises
    SpecError where the environment does not construct.
    """
    began = time.perf_counter()
    task = Task.open(spec)
    construct = time.perf_counter() - began
    problem = ""
    try:
        yield from _checks(task, effort, replayed, construct)
    finally:
        try:
            task.close()
        except SpecError as error:  # must not hide what was found
            problem = str(error)
    if problem:
        yield Finding("close", "FAIL", problem)


def _checks(
    task: Task, effort: Effort, replayed: Callable[[], Digests], construct: float
) -> Iterator[Finding]:
    """Yield the findings in the order in which a reader wants them."""
    try:
        played = play(task, effort.transitions)
    except BaseException as error:
        reraise_interrupt(error)
        yield Finding("episodes", "FAIL", _message(error))
        return
    checks: dict[str, Callable[[], Iterator[Finding]]] = {
        "observation": lambda: check_observation(played),
        "action": lambda: check_action(task),
        "reward": lambda: check_reward(played),
        "horizon": lambda: check_ends(task, played),
        "seeds": lambda: check_seeds(task, replayed(), effort),
        "facts": lambda: check_facts(task),
        "prompt": lambda: check_prompt(task.spec),
        "published": lambda: check_published(played),
        "speed": lambda: check_speed(played, construct),
        "references": lambda: check_references(task, effort),
    }
    for name, check in checks.items():
        try:
            yield from check()
        except GeneratorExit:
            raise
        except BaseException as error:
            reraise_interrupt(error)
            yield Finding(name, "FAIL", _message(error))


def _message(error: BaseException) -> str:
    """Return an error's line; our own errors say where and what, others are named by type."""
    return str(error) if isinstance(error, SpecError) else one_line(error)


def check_published(played: Played) -> Iterator[Finding]:
    """Check that the published form is as true as the own one, and tells nothing withheld."""
    if not played.spec.published:
        return
    theirs = replace(played, spec=published_form(played.spec))
    findings = [*check_observation(theirs), *check_reward(theirs), *check_prompt(theirs.spec)]
    failed = [finding for finding in findings if finding.failed]
    problems = [f"{finding.check}: {finding.detail}" for finding in failed]
    own, prompt = ", ".join(played.spec.published), findings[-1].detail
    more = tuple(line for finding in failed for line in finding.more)
    yield replace(judged("published", problems, f"its own {own}; {prompt}"), more=more)
