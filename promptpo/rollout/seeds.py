"""Episode seeds: three streams that cannot meet."""

from __future__ import annotations

import hashlib

from promptpo.types import Stream

#: The stream is written into the top two bits of a 31-bit seed, so streams are disjoint.
_STREAM_BITS: dict[Stream, int] = {"search": 0, "selection": 1, "test": 2}
_WITHIN = 29


def episode_seeds(run_seed: int, stream: Stream, count: int, first: int = 0) -> tuple[int, ...]:
    """Seeds ``first`` to ``first + count - 1`` of a stream, each in 0 .. 2**31 - 1.

    Within a stream the seeds of a run are distinct (up to 2**29 of them); different run seeds
    start at unrelated places.
    """
    digest = hashlib.sha256(f"{run_seed}/{stream}".encode()).digest()
    start = int.from_bytes(digest[:8], "big")
    base = _STREAM_BITS[stream] << _WITHIN
    return tuple(base | ((start + first + i) % (1 << _WITHIN)) for i in range(count))
