"""Feedback programs through the public interface."""

import numpy as np
import pytest
from acting import TWO
from test_sessions import FIELDS

from sandbox import Box, CompileError, Discrete, Episode, Interface, Limits, PolicyError

READS = """
class Feedback:
    def __init__(self):
        self.seen = 0
    def summarize_trajectory(self, traj):
        self.seen += 1
        last = traj[-1]
        steps = [s.reward for s in traj]
        return (f"{self.seen}: {len(traj)} {traj.length} {traj.total_reward} {traj.success} "
                f"{traj.terminated} {traj.truncated} {steps} {traj.actions} "
                f"{len(traj.observations)} {last.next_observation.opened} {len(traj[1:])}")
"""


def summaries(host, source, *episodes, action=None, fields=FIELDS, **options):
    """Texts of a program, or of one whose method is this expression."""
    if "class" not in source:
        source = f"class Feedback:\n    def summarize_trajectory(self, traj): return {source}"
    interface = Interface(5, fields, action or Discrete(3))
    with host.summarizer(source, interface, **options) as summarizer:
        return [summarizer.summarize(one) for one in episodes]


def episode(success=True):
    observations = np.arange(15.0).reshape(3, 5)
    return Episode(observations, np.array([[1.0], [2.0]]), [0.5, 1.5], True, False, success)


def test_a_summarizer_reads_the_whole_episode(host):
    first, second = summaries(host, READS, episode(), episode(success=None))
    assert first == "1: 2 2 2.0 True True False [0.5, 1.5] [1, 2] 3 14.0 1"
    assert second.startswith("2: 2 2 2.0 None")

    box = Episode(np.zeros((2, 5)), np.arange(4.0)[None], [0.0], False, True, None)
    body = "str(traj.actions[0].tolist()) + str(traj.observations[0].tolist())"
    (text,) = summaries(host, body, box, action=Box((2, 2)), fields=None)
    assert text == "[[0.0, 1.0], [2.0, 3.0]][0.0, 0.0, 0.0, 0.0, 0.0]"


def test_summaries_are_cut_with_a_note(host):
    (text,) = summaries(host, "'x' * 500", episode(), limits=Limits(text_chars=100))
    assert text == "x" * 100 + "\n[summary cut here: 400 more characters]"


def test_summarizers_fail_as_policies_do(host):
    with pytest.raises(PolicyError, match="must return a string, not int"):
        summaries(host, "3", episode())
    with pytest.raises(PolicyError, match="has no attribute 'nope'"):
        summaries(host, "traj.nope", episode())
    with pytest.raises(CompileError, match="class Feedback"):
        host.summarizer("x = 1", TWO)
