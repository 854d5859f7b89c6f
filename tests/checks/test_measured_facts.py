"""A data sheet is held, line by line, against what the live environment says of itself."""

import pytest

STATED = 'FACTS = """\nThe line is 42 m long.\nA step takes 1 s.\n"""\n\n\ndef make():'
MEASURED = "lambda env: f'The line is {42 if env else 0} m long.\\nA step takes 1 s.'"


def given(facts="FACTS", measured=MEASURED):
    return (
        ("def make():", STATED),
        ("    make=make,", f"    make=make,\n    facts={facts},\n    measured_facts={measured},"),
    )


def test_facts_that_are_measured_so_pass(verdicts):
    found = verdicts(*given())["facts"]
    assert (found.verdict, found.detail) == ("ok", "2 lines, as the environment has them")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measured", "line", "more"),
    [
        (
            MEASURED.replace("42 if", "40 if"),
            1,
            ("The line is 42 m long.", "The line is 40 m long."),
        ),
        ("lambda env: 'The line is 42 m long.'", 2, ("A step takes 1 s.", "(it ends before)")),
    ],
)
def test_the_first_line_that_differs_is_told_with_what_to_write(verdicts, measured, line, more):
    found = verdicts(*given(measured=measured))["facts"]
    assert found.failed
    assert found.detail == f"line {line} of facts is not what the environment says"
    assert [words.partition(": ")[2].strip() for words in found.more[:2]] == list(more)


def test_measured_facts_without_stated_ones_are_printed_to_be_copied(verdicts):
    found = verdicts(*given(facts="''"))["facts"]
    assert found.failed
    assert found.more == ("The line is 42 m long.", "A step takes 1 s.")


def test_what_is_not_measured_is_no_failure_and_is_told(verdicts):
    found = verdicts(*given(measured="None"))["facts"]
    assert found.verdict == "note"
    assert "measured_facts" in found.detail


def test_a_private_phrase_may_not_stand_in_the_facts_either(verdicts):
    found = verdicts(*given(facts="'An earthquake shakes it.'", measured="None"))["prompt"]
    assert "contains 'earthquake'" in found.detail
