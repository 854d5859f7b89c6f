"""What the prompts tell of a search: a table of all, and what helps in full, within a budget."""

import re

import pytest
from rollouts import rollout

from promptpo.prompts.history import LOSER, Memory, render_memory, second_in_full
from promptpo.prompts.task import count_tokens
from promptpo.types import Candidate, Key, Note, Preparation, Rollout, Round

HORIZON = 10
WORST = Note("Worst episode (return 1, 4 steps)", "It leans left. It falls at step 4.")
BEST = Note("Best episode (return 9, 10 steps)", "It leans left. It stands to the end.")


def source(strategy, *lines):
    body = "".join(f"        {line}\n" for line in lines)
    return f'class Policy:\n    """{strategy}"""\n\n    def act(self, obs):\n{body}'


LINES = [f"x{i} = {i}" for i in range(8)]


def candidate(round_, index, *returns, text=None, **details):
    seeds = range(100 * round_, 100 * round_ + len(returns))
    run = rollout(returns, seeds=seeds, lengths=(10,) * len(returns))
    text = text or source(f"Strategy {round_}.{index}.", *LINES, f"return {round_}{index}")
    return Candidate(Key(round_, index), text, run, **{"notes": (WORST,), **details})


def one_round(number, *candidates):
    return Round(number, candidates, max(candidates, key=lambda c: c.score))


def told(*rounds, budget=8000, **details):
    return render_memory(Memory(tuple(rounds), **details), HORIZON, budget)


def row(text, name):
    return next(line for line in text.splitlines() if line.startswith(f"- {name}"))


FIRST = one_round(1, candidate(1, 1, 5.0, 7.0, notes=(WORST, BEST)), candidate(1, 2, 1.0, 2.0))


def test_before_anything_has_played_there_is_nothing_to_tell():
    assert render_memory(Memory(), HORIZON, 8000) == ""


# The table


def test_every_policy_has_a_line_with_its_score_and_what_came_of_its_actions():
    text = told(FIRST)
    assert row(text, "r01_c01") == (
        "- r01_c01 (best so far): return 6 ± 1 (2); 10 steps; Strategy 1.1."
    )
    assert "return 1.5 ± 0.5 (2)" in row(text, "r01_c02")

    run = rollout((1.0, 3.0), successes=(True, False), lengths=(10, 4))
    done = Candidate(Key(1, 1), source("S.", "return 0"), run)
    assert row(told(one_round(1, done)), "r01_c01").startswith(
        "- r01_c01 (best so far): success 1/2, return 2 ± 1 (2); 4-10 steps (1 ended early)"
    )

    run = rollout((1.0,), clipped=0.25)
    clipped = Candidate(Key(1, 1), source("S.", "return 0"), run)
    assert "25% clipped" in row(told(one_round(1, clipped)), "r01_c01")

    later = rollout((20.0, 22.0), seeds=(200, 201))
    best = candidate(1, 1, 5.0, 7.0, later=(later,))
    assert "return 13.5 ± " in row(told(one_round(1, best)), "r01_c01")


def test_a_failure_is_told_by_its_first_line_also_of_later_episodes():
    failed = Candidate(Key(1, 2), "class Policy: pass", None, error="no act\nat all")
    text = told(one_round(1, candidate(1, 1, 5.0), failed))
    assert row(text, "r01_c02") == "- r01_c02: failed: no act"

    late = candidate(1, 2, 9.0, later=(Rollout("search", (300,), error="it raised"),))
    text = told(one_round(1, candidate(1, 1, 5.0), late))
    assert row(text, "r01_c02").startswith("- r01_c02: failed: it raised")


def met(mine, best):
    """Round 2: a challenger and the best so far on the same episodes."""
    later = rollout(best, seeds=range(200, 200 + len(best)), lengths=(10,) * len(best))
    incumbent = candidate(1, 1, *[9.0] * 5, later=(later,))
    text = told(one_round(1, incumbent), one_round(2, candidate(2, 1, *mine)))
    return row(text, "r02_c01")


def test_better_and_worse_are_said_of_pairs_beyond_noise_and_not_without_common_episodes():
    assert "better (+2 ± 0)" in met((12.0, 8.0, 5.0), (10.0, 6.0, 3.0))
    assert "worse (-2.1 ± 0.1)" in met((8.0, 4.0, 0.7), (10.0, 6.0, 3.0))
    assert "not told apart (+1 ± 3.606)" not in met((12.0, 4.0, 9.0), (10.0, 6.0, 3.0))
    assert "not told apart" in met((12.0, 4.0, 9.0), (10.0, 6.0, 3.0))
    assert "as the best before it" in met((9.0, 8.0), (9.0, 8.0))

    text = told(one_round(1, candidate(1, 1, 9.0, 9.0)), one_round(2, candidate(2, 1, 5.0, 5.0)))
    assert not re.search("better|worse|told apart", row(text, "r02_c01"))


def test_an_equal_text_names_the_earlier_one_and_repeats_nothing():
    same = candidate(2, 1, 5.0, text=FIRST.winner.source, parents=("r01_c01",))
    text = told(FIRST, one_round(2, same))
    assert row(text, "r02_c01").endswith("; the same text as r01_c01")
    assert text.count("### The others") == 0


# The best, the second line, the losers


def test_the_best_is_told_in_full_and_of_its_other_episodes_what_differs():
    text = told(FIRST)
    assert FIRST.winner.source.strip() in text
    assert f"{WORST.title}: {WORST.text}" in text

    assert f"{BEST.title}: It stands to the end." in told(FIRST)

    text = told(FIRST, one_round(2, candidate(2, 1, 3.0)))
    assert FIRST.winner.source.strip() in text


def test_a_loser_is_told_by_the_lines_that_differ_and_its_worst_episode():
    text = told(FIRST).partition("### The others of round 1")[2]
    assert "-        return 11\n+        return 12" in text
    assert "x3 = 3" not in text
    assert f"{WORST.title}: {WORST.text}" in text

    other = candidate(1, 2, 1.0, text=source("Other.", *[f"y{i} = {i}" for i in range(8)]))
    assert "Written anew, not from r01_c01." in told(one_round(1, FIRST.winner, other))

    failed = candidate(1, 2, notes=(), error="ZeroDivisionError in line 7")
    text = told(one_round(1, FIRST.winner, failed)).partition("### The others")[2]
    assert "ZeroDivisionError in line 7" in text
    assert "+        return 12" in text

    text = told(FIRST, one_round(2, candidate(2, 1, 3.0)))
    assert "r01_c02" in text
    assert "return 12" not in text


def test_where_more_changed_than_is_told_the_strategy_stands_in_its_place():
    lines = [f"x{i} = {i}" for i in range(60)]
    base = candidate(1, 1, 5.0, text=source("Base.", *lines))
    changed = [
        f"x{i} = {i + 100}  # {'c' * 40}" if i < 20 else line for i, line in enumerate(lines)
    ]
    other = candidate(1, 2, 1.0, text=source("Leans back.", *changed))

    text = told(one_round(1, base, other)).partition("### The others of round 1")[2]

    assert "```diff" not in text
    assert "Much of it differs from r01_c01. Leans back." in text


def test_so_much_of_a_losers_worst_episode_is_told_as_feedback_authors_are_told():
    long = Note(WORST.title, "z" * 2000)
    best = candidate(1, 1, 5.0, text=source("Best.", *[f"x{i} = {i}" for i in range(900)]))
    other = candidate(1, 2, 1.0, notes=(long,))  # little room is left beside such a best

    text = told(one_round(1, best, other)).partition("### The others")[2]

    assert LOSER - 50 <= text.count("z") <= LOSER


SECOND = candidate(1, 2, 1.0, 9.5, notes=(WORST, BEST))


def test_the_second_line_is_named_and_its_source_is_for_who_goes_on_from_it():
    text = told(one_round(1, FIRST.winner, SECOND), second=SECOND)
    assert "- r01_c02 (second line): " in text
    assert "### A second line of attack, r01_c02" in text
    assert "its best episode has 9.5 (the best policy's: 7)" in text

    assert "+        return 12" in second_in_full(SECOND, FIRST.winner)
    other = candidate(1, 2, 1.0, text=source("Other.", *[f"y{i} = {i}" for i in range(8)]))
    assert "y7 = 7" in second_in_full(other, FIRST.winner)


PROBE = candidate(0, 1, 0.5, text=source("Zero action at every step.", "return 0"), kind="probe")


def test_probes_are_described_before_the_first_round_and_then_only_scored():
    first, later = told(probes=(PROBE,)), told(FIRST, probes=(PROBE,))
    for text in (first, later):
        assert "Zero action at every step: return 0.5 (1); 10 steps." in text
    assert WORST.text in first
    assert WORST.text not in later.partition("Zero action at every step: return")[2]


# The budget


def long_history(rounds=30, each=4):
    found = []
    for number in range(1, rounds + 1):
        candidates = [
            candidate(
                number, i, float(number * 10 - i), float(number * 10 + i),
                text=source(f"Strategy {number}.{i}.", *LINES * 3, f"return {number}{i}"),
                notes=(Note("Worst episode", f"It fell in {number}.{i}. " * 40), BEST),
            )
            for i in range(1, each + 1)
        ]  # fmt: skip
        found.append(one_round(number, *candidates))
    return found


@pytest.mark.parametrize("budget", [3500, 5000, 8000])
def test_thirty_rounds_stay_within_the_budget(budget):
    assert count_tokens(told(*long_history(), budget=budget)) <= budget


def test_of_thirty_rounds_every_score_is_told_or_the_oldest_go():
    text = told(*long_history())
    assert len(re.findall(r"^- r\d\d_c\d\d", text, re.MULTILINE)) == 120

    text = told(*long_history(), budget=2000)
    assert "(60 older policies are left out for space.)" in text
    assert "- r30_c04" in text
    assert "- r01_c01" not in text


@pytest.mark.parametrize("budget", [500, 1500, 3500, 8000])
def test_the_table_and_the_best_are_always_there(budget):
    rounds = long_history()
    text = told(*rounds, budget=budget)
    assert "- r30_c01" in text
    assert rounds[-1].winner.source.strip() in text


def test_what_helps_least_is_told_shorter_first():
    rounds = long_history(rounds=2)
    sizes = [told(*rounds, second=rounds[0].candidates[1], budget=b) for b in (700, 8000)]
    assert all("### The best so far, r02_c01" in text for text in sizes)
    assert "```diff" in sizes[1]
    assert "```diff" not in sizes[0]
    assert len(sizes[0]) < len(sizes[1])


# What was learned before acting


def learned(output="residual 0.1", **details):
    return Preparation("d", "v", output, 2.5, episodes=4, transitions=70, **details)


def test_what_prepare_printed_is_told_of_the_best_and_how_far_its_prediction_was_off():
    best = candidate(1, 1, 5.0, 7.0, preparation=learned(predicted=8.5))
    text = told(one_round(1, best, candidate(1, 2, 1.0)))
    assert (
        "Its prepare() took less than 5 s on 4 episodes, 70 transitions, predicted a return of 8.5"
        " (its mean is 6, -2.5), and printed:\n\n```\nresidual 0.1\n```" in text
    )


def test_of_what_prepare_printed_losers_tell_less_and_all_do_where_the_budget_is_small():
    long = learned("x" * 3990)
    best, second, loser = (candidate(1, i, 9.0 - i, preparation=long) for i in (1, 2, 3))
    text = told(one_round(1, best, second, loser), second=second)
    assert text.count("x" * 3990) >= 1
    assert "x" * 3990 in second_in_full(second, best)
    _, _, others = text.partition("### The others of round 1")
    assert "Its prepare() took less than 5 s: xxx" in others
    assert others.count("x") < 700

    best = candidate(1, 1, 5.0, 7.0, preparation=learned("x" * 3990))
    text = told(one_round(1, best, candidate(1, 2, 1.0)), budget=600)
    assert "x" * 100 in text
    assert text.count("x") < 900
