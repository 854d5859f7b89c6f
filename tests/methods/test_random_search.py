"""Random search against services that a test has written."""

import re

import numpy as np
import pytest
from fake_services import FakeServices, mean_returns

from promptpo.methods.random_search import RandomSearch
from promptpo.policies import Actions


def weights(source):
    """The numbers of a linear policy that stand between the brackets of WEIGHTS."""
    found = re.search(r"WEIGHTS = np.array\(\[\n(.*?)\n\]\)", source, re.DOTALL)[1]
    return tuple(float(x) for x in re.findall(r"-?\d[\d.e+-]*", found))


def first_weight(source, seed):
    """Makes a return of a policy: those with a greater first weight are better."""
    return weights(source)[0]


def services(outcome=first_weight, **settings):
    small = {"rounds": 2, "candidates": 3, "episodes": 2}
    return FakeServices("random-search", outcome=outcome, **{**small, **settings})


def sources(search):
    return [c.source for r in search.rounds for c in r.candidates]


def test_it_asks_nobody_and_the_samples_of_a_round_meet_the_same_episodes():
    fake = services()
    fake.search()
    assert (fake.asked, fake.config.model) == ([], None)
    assert not RandomSearch.needs_model
    assert [seeds for _, seeds, _ in fake.played] == [(100, 101)] * 3 + [(102, 103)] * 3
    assert not any(keep for _, _, keep in fake.played)


def test_winners_are_the_finalists_and_samples_recorded_as_such():
    search = services().search()
    assert {c.kind for r in search.rounds for c in r.candidates} == {"sample"}
    for round_, finalist in zip(search.rounds, search.finalists, strict=True):
        assert finalist.score.mean_return == max(mean_returns(round_.candidates).values())

    def outcome(source, seed):
        weight = first_weight(source, seed)
        return "it divides by nothing" if weight > 0 else weight

    search = services(outcome, candidates=8).search()
    failed = [c for r in search.rounds for c in r.candidates if c.error]
    assert failed
    assert {c.error for c in failed} == {"it divides by nothing"}
    assert all(c.score.mean_return <= 0 for c in search.finalists)


def test_the_seed_decides_what_is_drawn_in_each_round_alone():
    drawn = sources(services(seed=5).search())
    assert len(set(drawn)) == 6
    assert sources(services(seed=5).search()) == drawn
    assert not set(sources(services(seed=6).search())) & set(drawn)

    fake = services(rounds=3)
    fake.allowed[1] = 1
    less, all_of_them = fake.search(), services(rounds=3).search()
    for a, b in zip(less.rounds, all_of_them.rounds, strict=True):
        assert [c.source for c in a.candidates] == [c.source for c in b.candidates][
            : len(a.candidates)
        ]


def test_weights_are_as_large_as_is_asked_for():
    def spread(scale):
        drawn = sources(services(candidates=40, scale=scale).search())
        return np.std([weight for source in drawn for weight in weights(source)])

    assert spread(10.0) == pytest.approx(10 * spread(1.0), rel=1e-3)
    assert 0.5 < spread(1.0) < 2


def test_a_table_is_drawn_where_states_are_few():
    actions = Actions(counts=(4,), starts=(0,))
    fake = services(lambda source, seed: 1.0, spec="frozen_lake", actions=actions, candidates=2)
    for source in sources(fake.search()):
        cells = re.findall(r"^    \((\d),\),$", source, re.MULTILINE)
        assert len(cells) == 16
        assert set(cells) <= set("0123")
        assert len(set(cells)) > 1
