"""Whatever a program's text is, the code that reads it on the host raises no strange errors, soon.

Of what may take long the texts are in ``hostile``; what is linear in them takes a second.
"""

import ast
import contextlib
import time

import pytest
from hostile import LONG, ODD, POLICY
from hypothesis import given, settings
from hypothesis import strategies as st

import sandbox
from promptpo.export.policy_module import MARKER, policy_part, split_imports, strategy_of
from promptpo.llm.extraction import ReplyRejected, extract_code
from promptpo.llm.messages import Reply
from promptpo.policies import line_hits, unreached
from promptpo.policies.constants import MOST, TunableError, tunable, with_ranges_of
from promptpo.policies.sources import takes_prepared
from promptpo.prompts.task import quoted
from promptpo.prompts.words import source_difference, strategy_line, what_differs
from promptpo.report.code import highlighted, side_by_side, strategy
from promptpo.tuning.optimizer import Optimizer

#: Times as long as Python itself parses the slowest of the texts: what is not linear takes minutes.
LIMIT = 5


def reply(text):
    return Reply(text, "a model")


def constants(source):
    """Find the numbers, and write others in their place."""
    found = tunable(source, auto=True)
    assert len(found.constants) <= MOST
    if found.constants:
        (values, *_) = Optimizer(found.constants, 1).ask()
        assert with_ranges_of(found.written(values), found) is not None


#: Who reads programs, and what they may raise.
READERS = {
    "constants": (constants, (SyntaxError, TunableError)),
    "arguments": (takes_prepared, SyntaxError),
    "hits": (lambda s: line_hits(s, [(i, 1) for i in range(1, 9_000, 2)]), ()),
    "unreached": (lambda s: unreached(s, [(i, 1) for i in range(1, 9_000)]), ()),
    "strategy": (lambda s: (strategy_line(s), strategy(s)), ()),
    "difference": (lambda s: source_difference(POLICY + s, s.replace("1", "2") + POLICY), ()),
    "statements": (lambda s: what_differs(s, s[:999]), ()),
    "quoted": (quoted, ()),
    "colours": (highlighted, ()),
    "rows": (lambda s: side_by_side(s, s.replace("1", "2") + "\ny"), ()),
    "code": (lambda s: extract_code(reply(f"```python\n{s}\n{POLICY}```"), "Policy"),
             ReplyRejected),
    "blocks": (lambda s: extract_code(reply(f"It: ```\n{s}\n```\n{s}\n```\n{POLICY}```"), "Policy"),
               ReplyRejected),
    "bare": (lambda s: extract_code(reply(s), "Policy"), ReplyRejected),
    "prepares": (lambda s: sandbox.prepares(f"{s}\ndef prepare(data): pass\n"), ()),
    "part": (lambda s: policy_part(f"import os\n\n{MARKER}\n{s}"), ()),
    "imports": (split_imports, SyntaxError),
    "whole strategy": (strategy_of, SyntaxError),
}  # fmt: skip


def read(reader, text):
    function, known = READERS[reader]
    with contextlib.suppress(known):
        function(text)


def seconds(function, *arguments):
    began = time.process_time()
    function(*arguments)
    return time.process_time() - began


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_a_long_text_costs_no_time_and_raises_nothing_unknown(reader):
    read(reader, POLICY)  # what is imported for it is no time of the text's
    parsing = min(seconds(ast.parse, LONG["formatted"]) for _ in range(3))
    for name, text in LONG.items():
        took = seconds(read, reader, text)
        if took >= LIMIT * parsing:  # the least of three, as of parsing: a busy machine only adds
            took = min(took, *(seconds(read, reader, text) for _ in range(2)))
        assert took < LIMIT * parsing, name


@pytest.mark.parametrize("reader", READERS)
def test_an_odd_text_raises_nothing_unknown(reader):
    for text in ODD.values():
        read(reader, text)


PARTS = st.sampled_from(
    ["x = ", "tunable(", "1.5", ", 0, 3", ")", "[", "]", "{'a': ", "}", "(", "\n", "\n    ", ":",
     "class Policy", "def act(self, obs)", "if a", "elif b", "else", '"""', "'", "\\", "#", "0x",
     "f" * 300, "1e999", "-", "```", "```python", "~~~", "\r", "\x0c", "\ud800", "\0", "é", "@",
     "import os", "; ", "lambda", "= ", "*", "self.kp", "%", "<<<<<<< SEARCH", "=======", " "],
)  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=40, deadline=None)
@given(parts=st.lists(PARTS, max_size=40))
def test_no_mixture_of_what_programs_are_made_of_raises_what_is_unknown(reader, parts):
    read(reader, "".join(parts))
