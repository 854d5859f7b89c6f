"""What happens without a policy: a few episodes of zero and of random actions, in words."""

from __future__ import annotations

from promptpo.errors import LimitReached
from promptpo.methods.base import Services
from promptpo.methods.describing import Describer
from promptpo.policies import Program
from promptpo.policies.parametric import PROBES
from promptpo.types import Candidate, Key

#: The first of the search episodes that probes play, far from those of any round.
_FIRST = 1 << 28


async def probe(services: Services, describer: Describer, episodes: int) -> tuple[Candidate, ...]:
    """Zero and random actions as policies of a round 0, with so many episodes each, described."""
    found = []
    for number, make in enumerate(PROBES.values() if episodes else (), 1):
        key, source = Key(0, number), make(services.task.actions)
        seeds = services.seeds(_FIRST, episodes)
        try:
            [run] = await services.play(Program.of(source), seeds, keys=[key])
        except LimitReached:
            break
        candidate = Candidate(key, source, run, run.error, kind="probe")
        services.record(candidate)
        found.append(await describer.described(candidate, in_full=False))
    return tuple(found)
