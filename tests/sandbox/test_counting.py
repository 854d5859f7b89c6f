"""In how many acts each line of a policy ran."""

import numpy as np
import pytest
from speaking import forged_policy, forged_program

import sandbox
from sandbox import Discrete, Interface, Limits, ProtocolError

INTERFACE = Interface(1, None, Discrete(2))
SOURCE = """class Policy:
    GAIN = 2

    def __init__(self):
        self.t = 0

    def act(self, obs):
        self.t += 1
        if self.t > 2:
            return self._late()
        return sum(
            x for x in range(2)
        )

    def _late(self):
        for _ in range(9):
            pass
        return 0

    def _never(self):
        return 1
"""


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


def counted(host, source, acts=5, **options):
    with host.policy(source, INTERFACE, role="counting", **options) as running:
        running.begin(0)
        done = [running.act(np.zeros(1)).item() for _ in range(acts)]
        return dict(running.line_hits()), done


def test_a_line_counts_once_for_each_act_that_reaches_it(host):
    hits, _ = counted(host, SOURCE)
    assert {n: hits[n] for n in (8, 9, 10, 11, 16, 17, 18)} == {
        8: 5, 9: 5, 10: 3, 11: 2, 16: 3, 17: 3, 18: 3,
    }  # fmt: skip
    assert hits[2] == hits[5] == 0  # in the class body and in the initializer: in no act
    assert 21 not in hits


def test_counting_changes_nothing_that_a_policy_does(host):
    source = SOURCE.replace("return 0", "return int(np.random.random() > 0.5)")
    with host.policy(source, INTERFACE) as running:
        running.begin(0)
        plain = [running.act(np.zeros(1)).item() for _ in range(30)]
    assert counted(host, source, 30)[1] == plain


def test_counting_goes_on_after_a_recursion_that_was_too_deep(host):
    source = """
class Policy:
    def act(self, obs):
        try:
            self._deep(obs[0])
        except RecursionError:
            pass
        return 0
    def _deep(self, deep):
        if deep:
            self._deep(deep)
"""
    with host.policy(source, INTERFACE, role="counting") as running:
        running.begin(0)
        for seen in (1, 0, 0):
            running.act(np.full(1, seen))
        assert dict(running.line_hits())[8] == 2


@pytest.mark.parametrize("what", ["sys.settrace(None)", "sys.gettrace()"])
def test_a_program_has_no_way_to_the_counter(host, what):
    with pytest.raises(sandbox.CompileError):
        host.policy(f"import sys\n{what}\n{SOURCE}", INTERFACE, role="counting")


def test_a_slow_program_is_told_where_it_was(host):
    source = SOURCE.replace("self.t += 1", "while True: pass")
    with pytest.raises(sandbox.TimeLimit) as caught:
        counted(host, source, limits=Limits(act_seconds=0.2))
    assert caught.value.line == 8


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1)],
        [(3, 1), (2, 1)],
        [(2, 1), (2, 1)],
        [(99, 1)],
        [(1, 2)],
        [(1, 2**31)],
        [(n, 0) for n in range(1, 30)],
    ],
)
def test_counts_that_cannot_be_end_the_process(pairs):
    numbers = [number for pair in pairs for number in pair]
    with pytest.raises(ProtocolError):
        forged(f"say(22, struct.pack('<{len(numbers)}I', *{numbers}))").line_hits()


@pytest.mark.parametrize("answer", ["say(22, b'123')", "say(DONE)", "say(22, length=10**8)"])
def test_what_are_no_counts_end_the_process(answer):
    with pytest.raises(ProtocolError):
        forged(answer).line_hits()


def test_counts_that_can_be_are_shown():
    assert forged("say(22, struct.pack('<4I', 1, 0, 3, 1))").line_hits() == ((1, 0), (3, 1))


def forged(answer):
    """A policy of three lines that has acted once, whose process answers as it likes."""
    script = f"ask(); say(ACTIONS, bytes(8)); ask(); {answer}"
    running, _ = forged_policy(script, forged_program("one\ntwo\nthree", role="counting"))
    running.act(np.zeros(1))
    return running
