"""Holds a spec's data sheet against what the live environment says of itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import zip_longest

from promptpo.checks.findings import Finding, judged
from promptpo.common import text
from promptpo.spec import Task


def check_facts(task: Task) -> Iterator[Finding]:
    """The facts, line by line, are what is measured; a spec without any has nothing to hold."""
    spec = task.spec
    stated = _lines(spec.facts)
    if spec.measured_facts is None:
        if stated:
            remedy = "give the spec measured_facts=... to hold them against its environment"
            yield Finding("facts", "note", f"{text.plural(len(stated), 'line')}; {remedy}")
        return
    measured = spec.measured_facts(task.env)
    if not isinstance(measured, str):
        kind = type(measured).__name__
        yield Finding("facts", "FAIL", f"measured_facts must return a text, not {kind}")
        return
    if not stated:
        problem = "there are none; what the environment says, to be copied into facts"
        yield Finding("facts", "FAIL", problem, tuple(_lines(measured)))
        return
    pairs = zip_longest(stated, _lines(measured))
    problems, more = [], []
    for number, (ours, theirs) in enumerate(pairs, 1):
        if ours != theirs:
            problems = [f"line {number} of facts is not what the environment says"]
            more = [
                f"  facts:    {ours}" if ours is not None else "  facts:    (they end before)",
                f"  measured: {theirs}" if theirs is not None else "  measured: (it ends before)",
                "Write the measured line, or correct measured_facts"
                if theirs is not None
                else "Leave the line out, or correct measured_facts",
            ]
            break
    count = text.plural(len(stated), "line")
    found = judged("facts", problems, f"{count}, as the environment has them")
    yield Finding(found.check, found.verdict, found.detail, tuple(more))


def _lines(words: str) -> list[str]:
    """The lines as they stand in a prompt."""
    return [line.rstrip() for line in inspect.cleandoc(words).strip().splitlines()]
