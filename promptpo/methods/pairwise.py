"""Two policies beside each other: which is better on the same episodes, and where they part.

Source of the idea: Y. Lee et al., "Feedback descent" (arXiv 2511.07919), in which a comparison of
two in words is what the next proposal goes by.
"""

from __future__ import annotations

from collections.abc import Sequence

from promptpo.methods.base import Services
from promptpo.prompts.promptpo.pairwise import pair_words
from promptpo.racing import paired
from promptpo.types import Candidate, Round, best_round


async def compared(services: Services, rounds: Sequence[Round]) -> str:
    """The comparison in words; empty where no two policies have two episodes in common."""
    for a, b in pairs(rounds):
        told = paired(a.pooled, b.pooled) if a.pooled and b.pooled else None
        if told is None:
            continue
        seed = _most_apart(a, b)
        one, other = [(await services.episodes(c, [seed]))[0] for c in (a, b)]
        return pair_words(services.spec, (a, b), told, (one, other))
    return ""


def pairs(rounds: Sequence[Round]) -> list[tuple[Candidate, Candidate]]:
    """Which two to compare, the better one first, in the order of preference.

    The best so far with the last round's winner; where that is the best so far, with the one before
    it, else with the runner-up of its round.
    """
    best, last = best_round(rounds).winner, rounds[-1]
    if best.score.failed:
        return []
    others = [last.winner]
    if len(rounds) > 1:
        others.append(best_round(rounds[:-1]).winner)
    others += sorted(last.candidates, key=lambda c: c.score, reverse=True)
    unlike = [c for c in others if c.identity != best.identity and not c.score.failed]
    named = {c.name: c for c in unlike}
    return [(best, c) for c in named.values()]


def _most_apart(a: Candidate, b: Candidate) -> int:
    """The seed of the common episode in which the better one gains most."""
    assert a.pooled is not None and b.pooled is not None  # noqa: S101 - they are compared
    other = {e.seed: e for e in b.pooled.whole}
    common = [e for e in a.pooled.whole if e.seed in other]
    return max(common, key=lambda e: (bool(e.success) - bool(other[e.seed].success),
                                      e.return_ - other[e.seed].return_)).seed  # fmt: skip
