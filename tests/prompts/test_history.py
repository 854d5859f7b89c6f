import pytest
from rollouts import rollout

from promptpo.prompts.history import REFLECTION, render_history, score_line
from promptpo.prompts.promptpo import episode_notes
from promptpo.prompts.task import count_tokens
from promptpo.prompts.words import strategy_line
from promptpo.types import Candidate, Key, Note, Round

SOURCE = 'class Policy:\n    """Leans into the fall in round {0}."""\n    x = "{1}"\n'


def a_round(number, mean_return, *, success=None, filler=0):
    run = rollout((mean_return, mean_return), lengths=(10, 12), successes=(success, success))
    source = SOURCE.format(number, "x" * filler)
    winner = Candidate(Key(number, 2), source, run)
    idle = 'class Policy:\n    """Does nothing."""'
    loser = Candidate(Key(number, 1), idle, None, error="raised X")
    notes = (Note(REFLECTION, f"reflection before {number}"),)
    notes += episode_notes([f"summary of round {number}"] * 2)
    return Round(number, (loser, winner), winner, notes)


def test_everything_is_told_where_there_is_room_and_the_best_so_far_is_marked():
    text = render_history([a_round(1, 5.0), a_round(2, 3.0)], 10_000)
    for number in (1, 2):
        assert f"in round {number}" in text
        assert f"summary of round {number}" in text
        assert f"reflection before {number}" in text
    assert text.count("candidate 1, failed: raised X (Does nothing.)") == 2
    assert "returns 5, 5" in text
    assert "Round 1 (best so far)" in text
    assert "Round 2 (best so far)" not in text

    text = render_history([a_round(1, 9.0, success=False), a_round(2, 3.0, success=True)], 10_000)
    assert "Round 2 (best so far)" in text
    assert "success 2/2, mean return 3" in text

    assert render_history([], 1000) == ""

    line = score_line(Candidate(Key(1, 1), None, error="first line\nsecond"))
    assert line == "failed: first line"


@pytest.mark.parametrize("budget", [400, 700, 1000, 1500])
def test_what_fits_shrinks_with_the_budget_and_the_scores_stay(budget):
    rounds = [a_round(n, float(n), filler=800) for n in range(1, 6)]
    text = render_history(rounds, budget)
    assert all(f"### Round {n}" in text and f"mean return {n}." in text for n in range(1, 6))
    scores_only = count_tokens(render_history(rounds, 1))
    assert count_tokens(text) <= max(budget, scores_only)


def test_the_oldest_sources_go_first_and_the_best_goes_last():
    rounds = [a_round(1, 9.0, filler=4000), a_round(2, 1.0, filler=4000), a_round(3, 2.0)]
    text = render_history(rounds, 1800)
    kept = [n for n in (1, 2, 3) if f'in round {n}."""' in text]
    assert kept == [1, 3]
    assert "summary of round 2" in text


def test_a_strategy_is_the_first_paragraph_of_the_docstring():
    source = 'class Policy:\n    """Leans into\n    the fall.\n\n    Details."""'
    assert strategy_line(source) == "Leans into the fall."


@pytest.mark.parametrize("source", [None, "", "def (", "class Other: 1", "class Policy: pass"])
def test_a_source_without_a_strategy_has_none(source):
    assert strategy_line(source) == ""
