"""``--preset paper``: PromptPO as published, whatever ours does more."""

from fake_services import fails, fenced, plays, services

from promptpo.run.settings import build
from promptpo.types import Key, Note


def published(*rounds, **settings):
    """As few rounds, candidates and episodes as are written; else the preset."""
    preset = build({"preset": "paper"}).options
    return services(
        *rounds, repairs=preset.max_repairs, preset="paper", **{"probe": preset.probe, **settings}
    )


#: Would be a second line of attack, and an episode in which the best has failed.
SAFE, FAST = plays("seed % 3", length="10"), plays(2, "fast", length="2")


def test_it_is_ten_rounds_of_ten_with_five_episodes_each():
    c = build({"preset": "paper"})
    assert (c.rounds, c.candidates, c.first_episodes, c.races) == (10, 10, 5, False)
    assert c.selection == (20, 20)
    assert (c.patience, c.early_stop, c.facts, c.options.max_repairs) == (0, False, False, 10)


def test_every_candidate_plays_its_round_s_episodes_by_one_prompt_and_nothing_else_is_played():
    fake = published([SAFE, FAST, plays(1)], [plays(1)] * 3)
    fake.search()
    for number in (1, 2):
        assert len({fake.prompts[Key(number, i, role="policy")] for i in (1, 2, 3)}) == 1

    fake = published([plays("seed % 3"), plays("seed % 2")], [plays(1), plays(2)])
    fake.search()
    assert [seeds for _, seeds, _ in fake.played] == [(100, 101)] * 2 + [(102, 103)] * 2

    fake = published([plays(3)], [plays(1)])
    fake.search()
    assert fake.guests == {1: (), 2: ()}

    reliable = plays(9, success="seed != 101")
    search = published([reliable], [plays(1, success="0")], episodes=4).search()
    assert search.rounds[1].candidates[0].hard is None


def test_every_winner_is_told_in_full_with_its_episodes_and_losers_in_a_line():
    fake = published([plays(1), plays(2)], [plays(3), plays(3)])
    first = fake.search().rounds[0]
    assert first.notes == (
        Note("Episode 1", "seed 100 of r01_c02, by Feedback"),
        Note("Episode 2", "seed 101 of r01_c02, by Feedback"),
    )
    assert "Episode 2: seed 101 of r01_c02, by Feedback" in fake.prompt(2, 1, role="policy")
    fake.search()
    prompt = fake.prompt(2, 1, role="policy")
    assert "- candidate 1, mean return 1\n" in prompt
    assert "plays 1" not in prompt
    assert "of r01_c01" not in prompt

    fake = published([plays(3, "first")], [plays(2, "second")], [plays(1)])
    fake.search()
    prompt = fake.prompt(3, 1, role="policy")
    for note in ("first", "second"):
        assert f"note = '{note}'" in prompt
    assert "### Round 1 (best so far)" in prompt


def test_scores_and_finalists_are_of_a_round_s_own_episodes():
    fake = published([plays("seed")], [plays("seed")])
    first, second = fake.search().rounds
    assert (first.winner.score.mean_return, second.winner.score.mean_return) == (100.5, 102.5)
    assert "±" not in fake.prompt(2, 1, role="policy")

    search = published([plays(1), plays(2)], [plays(4), plays(3)]).search()
    assert [c.name for c in search.finalists] == ["r01_c02", "r02_c01"]


def test_a_reflection_is_three_or_four_sentences_on_the_winner_before_every_later_round():
    fake = published([plays(1)], [plays(2)], [plays(3)])
    fake.search()
    assert [str(k) for k in fake.asked if k.role == "reflection"] == [
        "r02_reflection", "r03_reflection",
    ]  # fmt: skip
    asked = fake.prompt(3, role="reflection")
    assert "Look at the winner of round 2. In three or four sentences" in asked
    assert "class Feedback" not in asked


def test_the_feedback_class_is_not_revised():
    fake = published([plays(1)], [plays(2)])
    other = "class Feedback:\n    def summarize_trajectory(self, traj):\n        return ''\n"
    fake.replies[Key(2, role="reflection")] = f"Lean.\n{fenced(other)}"
    assert fake.search().rounds[1].notes[-1].text.endswith("by Feedback")


def test_a_failing_candidate_goes_back_up_to_ten_times():
    fake = published([fails("0")])
    for attempt in range(1, 11):
        fake.replies[Key(1, 1, attempt, "repair")] = fenced(fails(str(attempt)))
    assert fake.search().rounds[0].candidates[0].error == "10"
