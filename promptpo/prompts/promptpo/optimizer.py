"""The history of a run as an optimizer's state: every policy with its score, the best last.

Source: C. Yang et al., "Large language models as optimizers" (OPRO, arXiv 2309.03409), whose prompt
holds pairs of solution and score, sorted upwards, and nothing else of what came before.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptpo.common.plaintext import fenced
from promptpo.prompts.promptpo.words import score_words
from promptpo.prompts.task import CHARS_PER_TOKEN
from promptpo.types import Candidate, Round

_HEAD = """\
## What has been tried

Policies with their scores (mean return ± standard error, episodes), from the worst to the best,
which comes last.
"""


def render_solutions(rounds: Sequence[Round], budget: int) -> str:
    """All policies of all rounds, each text once, in about ``budget`` tokens.

    What does not fit goes from the worst on; the best stays. Empty for no rounds.
    """
    solutions = _sorted(rounds)
    if not solutions:
        return ""
    texts = [_solution(candidate) for candidate in solutions]
    left, first = budget * CHARS_PER_TOKEN - len(_HEAD), len(texts)
    while first and (first == len(texts) or len(texts[first - 1]) <= left):
        first -= 1
        left -= len(texts[first])
    gone = [f"({first} that score less are left out for space.)\n"] if first else []
    return "\n".join([_HEAD, *gone, *texts[first:]]) + "\n"


def _sorted(rounds: Sequence[Round]) -> list[Candidate]:
    """From the worst to the best; of equal scores the earlier one counts as the better."""
    candidates = [c for r in rounds for c in r.candidates]
    texts = {c.identity or c.name: c for c in sorted(candidates, key=_standing)}
    return sorted(texts.values(), key=_standing)


def _standing(candidate: Candidate) -> tuple[tuple[bool, float, float], int, int]:
    return candidate.score.key, -candidate.key.round, -candidate.key.candidate


def _solution(candidate: Candidate) -> str:
    """A policy and its score; of one that failed only why."""
    if candidate.score.failed:
        return f"{candidate.name}: {score_words(candidate)}\n"
    source = fenced((candidate.source or "").strip(), "python")
    return f"{candidate.name}:\n\n{source}\n\nScore: {score_words(candidate)}\n"
