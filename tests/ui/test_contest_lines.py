"""What the plain lines say of episodes beyond those that a candidate begins with."""

import io

import pytest
from run_events import START, candidate, key, run, state

from promptpo.store.codec import encode
from promptpo.store.events import Event
from promptpo.types import Episode, Rollout
from promptpo.ui.plain import PlainView
from promptpo.ui.progress import Progress


def played(round_, index, seeds, digest, attempt=0):
    """An event: a candidate has played these search episodes."""
    episodes = tuple(Episode(seed, 9.0, 10) for seed in seeds)
    data = {"key": key("", round_, index, attempt), "digest": digest}
    return Event("rollout", {**data, **encode(Rollout("search", seeds, episodes, 20))}, START + 1)


def lines(*events):
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in (run("folder"), *events):
            view(event)
    return [line.partition("steps")[2].strip() for line in stream.getvalue().splitlines()
            if " return " in line and "steps" in line]  # fmt: skip


BEGUN = (played(1, 1, (1, 2), "search 1 1"), candidate(1, 1, 2))


def test_the_first_episodes_need_no_words():
    assert lines(*BEGUN) == [""]


def test_a_probe_is_none_of_a_policy():
    assert lines(played(0, 1, (90, 91), "a")) == ["(without a policy)"]


def test_the_best_so_far_plays_again_in_a_later_round():
    later = (state(2, 1, "asked", 3), played(1, 1, (3, 4), "b"))
    assert lines(*BEGUN, *later)[1:] == ["(again, on round 2's episodes)"]


def test_racing_is_called_what_it_is():
    assert lines(*BEGUN, played(1, 1, (3, 4), "b"))[1:] == [
        "(more episodes, to tell it from the best)"
    ]


def test_hard_episodes_are_called_so():
    events = (played(2, 1, (3, 4), "a"), played(2, 1, (1,), "b"))
    assert lines(*events)[1:] == ["(episodes in which the best had failed)"]


def test_a_repair_plays_the_same_episodes():
    assert lines(*BEGUN, played(1, 1, (1, 2), "b", attempt=1))[1:] == [""]


@pytest.mark.parametrize("seeds", [(3, 4), (3,)])
def test_the_first_episodes_stay_those_of_the_candidate(seeds):
    progress = Progress()
    for event in (run("folder"), played(1, 1, (1, 2), "a"), played(1, 1, seeds, "b")):
        progress.apply(event)
    assert progress.record.trials["r01_c01"].played.seeds == (1, 2)
