"""What PromptPO says of itself: its forecast, and all its prompts."""

import pytest
from fake_services import plays, services

from promptpo.methods.promptpo import PromptPO
from promptpo.run.settings import build
from promptpo.spec import load_spec


@pytest.mark.parametrize(
    ("settings", "calls", "most"),
    [
        ({"rounds": 3, "candidates": 4}, 1 + 12 + 2, 1 + 12 + 2 + 13 * 3),
        ({"rounds": 3, "candidates": 4, "reflection": False}, 1 + 12, 1 + 12 + 13 * 3),
        ({"rounds": 1, "candidates": 2, "max_repairs": 0}, 3, 3),
    ],
)
def test_the_forecast_counts_what_will_be_asked_for(settings, calls, most):
    config = build(settings)
    demand = PromptPO.forecast(load_spec("cartpole"), config)
    assert (demand.calls, demand.max_calls) == (calls, most)
    assert demand.finalists == config.rounds
    assert demand.prompt_tokens > 500 * demand.calls
    assert demand.completion_tokens > 100 * demand.calls


#: Of two rounds of three: probes, first episodes, those of the best so far in round 2, hard ones.
PARTS = (2 * 2, 2 * 3 * 5, 5, 3 * 3)


@pytest.mark.parametrize(
    ("settings", "episodes"),
    [
        ({"preset": "paper"}, 2 * 3 * 5),
        ({"episodes": 5}, sum(PARTS)),
        ({"episodes": 5, "probe": 0}, sum(PARTS[1:])),
        ({"episodes": 5, "challenge": False}, sum(PARTS[:2])),
        ({"episodes": "auto"}, sum(PARTS) + 2 * 4 * 10),
    ],
    ids=str,
)
def test_the_forecast_counts_the_episodes_that_there_can_be(settings, episodes):
    config = build({"rounds": 2, "candidates": 3, **settings})
    assert PromptPO.forecast(load_spec("cartpole"), config).search_steps == episodes * 500


@pytest.mark.parametrize("settings", [{}, {"episodes": 2, "preset": "paper"}], ids=str)
def test_a_search_plays_no_more_than_its_forecast(settings):
    close = [[plays(f"{i} + (seed * 7919) % 5") for i in (0, 0.1, 0.2)] for _ in range(3)]
    fake = services(*close, probe=2, **{"episodes": "auto", **settings})
    fake.search()
    played = sum(len(seeds) for _, seeds, _ in fake.played)
    assert played <= PromptPO.forecast(fake.spec, fake.config).search_steps / 500


def test_the_forecast_is_what_a_search_asks():
    fake = services([plays(1), plays(2)], [plays(3), plays(4)], [plays(5), plays(6)])
    fake.search()
    assert len(fake.asked) == PromptPO.forecast(fake.spec, fake.config).calls
