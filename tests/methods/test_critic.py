"""The Critic, on code: whose policy is revised, what it is told, and what becomes of its edits."""

import pytest
from fake_services import fails, fenced, plays, services

from promptpo.errors import LimitReached
from promptpo.methods.promptpo import PromptPO
from promptpo.types import Key


def edit(search, instead):
    return f"It falls.\n\n<<<<<<< SEARCH\n    {search}\n=======\n    {instead}\n>>>>>>> REPLACE\n"


def criticised(*rounds, replies=(), **settings):
    """Services whose critic says these things, by the revision's round and number."""
    fake = services(*rounds, **{"critic": "winner", **settings})
    for key, text in dict(replies).items():
        fake.replies[Key(*key, role="critic")] = text
    return fake


def revisions(search):
    return [c for r in search.rounds for c in r.candidates if c.kind == "revision"]


BETTER = {(1, 3): edit("# plays 2", "# plays 5")}


def test_the_winner_is_revised_and_the_better_of_the_two_stays():
    fake = criticised([plays(1), plays(2)], replies=BETTER)
    search = fake.search()
    (made,) = revisions(search)
    assert (made.name, made.parents, made.key.role) == ("r01_c03", ("r01_c02",), "")
    assert made.source == plays(2).replace("plays 2", "plays 5")
    assert search.rounds[0].winner.name == "r01_c03"
    assert [str(k) for k in fake.asked if k.candidate] == [
        "r01_c01_policy", "r01_c02_policy", "r01_c03_critic",
    ]  # fmt: skip


def test_a_revision_that_is_worse_does_not_stay():
    fake = criticised([plays(2)], replies={(1, 2): edit("# plays 2", "# plays 1")})
    assert fake.search().rounds[0].winner.name == "r01_c01"


def test_it_plays_the_episodes_of_the_policy_that_it_came_from():
    fake = criticised([plays(1), plays(2)], replies=BETTER)
    (made,) = revisions(fake.search())
    assert len({seeds for _, seeds, _ in fake.played}) == 1
    assert made.rollout.seeds == fake.played[0][1]


def test_all_that_played_are_revised_each_text_once():
    replies = {
        (1, 5): edit("# plays 1", "# plays 3"),
        (1, 6): edit("# plays 2", "# plays 4"),
    }
    fake = criticised([plays(1), fails("no"), plays(1), plays(2)], replies=replies, critic="all")
    made = revisions(fake.search())
    assert [(c.name, c.parents) for c in made] == [
        ("r01_c05", ("r01_c01",)), ("r01_c06", ("r01_c04",)),
    ]  # fmt: skip


def test_where_all_failed_nobody_is_asked():
    fake = criticised([fails("no")])
    fake.search()
    assert not [key for key in fake.asked if key.role == "critic"]


def test_the_critic_sees_source_figures_and_the_median_episode_with_its_rewards():
    fake = criticised([plays("seed % 2"), plays(-1)], replies={(1, 3): "UNCHANGED"}, episodes=5)
    fake.search()
    told = fake.prompt(1, 3, role="critic")
    assert plays("seed % 2").strip() in told
    assert "lowest 0, highest 1" in told
    assert "95% interval of the mean return" in told
    assert "The median episode" in told
    assert "The worst episode" not in told
    assert "| action | reward" in told


def test_it_can_be_shown_three_episodes():
    fake = criticised(
        [plays("seed")], replies={(1, 2): "UNCHANGED"}, critic_shows="three", episodes=5
    )
    fake.search()
    told = fake.prompt(1, 2, role="critic")
    assert told.index("The worst episode") < told.index("The median episode")
    assert told.index("The median episode") < told.index("The best episode")


def test_it_is_told_how_the_policy_stands_beside_the_best_before_it():
    replies = {(1, 2): "UNCHANGED", (2, 2): "UNCHANGED"}
    fake = criticised([plays(1)], [plays("3 + seed % 2")], replies=replies)
    fake.search()
    assert "Beside the best before it, r01_c01" in fake.prompt(2, 2, role="critic")
    assert "Beside the best" not in fake.prompt(1, 2, role="critic")


def test_what_does_well_enough_is_to_be_left_alone():
    fake = criticised([plays(499)], replies={(1, 2): "UNCHANGED"})
    fake.search()
    assert "counts as solved" in fake.prompt(1, 2, role="critic")


def test_a_broken_edit_goes_back_and_then_counts_as_failed():
    fake = criticised([plays(2)], replies={(1, 2): edit("# plays 7", "x")}, repairs=1)
    fake.replies[Key(1, 2, 1, "critic")] = "Push harder."
    search = fake.search()
    (made,) = revisions(search)
    assert "no line '# plays 7'" in fake.prompt(1, 2, 1, role="critic")
    assert (made.key.attempt, made.score.failed) == (1, True)
    assert "no edit" in made.error
    assert search.rounds[0].winner.name == "r01_c01"


def test_a_revision_that_raises_goes_back():
    fake = criticised([plays(2)], replies={(1, 2): edit("# plays 2", "# fails: no")}, repairs=1)
    fake.replies[Key(1, 2, 1, "critic")] = fenced(plays(6))
    (made,) = revisions(fake.search())
    assert "it printed this" in fake.prompt(1, 2, 1, role="critic")
    assert (made.score.mean_return, made.kind, made.parents) == (6, "revision", ("r01_c01",))


def test_a_policy_that_is_left_as_it_is_keeps_its_score_and_wins():
    luck = plays("10 if seed > 101 else 2")
    fake = criticised([luck], [luck], replies={(1, 2): "UNCHANGED", (2, 2): "UNCHANGED"})
    search = fake.search()
    assert [r.winner.name for r in search.rounds] == ["r01_c01", "r02_c01"]
    written, left = search.rounds[1].candidates
    assert (left.source, left.score) == (written.source, written.score)


def test_a_limit_before_the_critic_leaves_the_round_as_it_was():
    fake = criticised([plays(2)])
    fake.ends[Key(1, 2, role="critic")] = LimitReached("no call is left")
    search = fake.search()
    assert search.rounds[0].winner.name == "r01_c01"
    assert revisions(search)[0].error == "not written: no call is left"


def test_later_rounds_are_told_of_a_revision_and_what_it_changed():
    replies = {**BETTER, (2, 3): "UNCHANGED"}
    fake = criticised([plays(1), plays(2)], [plays(1), plays(2)], replies=replies)
    fake.search()
    assert "a critic's revision of r01_c02" in fake.prompt(2, 1, role="policy")


def test_the_same_replies_resume_to_the_same_search():
    fake = criticised([plays(1), plays(2)], replies=BETTER)
    first = fake.search()
    asked, played = list(fake.asked), list(fake.played)
    assert fake.search() == first
    assert (fake.asked, fake.played) == (asked, played)


@pytest.mark.parametrize(("critic", "revised"), [("off", 0), ("winner", 1), ("all", 2)])
def test_the_limits_keep_room_for_revisions(critic, revised):
    fake = services([plays(1), plays(2)], critic=critic)
    for number in (3, 4):
        fake.replies[Key(1, number, role="critic")] = "UNCHANGED"
    fake.search()
    assert fake.guests[1] == tuple(Key(1, 3 + i) for i in range(revised))
    assert len(fake.asked) == PromptPO.forecast(fake.spec, fake.config).calls


def test_its_prompts_can_be_shown():
    fake = services([plays(1)], critic="winner", critic_shows="three")
    titles = dict(PromptPO.all_prompts(fake.spec, fake.config))
    assert "The worst episode (<its result>)" in titles["critic"][-1].content
    assert "critic, after a revision that failed" in titles
