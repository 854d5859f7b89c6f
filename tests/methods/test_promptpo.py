"""The loop of PromptPO against services that a test has written."""

from dataclasses import replace

import pytest
from fake_services import fails, fenced, mean_returns, plays, services

from promptpo.errors import LimitReached
from promptpo.llm.messages import Reply
from promptpo.types import Key, Note, Preparation, Round

LIMIT = LimitReached("the limit of 7 model calls is reached")


def repaired(fake, source, round_=1, candidate=1, attempt=1):
    fake.replies[Key(round_, candidate, attempt, "repair")] = fenced(source)
    return fake


# The loop


def test_feedback_comes_first_then_rounds_that_open_with_a_reflection():
    fake = services([plays(1), plays(2)], [plays(3), plays(4)])
    fake.search()
    assert [str(key) for key in fake.asked] == [
        "r00_feedback",
        "r01_c01_policy",
        "r01_c02_policy",
        "r02_reflection",
        "r02_c01_policy",
        "r02_c02_policy",
    ]
    assert len({fake.prompts[Key(1, i, role="policy")] for i in (1, 2)}) == 1
    assert all(keep for _, _, keep in fake.played)


def test_all_rounds_and_their_winners_come_back_also_where_all_fail():
    search = services([plays(1), plays(2)], [plays(4), plays(3)]).search()
    assert [r.number for r in search.rounds] == [1, 2]
    assert [c.name for c in search.finalists] == ["r01_c02", "r02_c01"]
    assert (search.reason, search.limited) == ("all rounds are done", False)

    fake = services([fails("a"), fails("b")], [plays(1), fails("c")])
    search = fake.search()
    assert search.rounds[0].winner.score.failed
    assert search.rounds[0].notes == ()
    assert [c.name for c in search.finalists] == ["r02_c01"]
    assert "failed: a" in fake.prompt(2, 1, role="policy")


def test_every_attempt_is_recorded_in_its_order():
    fake = services([fails("no"), plays(2)], [plays(3), plays(3)], repairs=1)
    repaired(fake, plays(1)).search()
    facts = [f"round {f.number}" if isinstance(f, Round) else str(f.key) for f in fake.recorded]
    assert list(dict.fromkeys(facts)) == [
        "r01_c01", "r01_c02", "r01_c011", "round 1", "r02_c01", "r02_c02", "round 2",
    ]  # fmt: skip


# Reflections


def test_a_reflection_is_keyed_and_noted_by_the_round_that_it_opens():
    fake = services([plays(1)], [plays(2)])
    first, second = fake.search().rounds
    assert Note("Reflection before it", "Lessons for round 2.") in second.notes
    assert not [note for note in first.notes if "Reflection" in note.title]
    assert "Lessons for round 2." in fake.prompt(2, 1, role="policy")
    assert "round 1 teach" in fake.prompt(2, role="reflection")


def test_without_reflection_or_with_an_empty_one_there_is_no_note():
    fake = services([plays(1)], [plays(2)], reflection=False)
    search = fake.search()
    assert not [key for key in fake.asked if key.role == "reflection"]
    assert search.rounds[1].notes == ()
    assert "Reflection" not in fake.prompt(2, 1, role="policy")

    fake = services([plays(1)], [plays(2)])
    fake.replies[Key(2, role="reflection")] = " \n"
    assert fake.search().rounds[1].notes == ()
    assert "## Reflection" not in fake.prompt(2, 1, role="policy")


# Candidates and their repairs


def test_a_failing_candidate_goes_back_with_its_error_as_often_as_it_may():
    fake = repaired(services([fails("ZeroDivisionError")], repairs=1), plays(5))
    search = fake.search()
    assert search.rounds[0].winner.key == Key(1, 1, 1)
    assert mean_returns(search.finalists) == {"r01_c01": 5.0}
    asked, sent = fake.prompts[Key(1, 1, role="policy")], fake.prompts[Key(1, 1, 1, "repair")]
    assert sent[: len(asked)] == asked
    assert "fails: ZeroDivisionError" in sent[-2].content
    assert "ZeroDivisionError" in sent[-1].content
    assert "it printed this" in sent[-1].content

    fake = services([fails("first")], repairs=2)
    repaired(repaired(fake, fails("second")), fails("third"), attempt=2)
    search = fake.search()
    assert search.rounds[0].candidates[0].error == "third"
    assert [key.attempt for key in fake.asked if key.candidate] == [0, 1, 2]
    assert "second" in fake.prompt(1, 1, 2, role="repair")
    assert "first" not in fake.prompts[Key(1, 1, 2, "repair")][-1].content

    fake = repaired(services([fails("no")], repairs=2), plays(1))
    fake.search()
    states = [data["state"] for event, data in fake.reported if data["name"] == "r01_c01"]
    assert states == ["asked", "repairing", "scored"]


def test_a_reply_without_a_policy_or_cut_off_is_a_failed_candidate_and_does_not_go_back():
    fake = services([plays(1), plays(2)], repairs=3)
    fake.replies[Key(1, 1, role="policy")] = "I would rather not."
    search = fake.search()
    assert "no code" in search.rounds[0].candidates[0].error
    assert search.rounds[0].candidates[0].source is None
    assert search.rounds[0].winner.name == "r01_c02"
    assert not [key for key in fake.asked if key.role == "repair"]

    fake = services([plays(9), plays(2)])
    fake.replies[Key(1, 1, role="policy")] = Reply(fenced(plays(9)), "fake", finish_reason="length")
    search = fake.search()
    assert search.rounds[0].winner.name == "r01_c02"
    assert "cut off" in search.rounds[0].candidates[0].error


def test_a_repair_that_cannot_be_had_leaves_the_candidate_as_it_was():
    fake = services([fails("why"), plays(2)], repairs=3)
    candidate = fake.search().rounds[0].candidates[0]
    assert (candidate.key.attempt, candidate.error) == (0, "why")
    fake.ends[Key(1, 1, 1, "repair")] = LIMIT
    candidate = fake.search().rounds[0].candidates[0]
    assert (candidate.key.attempt, candidate.error) == (0, "why")
    assert {c.key for c in fake.candidates()} == {Key(1, 1), Key(1, 2)}


# Ends


@pytest.mark.parametrize(
    ("where", "rounds"),
    [(Key(role="feedback"), 0), (1, 0), (2, 1), (Key(2, role="reflection"), 1)],
    ids=str,
)
def test_a_limit_between_candidates_ends_the_search_with_the_rounds_so_far(where, rounds):
    fake = services([plays(1), plays(2)], [plays(3), plays(4)])
    fake.ends[where] = LIMIT
    search = fake.search()
    assert (len(search.rounds), search.reason, search.limited) == (rounds, str(LIMIT), True)
    assert len(search.finalists) == rounds


# A policy that learns before it acts

LEARNER = plays(7, note="learns")


def test_values_that_were_prepared_go_where_the_policy_goes():
    made = services([LEARNER, plays(3)])
    made.prepared[LEARNER.strip()] = Preparation("d", "v", "residual 0.1", 2.0, predicted=9.0)
    found = made.search()
    assert found.finalists[0].prepared == "v"
    assert found.finalists[0].identity == (LEARNER, "v")


def test_an_error_of_prepare_is_repaired_with_what_it_had_printed():
    made = services([LEARNER], repairs=1)
    wrong = Preparation("d", None, "residual 0.1", 2.0, "line 3: no such column", "exception")
    made.prepared[LEARNER.strip()] = wrong
    made.replies[Key(1, 1, 1, "repair")] = fenced(plays(5))
    found = made.search()
    assert "line 3: no such column" in made.prompt(1, 1, 1, role="repair")
    assert "residual 0.1" in made.prompt(1, 1, 1, role="repair")
    assert [c.error for c in made.candidates()][:2] == ["line 3: no such column", None]
    assert LEARNER not in [source for source, *_ in made.played]
    assert found.finalists[0].score.mean_return == 5


def test_the_same_text_prepared_from_other_data_is_another_policy():
    made = services([LEARNER], [LEARNER])
    first = made.prepare

    async def prepare(candidate):
        done = Preparation("d", f"values of {candidate.name}")
        return replace(await first(candidate), preparation=done)

    made.prepare = prepare
    found = made.search()
    assert [c.parents for r in found.rounds for c in r.candidates] == [(), ()]
