"""How a finding is printed: one line in a pipe, words below each other in a narrow terminal."""

from promptpo.checks import Finding

FOUND = Finding(
    "reward",
    "FAIL",
    "largest deviation 3 on 200 transitions; correct reward() at /some/where/walk.py:22",
    ("the worst, step 2 of seed 5, with held actions:", "  position  0.25  0.5", "hint: add 1"),
)


def test_it_is_a_line_and_what_more_there_is():
    head, *more = str(FOUND).splitlines()
    assert head == f"FAIL  reward                  {FOUND.detail}"
    assert more == [
        "      the worst, step 2 of seed 5, with held actions:",
        "        position  0.25  0.5",
        "      hint: add 1",
    ]


def test_it_is_broken_between_words_where_there_is_little_room():
    assert FOUND.text(62).splitlines() == [
        "FAIL  reward                  largest deviation 3 on 200",
        "                              transitions; correct reward() at",
        "                              /some/where/walk.py:22",
        "      the worst, step 2 of seed 5, with held actions:",
        "        position  0.25  0.5",
        "      hint: add 1",
    ]
