"""What a run remembers: things by their content, calls by their key, decisions in order."""

import pytest

from promptpo.errors import LimitReached
from promptpo.store.codec import encode
from promptpo.store.events import Event
from promptpo.store.memo import Memo, digest
from promptpo.types import Candidate, Key

REFUSED = Key(1, 2, 1, "repair")


def prompt(key):
    return Event("prompt", {"key": encode(key), "messages": []})


def round_end(number, winner="r01_c01"):
    return {"round": number, "winner": winner, "score": None, "best": None, "notes": []}


def test_equal_content_has_an_equal_digest_and_other_content_another():
    assert digest("a", (1, 2), None) == digest("a", [1, 2], None)
    contents = [
        ("a", "b"),
        ("ab",),
        ("a", ["b"]),
        ("a", "b", None),
        ("a", 1),
        ("a", "1"),
        ("a", 1.5),
    ]
    assert len({digest(*content) for content in contents}) == len(contents)


def test_text_that_no_file_can_hold_has_a_digest():
    assert digest("\ud800") == digest("\ud800") != digest("\ud801")


def test_what_is_on_record_is_repeated_and_what_differs_is_not():
    data = {"key": encode(Key(1, 1)), "error": None}
    memo = Memo([])
    assert [memo.repeats("candidate", data) for _ in range(2)] == [False, True]
    assert not memo.repeats("candidate", {**data, "error": "late"})
    assert not memo.repeats("candidate", {**data, "key": encode(Key(1, 1, 1))})


def test_the_last_word_on_a_thing_counts_so_that_going_back_is_new():
    memo = Memo([])
    one, other = ({"key": encode(Key(1, 1)), "error": e} for e in (None, "late"))
    assert [memo.repeats("candidate", d) for d in (one, other, one, one)] == [
        False, False, False, True,
    ]  # fmt: skip


def test_a_decision_falls_when_one_before_it_is_new():
    memo = Memo([])
    chosen = {"finalists": [], "winner": "r01_c01"}
    assert not memo.repeats("round", round_end(1))
    assert not memo.repeats("selection", chosen)
    assert memo.has("selection")
    assert memo.repeats("round", round_end(1))
    assert memo.has("selection")
    assert not memo.repeats("round", round_end(2))
    assert not memo.has("selection")
    assert not memo.repeats("selection", chosen)


def test_what_a_limit_forbade_is_asked_again_as_long_as_nothing_rests_on_it():
    refused = Event("refused", {"key": encode(REFUSED), "reason": "the limit of $1 is reached"})
    Memo([refused]).check_allowed(REFUSED)


@pytest.mark.parametrize("next_key", [Key(2, 1, role="policy"), Key(2, role="reflection")], ids=str)
def test_once_the_next_round_has_begun_it_stays_forbidden(next_key):
    refused = Event("refused", {"key": encode(REFUSED), "reason": "the limit of $1 is reached"})
    memo = Memo([refused, prompt(next_key)])
    with pytest.raises(LimitReached, match=r"\$1"):
        memo.check_allowed(REFUSED)
    memo.check_allowed(Key(1, 1, 1, "repair"))


def test_a_candidate_of_an_older_version_is_the_same_without_its_mark():
    told = {**encode(Candidate(Key(1, 1), "text")), "score": None}
    memo = Memo([Event("candidate", {**told, "mark": ""})])
    assert memo.repeats("candidate", told)
