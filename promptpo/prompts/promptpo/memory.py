"""What the prompts of a round tell of the search so far, apart from its wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from promptpo.racing import Paired, met_before, paired
from promptpo.types import Candidate, Round, best_round

#: Titles of notes: of a round, what its author thought of the last one; of candidates, episodes.
REFLECTION = "Reflection before it"
WORST, MEDIAN, BEST = "Worst episode", "Median episode", "Best episode"
SECOND = "Second line of attack"
HARD, FAILED = "Hard episode", "Another failed episode"
NEVER = "Of its lines"


@dataclass(frozen=True)
class Memory:
    """The rounds so far, and what is worth telling of them.

    Attributes:
        rounds: all that have ended; their candidates' notes are what Feedback made of episodes.
        second: the promising policy that behaves most unlike the best; None where there is none.
        probes: what zero and random actions do.
        reflection: what was last thought of it; empty where nothing was asked.
        feedback: the Feedback class in force; empty where there is none.
        tuned: what the last round's tunings found, a paragraph each.
    """

    rounds: tuple[Round, ...] = ()
    second: Candidate | None = None
    probes: tuple[Candidate, ...] = ()
    reflection: str = ""
    feedback: str = ""
    tuned: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate | None:
        """The best policy so far; None where nothing has played."""
        best = best_round(self.rounds).winner if self.rounds else None
        return None if best is None or best.score.failed else best

    @property
    def last(self) -> Round | None:
        """The round that has just ended."""
        return self.rounds[-1] if self.rounds else None


def challenged(rounds: Sequence[Round]) -> dict[int, list[Candidate]]:
    """The policies that went on to play the episodes of later rounds, by the seeds they met."""
    found: dict[int, list[Candidate]] = {}
    for candidate in (c for r in rounds for c in r.candidates if c.later):
        for seed in candidate.pooled.seeds if candidate.pooled else ():
            found.setdefault(seed, []).append(candidate)
    return found


def against_incumbent(
    candidate: Candidate, others: Mapping[int, Sequence[Candidate]]
) -> Paired | None:
    """A candidate less the policy of an earlier round that played its episodes too, if one did.

    ``others``: those that were ``challenged``.
    """
    seeds = candidate.rollout.seeds if candidate.rollout else ()
    incumbent = met_before(candidate, others.get(seeds[0], ()) if seeds else ())
    if incumbent is None or incumbent.pooled is None or candidate.pooled is None:
        return None
    return paired(candidate.pooled, incumbent.pooled)
