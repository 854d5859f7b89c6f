"""Seeds of programs: what a program's generators start from tells nothing of its environment.

An environment's generator is a known function of its seed, and seeds are small numbers that people
choose. Were a program's generators started from the seed itself, or from a hash of it that anybody
can compute, a program could read its own generator's state, try all likely seeds, and foretell
every draw of the environment. So the hash has a key: with one that the program cannot know,
there is nothing to try. It is taken by the host, and the seed itself never crosses.
"""

from __future__ import annotations

import hashlib

#: One purpose, one function: a number for another purpose is unrelated.
_SLOT = b"policy slot"


def slot_seed(seed: int, key: bytes) -> int:
    """What a slot's generators start from, in 0 .. 2**64 - 1.

    Args:
        seed: of the episode, in 0 .. 2**64 - 1.
        key: at most 64 bytes; the same key and seed give the same number.
    """
    data = int(seed).to_bytes(8, "little")
    digest = hashlib.blake2b(data, digest_size=8, key=key, person=_SLOT).digest()
    return int.from_bytes(digest, "little")
