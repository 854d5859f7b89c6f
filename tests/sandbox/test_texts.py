"""Texts that come from a program: no length, no subclass of str and no hidden name gets through."""

import pytest
from restricted import run_restricted, runtime

from sandbox import Box, CompileError, Interface, Limits
from sandbox.inside.faults import describe
from sandbox.inside.program import FeedbackProgram, Task
from sandbox.language import names

LIAR = """
class S(str):
    def __getitem__(self, key): return "x" * 10 ** 7
    def __len__(self): return 1
    def __str__(self): return self
    def __format__(self, spec): return "x" * 10 ** 7
class E(Exception):
    def __str__(self): return TEXT
    def __repr__(self): return TEXT
raise E
"""
LONG = "N" * 100_000


@pytest.mark.parametrize(
    "source",
    [
        LIAR.replace("TEXT", "S('y' * 10 ** 6)"),
        LIAR.replace("TEXT", "S('y')"),
        LIAR.replace("TEXT", "1 / 0"),
        f"class {LONG}(Exception): pass\nraise {LONG}",
        f"def {LONG}(): raise ValueError\n{LONG}()",
        "class _Hidden(Exception): pass\nraise _Hidden",
    ],
    ids=range(6),
)
def test_what_is_told_of_an_exception_is_short_and_plain(source):
    with pytest.raises(Exception) as caught:
        run_restricted(source)

    text, _ = describe(caught.value, source)

    assert type(text) is str
    assert len(text) < 3000
    assert names.PREFIX not in text


@pytest.mark.parametrize(
    "source",
    [
        f"x.__{LONG}__",
        f"import {LONG}",
        f"from math import {LONG}",
        f"class A({LONG}=1): pass",
        f"def f({LONG}, {LONG}): pass",
        f"\u01c0{LONG} = 1",
    ],
    ids=range(6),
)
def test_refusals_are_short(source):
    with pytest.raises(CompileError) as caught:
        run_restricted(source)

    assert len(caught.value.message) < 1500


def test_what_is_printed_or_returned_is_what_str_gives_and_its_length_is_counted():
    source = LIAR.partition("class E")[0] + (
        "print(S('y' * 9000), end='')\nprint(S('z'))\n"
        "class _P: pass\nclass Feedback:\n    def summarize_trajectory(self, traj):\n"
        "        return S(f'{type(_P()).__name__} ' + 'y' * 50)\n"
    )
    _, printer = run_restricted(source)
    assert printer.text.startswith("yyy")
    assert len(printer.text) < 4100

    task = Task(source, Interface(1, None, Box((1,))), Limits(text_chars=20))
    text = FeedbackProgram(task, runtime(())).summarize(None)
    assert type(text) is str
    assert text.startswith("_P yyy")
    assert len(text) < 80
