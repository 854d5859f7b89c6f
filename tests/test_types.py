"""The vocabulary's own rules."""

import itertools
import math
import random

from promptpo.types import Score

ODD = (math.nan, -math.inf, math.inf, -1e308, 0.0, 1.0)


def test_every_score_has_its_place_whatever_it_holds():
    scores = [Score(mean, rate) for mean in ODD for rate in (None, *ODD)] + [Score(failed=True)]
    in_order = [s.key for s in sorted(scores)]
    for seed in range(20):
        assert [s.key for s in sorted(random.Random(seed).sample(scores, len(scores)))] == in_order
    for one, other in itertools.product(scores, repeat=2):
        assert (one < other) + (other < one) + (one == other) == 1


def test_a_return_that_is_no_number_beats_failures_only():
    assert Score(failed=True) < Score(math.nan) < Score(-1e308)
