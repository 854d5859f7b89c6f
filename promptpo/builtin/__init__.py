"""Policies without a language model: the field's standard structures, from a task's spaces alone.

The control of every experiment with a model (what does the model add?), and a first look at a spec
on a machine without a key. Only the shapes, units and bounds of the observation and the action
space decide: no name, no description, no reward.
"""

from promptpo.builtin.synthesizer import Synthesizer

__all__ = ["Synthesizer"]
