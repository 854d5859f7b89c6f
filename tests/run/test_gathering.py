"""Which episodes a round's policies prepare from, and in which order."""

from rollouts import rollout

from promptpo.run.playing import Gathering, Play
from promptpo.types import Key


def play(source, *seeds, prepared=None):
    return Play(source, "search", seeds, prepared)


def run_of(of, *lengths, **details):
    returns = [0.0] * len(lengths)
    return rollout(returns, seeds=of.seeds[: len(lengths)], lengths=lengths, **details)


def note(gathering, of, key, *lengths):
    gathering.note(str(of), of, key, run_of(of, *lengths))


def told(gathering, round_, most=10**6):
    found = gathering.before(round_, most)
    return [(g.key.name, g.round, [e.seed for e in g.episodes]) for g in found]


def test_rounds_follow_each_other_and_candidates_stand_in_their_order_whoever_was_first():
    one, two = Gathering(), Gathering()
    a, b, probe = play("a", 1, 2), play("b", 1, 2), play("p", 9)
    for gathering, order in ((one, (a, b)), (two, (b, a))):
        note(gathering, probe, Key(0, 1), 5)
        gathering.open_round(1)
        for of in order:
            note(gathering, of, Key(1, 1 if of is a else 2), 3, 3)
        gathering.open_round(2)
        note(gathering, play("a", 3), Key(1, 1), 4)
    assert told(one, 2) == told(two, 2)
    assert told(one, 2) == [
        ("r00_c01", 0, [9]), ("r01_c01", 1, [1, 2]), ("r01_c02", 1, [1, 2])
    ]  # fmt: skip
    assert told(one, 3)[-1] == ("r01_c01", 2, [3])
    assert [g.name for g in one.before(3, 100)] == [g.name for g in two.before(3, 100)]


def test_what_is_played_in_a_round_is_not_given_in_it():
    gathering = Gathering()
    gathering.open_round(1)
    note(gathering, play("a", 1), Key(1, 1), 3)
    assert told(gathering, 1) == []


def test_the_newest_whole_episodes_are_kept():
    gathering = Gathering()
    note(gathering, play("a", 1, 2, 3), Key(0, 1), 10, 4, 4)
    assert told(gathering, 1, most=8) == [("r00_c01", 0, [2, 3])]
    assert told(gathering, 1, most=7) == [("r00_c01", 0, [3])]
    assert told(gathering, 1, most=3) == []


def test_of_equal_candidates_the_first_has_the_episodes():
    gathering = Gathering()
    of = play("a", 1)
    note(gathering, of, Key(1, 3), 5)
    note(gathering, of, Key(1, 2), 5)
    assert told(gathering, 2) == [("r01_c02", 0, [1])]
