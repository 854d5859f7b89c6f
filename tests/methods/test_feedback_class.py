"""The Feedback class of PromptPO: written, repaired, revised; whose episodes it describes."""

import re

import pytest
from fake_services import FEEDBACK, fails, fenced, plays, services

from promptpo.errors import LimitReached
from promptpo.types import Key, SummaryRun

LIMIT = LimitReached("the limit of 7 model calls is reached")

#: Another class than FEEDBACK.
REVISED = FEEDBACK.replace("It fell", "It leaned")


def told(search):
    """By whom the worst episode of each round's winner was described."""
    return [r.winner.notes[0].text.partition(", ")[2] for r in search.rounds]


def notes(search, name):
    """What was made of a candidate's episodes: title and text."""
    (found,) = (c for r in search.rounds for c in r.candidates if c.name == name)
    return {note.title.partition(" (")[0]: note.text for note in found.notes}


# Which episodes are described


RISING = plays("seed")  # its last episode is its best


def test_of_the_best_three_episodes_are_described_and_of_a_loser_the_worst():
    search = services([RISING], episodes=5).search()
    assert notes(search, "r01_c01") == {
        "Worst episode": "seed 100 of r01_c01, by Feedback",
        "Median episode": "seed 102 of r01_c01, by Feedback",
        "Best episode": "seed 104 of r01_c01, by Feedback",
    }

    search = services([RISING, plays(1)], episodes=5).search()
    assert notes(search, "r01_c02") == {"Worst episode": "seed 100 of r01_c02, by Feedback"}

    search = services([fails("why"), plays(1)]).search()
    assert search.rounds[0].candidates[0].notes == ()

    search = services([plays("200 - seed")], [plays(1)]).search()
    assert notes(search, "r01_c01")["Worst episode"] == "seed 103 of r01_c01, by Feedback"


def test_a_note_says_what_came_of_its_episode():
    search = services([plays("seed", success="seed > 100", length="7")]).search()
    assert [note.title for note in search.rounds[0].winner.notes] == [
        "Worst episode (no success, return 100, 7 steps)",
        "Best episode (success, return 101, 7 steps)",
    ]


def test_what_is_described_is_told_in_the_next_prompt():
    fake = services([plays(1), plays(2)], [plays(3), plays(3)])
    fake.search()
    prompt = fake.prompt(2, 1, role="policy")
    assert "seed 100 of r01_c02, by Feedback" in prompt
    assert "seed 100 of r01_c01, by Feedback" in prompt


# Revisions


def revising(*rounds, text=REVISED, **settings):
    """Services whose first reflection sends another class."""
    fake = services(*rounds, **settings)
    fake.replies[Key(2, role="reflection")] = f"It leans.\n\n{fenced(text)}"
    fake.summaries[REVISED.strip()] = SummaryRun(("revised",) * 2)
    return fake


def test_a_revised_class_takes_over_and_describes_what_is_shown_again():
    fake = revising([plays(1)], [plays(2)])
    assert set(notes(fake.search(), "r02_c01").values()) == {"revised"}
    assert FEEDBACK.strip() in fake.prompt(2, role="reflection")
    prompt = fake.prompt(2, 1, role="policy")
    assert set(re.findall(r"revised|It leans\.", prompt)) == {"revised", "It leans."}
    assert not re.search("by Feedback|class Feedback", prompt)


def test_a_class_that_fails_or_other_code_is_ignored():
    fake = revising([plays(1)], [plays(2)])
    fake.summaries[REVISED.strip()] = SummaryRun(error="KeyError")
    assert told(fake.search()) == ["by Feedback", "by Feedback"]
    assert not [key for key in fake.asked if key.role == "feedback_repair"]

    fake = revising([plays(1)], [plays(2)], text="class Policy:\n    pass\n")
    assert told(fake.search()) == ["by Feedback", "by Feedback"]

    fake = revising([plays(1)], [plays(2)], revise_feedback=False)
    assert told(fake.search()) == ["by Feedback", "by Feedback"]
    assert "class Feedback" not in fake.prompt(2, role="reflection")


# Repairs


def test_a_reply_without_feedback_is_repaired_before_the_first_round():
    fake = services([plays(1)], repairs=1)
    fake.replies[Key(role="feedback")] = "Let me think."
    fake.replies[Key(0, 0, 1, "feedback_repair")] = fenced(FEEDBACK)
    assert told(fake.search()) == ["by Feedback"]
    assert [str(k) for k in fake.asked[:2]] == ["r00_feedback", "r00_feedback_repair1"]
    assert "Let me think." in fake.prompt(0, 0, 1, role="feedback_repair")


def broken(*rounds, **settings):
    """Services whose Feedback class fails on episodes."""
    fake = services(*rounds, feedback=FEEDBACK.replace("It fell", "It broke"), **settings)
    fake.summaries[FEEDBACK.replace("It fell", "It broke").strip()] = SummaryRun(error="KeyError")
    return fake


def test_a_feedback_that_fails_is_repaired_in_the_round_of_its_episodes():
    fake = broken([plays(1)], [plays(2)], repairs=1)
    fake.replies[Key(1, 0, 1, "feedback_repair")] = fenced(FEEDBACK)
    search = fake.search()
    assert told(search) == ["by Feedback", "by Feedback"]
    prompt = fake.prompt(1, 0, 1, role="feedback_repair")
    assert "KeyError" in prompt
    assert "It broke" in prompt


@pytest.mark.parametrize(("repairs", "asked"), [(0, []), (2, [1, 2])])
def test_the_built_in_summary_takes_over_once_the_repairs_of_the_run_are_used_up(repairs, asked):
    fake = broken([plays(1)], [plays(2)], repairs=repairs)
    for attempt in asked:
        text = fenced(FEEDBACK.replace("It fell", "It broke"))
        fake.replies[Key(1, 0, attempt, "feedback_repair")] = text
    assert told(fake.search()) == ["built in", "built in"]
    assert [k.attempt for k in fake.asked if k.role == "feedback_repair"] == asked


def test_it_takes_over_too_where_a_repair_cannot_be_had():
    missing, limited = (broken([plays(1)], [plays(2)], repairs=2) for _ in range(2))
    limited.ends[Key(1, 0, 1, "feedback_repair")] = LIMIT
    for fake in (missing, limited):
        search = fake.search()
        assert told(search) == ["built in", "built in"]
        assert (len(search.rounds), search.limited) == (2, False)

    fake = services([plays(1)], repairs=1)
    fake.replies[Key(role="feedback")] = "Let me think."
    assert told(fake.search()) == ["built in"]
