"""Edits of a source, as replies spell them."""

import pytest

from promptpo.llm.edits import revised
from promptpo.llm.extraction import ReplyRejected
from promptpo.llm.messages import Reply

SOURCE = '''class Policy:
    """Pushes."""

    def act(self, obs):
        gain = 1.0
        if obs.angle > 0:
            return 1
        return 0
'''


def edit(search, replace):
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


def source(text):
    return revised(Reply(text, "fake"), SOURCE, "Policy")


def refused(text):
    with pytest.raises(ReplyRejected) as caught:
        source(text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        edit("        gain = 1.0", "        gain = 2.0"),
        "Because.\n\n```python\n" + edit("        gain = 1.0  ", "        gain = 2.0") + "```\n",
        edit("        gain = 1.0", "        gain = 3.0")
        + edit("        gain = 3.0", "        gain = 2.0"),
    ],
    ids=["bare", "fenced, with space at the end", "one on the other"],
)
def test_an_edit_puts_lines_in_the_place_of_others(text):
    assert source(text) == SOURCE.replace("1.0", "2.0")


def test_lines_can_be_left_out():
    text = "<<<<<<< SEARCH\n        gain = 1.0\n=======\n>>>>>>> REPLACE\n"
    assert source(text) == SOURCE.replace("        gain = 1.0\n", "")


def test_a_whole_class_stands_for_edits():
    assert source("```python\nclass Policy:\n    pass\n```") == "class Policy:\n    pass\n"


def test_a_reply_may_leave_it_as_it_is():
    assert source("It balances already.\n\nUNCHANGED\n") == SOURCE


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Make the gain larger.", "no edit"),
        (edit("        gain = 1.5", "x"), "no line 'gain = 1.5'; the policy has"),
        (edit("        gain = 1.0\n        return 0", "x"), "not one after the other"),
        (edit("", "x"), "searches for nothing"),
        ("<<<<<<< SEARCH\n        gain = 1.0\n=======\nx\n", "no end"),
        ("<<<<<<< SEARCH\n        gain = 1.0\n>>>>>>> REPLACE\n", "no ======="),
        (edit("class Policy:", "class Other:"), "no class Policy"),
        ("", "empty"),
    ],
)
def test_what_does_not_fit_is_told(text, why):
    assert why in refused(text)


def test_lines_that_stand_there_twice_are_no_place():
    text = edit("    x = 1", "    x = 2")
    with pytest.raises(ReplyRejected, match="2 times"):
        revised(Reply(text, "fake"), "class Policy:\n    x = 1\n    x = 1\n", "Policy")
