"""A policy that leans on other episodes of its process gains nothing where episodes count."""

import pytest
from company import COUNTED, counted_cartpole
from scripted import BAD, data_of, replies, run

import promptpo

#: What balances in company falls over within so many steps where it is the first of its process.
ALONE = 11


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return str(counted_cartpole(tmp_path_factory.mktemp("spec")))


@pytest.fixture(scope="module")
def played(spec, tmp_path_factory):
    """The longest episode of the policy in each stream of a run."""
    _, events = run(
        tmp_path_factory.mktemp("run"), replies([COUNTED], [BAD]), spec=spec, smallest_difference=0
    )
    named = [r for r in data_of(events, "rollout") if r["key"]["round"] == 1]
    return {r["stream"]: max(e["length"] for e in r["episodes"]) for r in named}


@pytest.mark.parametrize("stream", ["selection", "test"])
def test_in_a_run(played, stream):
    assert played[stream] < ALONE


def test_in_eval(spec):
    assert promptpo.evaluate(COUNTED, spec, episodes=6, workers=1).mean_return < ALONE
