"""Check of a spec's published form, for those that have one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from promptpo.checks.findings import Finding, judged
from promptpo.checks.parts import check_observation, check_prompt
from promptpo.checks.play import Played
from promptpo.checks.reward import check_reward
from promptpo.spec.authoring.published import published_form


def check_published(played: Played) -> Iterator[Finding]:
    """The published form is as true as the spec's own, and tells nothing that it withholds."""
    if not played.spec.published:
        return
    theirs = replace(played, spec=published_form(played.spec))
    found = [*check_observation(theirs), *check_reward(theirs), *check_prompt(theirs.spec)]
    problems = [f"{finding.check}: {finding.detail}" for finding in found if finding.failed]
    parts = ", ".join(played.spec.published)
    prompt = next(finding.detail for finding in found if finding.check == "prompt")
    more = tuple(line for finding in found if finding.failed for line in finding.more)
    yield replace(judged("published", problems, f"its own {parts}; {prompt}"), more=more)
