"""All checks of one spec, in the order in which a reader wants them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from promptpo.checks import episodes, parts
from promptpo.checks.action import check_action
from promptpo.checks.facts import check_facts
from promptpo.checks.findings import Effort, Finding, judged
from promptpo.checks.play import Played, play
from promptpo.checks.replay import Replays
from promptpo.checks.reward import check_reward
from promptpo.checks.seeds import check_seeds
from promptpo.errors import SpecError
from promptpo.spec import EnvSpec, Task
from promptpo.spec.authoring.published import published_form
from promptpo.spec.running.explanation import one_line
from promptpo.spec.running.guard import reraise_interrupt


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
    yield from _safely("observation", lambda: parts.check_observation(played))
    yield from _safely("action", lambda: check_action(task))
    yield from _safely("reward", lambda: check_reward(played))
    yield from _safely("horizon", lambda: episodes.check_ends(task, played))
    replayed = replays.next()
    yield from _safely("seeds", lambda: check_seeds(task, replayed, effort))
    yield from _safely("facts", lambda: check_facts(task))
    yield from _safely("prompt", lambda: parts.check_prompt(task.spec))
    yield from _safely("published", lambda: check_published(played))
    yield episodes.check_speed(played, construct)
    yield from _safely("references", lambda: episodes.check_references(task, effort))


def check_published(played: Played) -> Iterator[Finding]:
    """The published form is as true as the spec's own, and tells nothing that it withholds."""
    if not played.spec.published:
        return
    theirs = replace(played, spec=published_form(played.spec))
    found = [
        *parts.check_observation(theirs),
        *check_reward(theirs),
        *parts.check_prompt(theirs.spec),
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
