"""``--pairwise``: which two policies are compared, and what the next prompts tell of them."""

import numpy as np
from fake_services import fails, plays, services
from rollouts import rollout

from promptpo.methods.pairwise import pairs
from promptpo.prompts.promptpo.pairwise import pair_words, parting
from promptpo.racing import paired
from promptpo.spec import load_spec
from promptpo.types import Candidate, Key, Round, Trajectory, best_of


def candidate(round_, number, *returns):
    return Candidate(Key(round_, number), f"# {round_} {number}", rollout(returns))


def round_of(number, *candidates):
    return Round(number, candidates, best_of(candidates))


def names(rounds):
    return [(a.name, b.name) for a, b in pairs(rounds)]


def test_the_best_so_far_is_compared_with_the_winner_of_the_last_round_first():
    rounds = [
        round_of(1, candidate(1, 1, 9, 9)),
        round_of(2, candidate(2, 1, 1, 1), candidate(2, 2, 5, 5)),
    ]
    assert names(rounds) == [("r01_c01", "r02_c02"), ("r01_c01", "r02_c01")]


def test_a_new_best_is_compared_with_the_one_before_it_else_with_the_runner_up():
    rounds = [
        round_of(1, candidate(1, 1, 5, 5)),
        round_of(2, candidate(2, 1, 1, 1), candidate(2, 2, 9, 9)),
    ]
    assert names(rounds) == [("r02_c02", "r01_c01"), ("r02_c02", "r02_c01")]
    assert names(rounds[:1]) == []


def test_later_prompts_tell_how_the_two_differ():
    made = services(
        [plays("5 + seed % 2"), plays("2 + seed % 2")], [plays(1), plays(1)], pairwise=True
    )
    made.search()
    told = made.prompt(2, 1, role="policy")
    assert "### Two policies on the same episodes: r01_c01 and r01_c02" in told
    assert "on their 2 common episodes: better (+3 ± 0)" in told
    assert "5 / 2, 6 / 3" in told
    assert "Two policies on the same" in made.prompt(2, role="reflection")
    assert "Two policies on the same" not in made.prompt(1, 1, role="policy")


def test_where_there_is_no_pair_nothing_is_told():
    made = services([plays(5), fails("no")], [plays(1), plays(1)], pairwise=True)
    made.search()
    assert "Two policies on the same" not in made.prompt(2, 1, role="policy")


# Where two episodes part


def episode(actions, rewards=None, moved=0.0):
    steps = len(actions)
    seen = np.zeros((steps + 1, 4))
    seen[:, 2] = moved * np.arange(steps + 1)
    gained = np.ones(steps) if rewards is None else np.array(rewards)
    acts = np.array(actions, float).reshape(steps, 1)
    return Trajectory(seen, acts, gained, 1, True, False, None)


def test_they_part_where_their_actions_first_differ_by_more_than_a_little():
    assert parting(episode([0, 0, 1, 0]), episode([0, 0, 0, 0, 1])) == 2
    assert parting(episode([0.0, 1.0, 0.5]), episode([0.01, 1.0, 0.9])) == 2
    assert parting(episode([0, 1]), episode([0, 1, 0])) is None


def test_what_differs_after_it_is_told_step_by_step():
    a, b = candidate(1, 1, 9, 9), candidate(1, 2, 1, 2)
    told = paired(a.rollout, b.rollout)
    pair = episode([0, 0, 1, 1, 1]), episode([0, 0, 0], moved=0.5)
    text = pair_words(load_spec("cartpole"), (a, b), told, pair)
    assert "they act alike before step 2, and part there" in text
    assert "step | policy | pole_angle | action | rewards so far" in text
    assert "2 | r01_c01 | 0 | 1 | 2\n2 | r01_c02 | 1 | 0 | 2" in text
    assert "5 | r01_c01 | 0 | (ended by the task) | 5" in text
    assert "3 | r01_c02 | 1.5 | (ended by the task) | 3" in text
