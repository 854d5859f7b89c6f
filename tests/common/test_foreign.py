"""What code that is not ours prints: clean, bounded, shown once."""

import pytest

from promptpo.common import foreign
from promptpo.common.foreign import LINES, WIDTH, Lines, Speaker, shown_by


@pytest.fixture
def shown():
    lines = []
    with shown_by(lines.append):
        yield lines


def feed(*chunks):
    speaker, lines = Speaker("room"), Lines()
    for chunk in chunks:
        lines.feed(chunk, speaker)
    lines.end(speaker)
    speaker.end()


def test_lines_are_shown_under_a_name_wherever_they_are_cut(shown):
    feed(b"on", b"e\ntw", b"o\n\n", b"three")
    assert shown == ["room: one", "room: two", "room: three"]


def test_control_characters_are_not_shown(shown):
    feed(b"\x1b[2Jred\x07\xff\n")
    assert shown == ["room: \ufffd[2Jred\ufffd\ufffd"]


def test_the_first_lines_are_shown_and_the_others_counted_once(shown):
    feed(*(b"%d\n" % n for n in range(1000)))
    assert shown[:LINES] == [f"room: {n}" for n in range(LINES)]
    assert shown[LINES:] == [f"room: ... and {1000 - LINES} more lines"]


def test_a_line_that_comes_again_is_not_shown_again(shown):
    feed(b"step\n" * 3)
    assert shown == ["room: step", "room: ... and 2 more lines"]


def test_of_a_line_without_an_end_little_is_kept_and_shown(shown):
    speaker, lines = Speaker("room"), Lines()
    for _ in range(100):
        lines.feed(b"x" * 100_000, speaker)
    assert len(lines._begun) < 10_000
    lines.end(speaker)
    assert shown == [f"room: {'x' * WIDTH} ..."]


def test_a_file_goes_by_its_name():
    assert foreign.speaker("/some/where/room.py").name == "room"
    assert foreign.speaker("gymnasium:Room-v1.2").name == "gymnasium:Room-v1.2"
