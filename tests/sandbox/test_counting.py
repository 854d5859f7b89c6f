"""In how many acts each line of a policy ran."""

import numpy as np
import pytest
from acting import acts, policy
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


def counted(host, source, rows, **options):
    with host.policy(source, INTERFACE, role="counting", **options) as running:
        running.begin(0)
        done = [running.act(row).tolist() for row in rows]
        return dict(running.line_hits()), done


def test_a_line_counts_once_for_each_act_that_reaches_it(host):
    hits, _ = counted(host, SOURCE, np.zeros((5, 1)))
    assert [hits[n] for n in (8, 9, 10, 11, 16, 17, 18)] == [5, 5, 3, 2, 3, 3, 3]
    assert hits[2] == hits[5] == 0  # in the class body and in the initializer: in no act
    assert 21 not in hits


def test_counting_changes_nothing_that_a_policy_does(host):
    source = SOURCE.replace("return 0", "return int(np.random.random() > 0.5)")
    rows = np.zeros((30, 1))
    assert counted(host, source, rows)[1] == acts(host, source, INTERFACE, rows)


def test_counting_goes_on_after_a_recursion_that_was_too_deep(host):
    deep = "def _deep(self, deep):\n    if deep:\n        self._deep(deep)"
    body = "try:\n    self._deep(obs[0])\nexcept RecursionError:\n    pass\nreturn 0"
    hits, _ = counted(host, policy(body, deep), np.array([[1.0], [0.0], [0.0]]))
    assert hits[10] == 2


def test_a_program_has_no_way_to_the_counter_and_is_told_where_it_was(host):
    for what in ("sys.settrace(None)", "sys.gettrace()"):
        with pytest.raises(sandbox.CompileError):
            host.policy(f"import sys\n{what}\n{SOURCE}", INTERFACE, role="counting")
    source = SOURCE.replace("self.t += 1", "while True: pass")
    with pytest.raises(sandbox.TimeLimit) as caught:
        counted(host, source, [np.zeros(1)], limits=Limits(act_seconds=0.2))
    assert caught.value.line == 8


def forged(answer):
    """Counts of a policy of three lines that has acted once, whose process answers as it likes."""
    script = f"ask(); say(ACTIONS, bytes(8)); ask(); {answer}"
    running, _ = forged_policy(script, forged_program("one\ntwo\nthree", role="counting"))
    with running:
        running.act(np.zeros(1))
        return running.line_hits()


@pytest.mark.parametrize(
    "numbers",
    [
        [0, 1],
        [3, 1, 2, 1],
        [2, 1, 2, 1],
        [99, 1],
        [1, 2],
        [1, 2**31],
        [number for n in range(1, 30) for number in (n, 0)],
    ],
)
def test_counts_that_cannot_be_end_the_process(numbers):
    with pytest.raises(ProtocolError):
        forged(f"say(22, struct.pack('<{len(numbers)}I', *{numbers}))")


def test_what_are_no_counts_end_the_process_and_others_are_shown():
    for answer in ("say(22, b'123')", "say(DONE)", "say(22, length=10**8)"):
        with pytest.raises(ProtocolError):
            forged(answer)
    assert forged("say(22, struct.pack('<4I', 1, 0, 3, 1))") == ((1, 0), (3, 1))
