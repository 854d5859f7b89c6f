"""Which lines of a policy ran, in words and line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpo.policies import line_hits, unreached

SOURCE = '''class Policy:
    """Push it."""

    GAIN = 2.0

    def __init__(self):
        self.t = 0

    def act(self, obs):
        # a comment
        self.t += 1
        if self.t > 5:
            self.t = 0
        elif obs.d < 0.02:
            return self._retreat(obs)
        else:
            self.t -= (
                1
            )
        for _ in range(self.t):
            self.t += 1
        return 0
        self.t = 9
        return 1

    def reset(self):
        self.t = 0

    def _retreat(self, obs):
        if obs.d:
            return 1
        return 0
'''
#: Five steps: never beyond 5, never near, the loop is entered twice.
COUNTS = ((1, 0), (2, 0), (4, 0), (6, 0), (7, 0), (9, 0), (11, 5), (12, 5), (14, 5), (17, 5),
          (18, 5), (20, 5), (21, 2), (22, 5), (26, 0), (29, 0))  # fmt: skip


def test_what_never_ran_is_told_the_outermost_first():
    assert unreached(SOURCE, COUNTS) == [
        "`_retreat` was never entered",
        "lines 23 to 24 never ran",
        "the branch at line 12 (`if self.t > 5`) never ran",
        "the branch at line 14 (`elif obs.d < 0.02`) never ran",
    ]


def test_lines_of_code_have_their_counts_and_others_none():
    hits = line_hits(SOURCE, COUNTS)
    assert [hits[n] for n in (4, 6, 7, 9, 11, 12, 13, 14, 15)] == [0, 0, 0, 5, 5, 5, None, 5, None]
    assert [hits[n] for n in (17, 18, 19, 20, 21)] == [5, 5, 5, 5, 2]  # a statement of three lines
    assert [hits[n] for n in (23, 24, 26, 27, 29, 30)] == [None] * 6
    assert hits.keys().isdisjoint({1, 2, 3, 5, 8, 10, 16, 25})


@pytest.mark.parametrize(
    ("body", "ran", "told"),
    [
        ("if a:\n    x = 1\nelse:\n    x = 2", {1, 2}, ["the `else` of line 1 (`if a`) never ran"]),
        ("if a: x = 1", {1}, []),
        ("while a:\n    x = 1", {1}, ["the loop at line 1 (`while a`) never ran"]),
        (
            "match a:\n    case 1:\n        x = 1\n    case _:\n        x = 2",
            {1, 2, 3},
            ["the branch at line 4 (`case _`) never ran"],
        ),
        (
            "if a:\n    x = 1\nelif b:\n    x = 2",
            {1, 2},
            ["line 3 (`elif b`) was never reached"],
        ),
        ("try:\n    x = 1\nexcept ValueError:\n    x = 2", {1, 2}, []),
        ("with a:\n    x = 1\n    y = 2", {1, 2}, ["line 3 never ran"]),
        ('if __name__ == "__main__":\n    x = 1', {1}, []),
        (
            "class Filter:\n    def put(self):\n        x = 1",
            {1, 2},
            ["`Filter.put` was never entered"],
        ),
        ("class A:\n    def put(self):\n        raise NotImplementedError", {1, 2}, []),
        ("def f(): return 1", {1}, []),
        ("def f():\n    global x\n    '''x'''\n    x = 1", {1, 4}, []),
        (
            f"if {'a and ' * 20}b:\n    x = 1",
            {1},
            [f"the branch at line 1 (`if {('a and ' * 20)[:57]}...`) never ran"],
        ),
    ],
)  # fmt: skip
def test_branches_and_functions(body, ran, told):
    assert unreached(body, [(line, 0) for line in ran]) == told


def test_no_more_than_five_are_told():
    source = "\n".join(f"def f{i}():\n    x = 1" for i in range(9))
    told = unreached(source, [(2 * i + 1, 0) for i in range(9)])
    assert told[3:] == ["`f3` was never entered", "and 5 more that never ran"]


@given(
    counts=st.lists(st.tuples(st.integers(-5, 60), st.integers(-5, 10))),
    source=st.sampled_from([SOURCE, "", "def (", "x = '\\ud800'", "(" * 500, "\0"]),
)
def test_any_counts_can_be_shown(counts, source):
    assert len(unreached(source, counts)) <= 5
    assert line_hits(source, counts).keys() <= set(range(1, 60))


LEARNING = """class Model:
    def step(self, x):
        return x

def fit(data):
    return Model()

def helper(x):
    return x

def prepare(data):
    return {"x": fit(data).step(1)}

class Policy:
    def act(self, obs):
        return 0
"""


def test_what_runs_in_prepare_is_not_missed():
    """Lines are counted while a policy is made and acts, long after that."""
    counts = ((1, 0), (2, 0), (5, 0), (8, 0), (11, 0), (14, 0), (15, 0), (16, 5))
    assert unreached(LEARNING, counts) == ["`helper` was never entered"]
