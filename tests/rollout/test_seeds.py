from itertools import combinations

import pytest

from promptpo.common.lives import in_lives, life_seed
from promptpo.rollout.seeds import episode_seeds

STREAMS = ("search", "selection", "test")


def test_seeds_of_a_stream_are_distinct_fit_31_bits_and_streams_never_meet():
    drawn = {stream: episode_seeds(7, stream, 5000) for stream in STREAMS}
    for seeds in drawn.values():
        assert len(set(seeds)) == 5000
        assert all(0 <= s < 2**31 for s in seeds)
    for a, b in combinations(STREAMS, 2):
        assert not set(drawn[a]) & set(drawn[b])
    assert not set(episode_seeds(0, "search", 100)) & set(episode_seeds(1, "search", 100))


@pytest.mark.parametrize("life", [1, 3, 10, 16])
def test_a_stream_falls_into_whole_lives_from_its_first_seed_on(life):
    seeds = episode_seeds(5, "test", 4 * life, life=life)
    parts = (episode_seeds(5, "test", life, first, life=life) for first in range(0, 4 * life, life))
    assert seeds == sum(parts, ())
    assert [len(lived) for lived in in_lives(seeds, life, int)] == [life] * 4
    drawn = {life_seed(seed, life) for seed in seeds}
    assert len(drawn) == 4
    assert all(2**31 <= seed < 2**32 for seed in drawn)


def test_lives_of_different_streams_draw_from_different_seeds():
    drawn = [
        {life_seed(seed, 10) for seed in episode_seeds(5, stream, 5000, life=10)}
        for stream in STREAMS
    ]
    assert len(set.union(*drawn)) == sum(map(len, drawn)) == 1500
