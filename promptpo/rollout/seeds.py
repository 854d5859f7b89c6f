"""Episode seeds: four streams that cannot meet."""

from __future__ import annotations

import hashlib

from promptpo.common.lives import WITHIN, first_of_life
from promptpo.types import Stream

#: The stream is written into the top two bits of a 31-bit seed, so streams are disjoint.
_STREAM_BITS: dict[Stream, int] = {"search": 0, "selection": 1, "test": 2, "tuning": 3}


def episode_seeds(
    run_seed: int, stream: Stream, count: int, first: int = 0, *, life: int = 1
) -> tuple[int, ...]:
    """Seeds ``first`` to ``first + count - 1`` of a stream, each in 0 .. 2**31 - 1.

    Within a stream the seeds of a run are distinct (up to 2**29 of them); different run seeds
    start at unrelated places. Seed number 0 begins a life of ``life`` episodes, and so does every
    ``life``-th after it.
    """
    digest = hashlib.sha256(f"{run_seed}/{stream}".encode()).digest()
    end = (1 << WITHIN) // life * life
    start = first_of_life(int.from_bytes(digest[:8], "big") % end, life)
    base = _STREAM_BITS[stream] << WITHIN
    return tuple(base | ((start + first + i) % end) for i in range(count))
