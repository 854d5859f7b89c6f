"""What a run remembers: things by their content, calls by their key, decisions in order."""

import pytest

from promptpo.errors import LimitReached
from promptpo.store.codec import digest, encode
from promptpo.store.events import EventLog
from promptpo.store.journal import Journal
from promptpo.types import Candidate, Key

REFUSED = Key(1, 2, 1, "repair")


def prompt(key):
    return "prompt", {"key": encode(key), "messages": []}


def round_end(number, winner="r01_c01"):
    return {
        "round": number,
        "winner": winner,
        "score": None,
        "best": {"name": winner, "score": None},
        "notes": [],
    }


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


@pytest.fixture
def opened(tmp_path):
    """Return the function that opens a journal in which these events are recorded already."""

    def journal(*past):
        log = EventLog(tmp_path / "events.jsonl")
        for kind, data in past:
            log.emit(kind, **data)
        log.close()
        return Journal(EventLog(tmp_path / "events.jsonl"))

    return journal


def repeated(journal, kind, /, **data):
    """Write an event, and return whether it only reached the listeners."""
    heard = []
    journal.log.listeners = [heard.append]
    journal.write(kind, **data)
    return heard[0].transient


CANDIDATE = {**encode(Candidate(Key(1, 1), "text")), "rollout": None, "score": None}


def test_the_last_event_on_a_subject_is_repeated_and_others_are_recorded(opened):
    journal = opened()
    late = {**CANDIDATE, "error": "late"}
    other = {**CANDIDATE, "key": encode(Key(1, 1, 1))}
    events = (CANDIDATE, CANDIDATE, late, other, CANDIDATE, CANDIDATE)
    told = [repeated(journal, "candidate", **data) for data in events]
    assert told == [False, True, False, False, False, True]
    assert sum(e.type == "candidate" for e in opened().log.past) == 4


def test_a_decision_falls_when_one_before_it_is_new(opened):
    journal = opened()
    chosen = {"finalists": [], "winner": "r01_c01"}
    assert not repeated(journal, "round", **round_end(1))
    assert not repeated(journal, "selection", **chosen)
    assert repeated(journal, "round", **round_end(1))
    assert journal.has("selection")
    assert not repeated(journal, "round", **round_end(2))
    assert not journal.has("selection")
    assert not repeated(journal, "selection", **chosen)


REFUSED_EVENT = ("refused", {"key": encode(REFUSED), "reason": "the limit of $1 is reached"})


def test_what_a_limit_forbade_is_asked_again_until_the_next_round_has_begun(opened):
    opened(REFUSED_EVENT).check_allowed(REFUSED)
    for next_key in (Key(2, 1, role="policy"), Key(2, role="reflection")):
        journal = opened(prompt(next_key))
        with pytest.raises(LimitReached, match=r"\$1"):
            journal.check_allowed(REFUSED)
        journal.check_allowed(Key(1, 1, 1, "repair"))


def test_a_candidate_of_an_older_version_is_the_same_without_its_mark(opened):
    journal = opened(("candidate", {**CANDIDATE, "mark": ""}))
    assert repeated(journal, "candidate", **CANDIDATE)
