"""``--history optimizer``: sources and scores are all that prompts tell."""

from fake_services import plays, services

from promptpo.methods.promptpo import PromptPO
from promptpo.types import Key


def test_policies_are_all_that_is_asked_for():
    made = services([plays(1), plays(2)], [plays(3), plays(4)], history="optimizer", probe=2)
    made.search()
    assert {key.role for key in made.asked} == {"policy"}
    assert len(made.asked) == PromptPO.forecast(made.spec, made.config).calls
    assert len({made.prompts[Key(2, i, role="policy")] for i in (1, 2)}) == 1


def test_prompts_hold_sources_by_their_scores():
    made = services([plays(2), plays(1)], [plays(3), plays(4)], history="optimizer")
    made.search()
    told = made.prompt(2, 1, role="policy")
    assert told.index("plays 1") < told.index("plays 2")
    assert "episode:" not in told
    assert "TRACE" not in told


def test_it_shows_the_prompts_that_it_asks():
    made = services([plays(1)], history="optimizer")
    titles = [title for title, _ in PromptPO.all_prompts(made.spec, made.config)]
    assert titles == ["policy, round 1", "policy, round 2 and later", "repair of a policy"]
