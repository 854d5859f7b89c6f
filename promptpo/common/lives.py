"""Lives: the episodes that one policy object plays, one after another; an evaluation is one life.

Which life an episode belongs to is a function of its seed alone, so that an episode can be played
again by itself: a stream of seeds falls into lives from its first seed on, and seeds are drawn
from where a life begins (``rollout.seeds``). What a task draws once for a whole life
(``EnvSpec.new_life``) is drawn from a seed that is no episode's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, TypeVar

T = TypeVar("T")

#: Bits of a seed below those that name its stream.
WITHIN = 29

#: Episodes of a life where nobody says how many.
EPISODES = 10

#: Set in the seed of a life, and in no seed of an episode.
_LIFE_BIT = 31


def life_of(config: Mapping[str, Any]) -> int:
    """Return the episodes that one policy object plays by a run's recorded settings."""
    if config.get("policy_lifetime") != "evaluation":
        return 1
    return int(config.get("evaluation_episodes") or EPISODES)


def first_of_life(seed: int, life: int) -> int:
    """Return the seed of the first episode of the life of ``life`` episodes that a seed is in."""
    return seed - seed % (1 << WITHIN) % life


def life_seed(seed: int, life: int) -> int:
    """Return the seed of a whole life, which is the same for all of its episodes.

    Of the seeds of ``rollout.seeds`` it makes numbers in 2**31 .. 2**32 - 1.
    """
    return 1 << _LIFE_BIT | first_of_life(seed, life)


def in_lives(items: Iterable[T], life: int, seed: Callable[[T], int]) -> list[tuple[T, ...]]:
    """Return items grouped by life: those of one life that follow each other."""
    return [tuple(group) for _, group in groupby(items, lambda x: first_of_life(seed(x), life))]


def whole(count: int, life: int) -> int:
    """Return the smallest number of episodes, ``count`` or more, that makes whole lives."""
    return -(-count // life) * life
