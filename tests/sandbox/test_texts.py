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
"""
LONG = "N" * 100_000
FAULTS = {
    "a message that lies": LIAR
    + "class E(Exception):\n    def __str__(self): return S('y' * 10 ** 6)\nraise E",
    "a repr that lies": LIAR
    + "class E(Exception):\n    def __repr__(self): return S('y')\n    __str__ = __repr__\nraise E",
    "a class with a long name": f"class {LONG}(Exception): pass\nraise {LONG}",
    "a function with a long name": f"def {LONG}(): raise ValueError\n{LONG}()",
    "a private class": "class _Hidden(Exception): pass\nraise _Hidden",
    "a message that cannot be read": "class E(Exception):\n    def __str__(self): 1 / 0\nraise E",
}


@pytest.mark.parametrize("source", FAULTS.values(), ids=FAULTS)
def test_what_is_told_of_an_exception_is_short_and_plain(source):
    with pytest.raises(Exception) as caught:
        run_restricted(source)

    text, _ = describe(caught.value, source)

    assert type(text) is str
    assert len(text) < 3000
    assert names.PREFIX not in text


REFUSED = {
    "a long builtin attribute": f"x.__{LONG}__",
    "a long module": f"import {LONG}",
    "a long name from a module": f"from math import {LONG}",
    "a long class keyword": f"class A({LONG}=1): pass",
    "a long parameter twice": f"def f({LONG}, {LONG}): pass",
    "a long reserved name": f"\u01c0{LONG} = 1",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_refusals_are_short(source):
    with pytest.raises(CompileError) as caught:
        run_restricted(source)

    assert len(caught.value.message) < 1500


def test_a_summary_is_plain_text_without_hidden_names():
    source = LIAR + (
        "class _P: pass\nclass Feedback:\n    def summarize_trajectory(self, traj):\n"
        "        return S(f'{type(_P()).__name__} ' + 'y' * 50)\n"
    )
    task = Task(source, Interface(1, None, Box((1,))), Limits(text_chars=20))

    text = FeedbackProgram(task, runtime(())).summarize(None)

    assert type(text) is str
    assert text.startswith("_P yyy")
    assert len(text) < 80


def test_what_is_printed_is_what_str_gives_and_its_length_is_counted():
    _, printer = run_restricted(LIAR + "print(S('y' * 9000), end='')\nprint(S('z'))")

    assert printer.text.startswith("yyy")
    assert len(printer.text) < 4100
