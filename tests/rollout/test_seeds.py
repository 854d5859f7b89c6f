from itertools import combinations

import pytest

from promptpo.rollout.seeds import episode_seeds

STREAMS = ("search", "selection", "test")


def test_streams_never_meet():
    drawn = {s: set(episode_seeds(7, s, 5000)) for s in STREAMS}
    for a, b in combinations(STREAMS, 2):
        assert not drawn[a] & drawn[b]


@pytest.mark.parametrize("stream", STREAMS)
def test_seeds_of_a_stream_are_distinct_and_fit_31_bits(stream):
    seeds = episode_seeds(3, stream, 5000)
    assert len(set(seeds)) == 5000
    assert all(0 <= s < 2**31 for s in seeds)


def test_rounds_continue_one_stream():
    whole = episode_seeds(1, "search", 15)
    assert whole == sum((episode_seeds(1, "search", 5, first) for first in (0, 5, 10)), ())


def test_run_seeds_differ():
    assert not set(episode_seeds(0, "search", 100)) & set(episode_seeds(1, "search", 100))
