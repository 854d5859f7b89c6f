"""Policies without a language model: the field's standard structures, from a task's spaces alone.

The control of every experiment with a model (what does the model add?), and a first look at a spec
on a machine without a key. Only the shapes, units and bounds of the observation and the action
space decide: no name, no description, no reward.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice
from typing import TYPE_CHECKING

from promptpo.builtin.spaces import Spaces
from promptpo.builtin.structures import feedback, linear, oscillating, quadratic, table
from promptpo.policies.constants import tunable
from promptpo.types import Key

if TYPE_CHECKING:
    from promptpo.policies.parametric import Actions
    from promptpo.spec import LayoutField

__all__ = ["Synthesizer"]

_REFLECTION = (
    "No language model reflects here: the builtin synthesizer goes on through its list of"
    " structures, whatever has been found."
)
_REPLY = "Written by the builtin synthesizer, no language model.\n\n```python\n{}```\n"


class Synthesizer:
    """Answers the calls of a run for one task, each by its key alone.

    ``candidates`` is the number of policies in a round: policies are numbered through all rounds.
    Without ``declared`` sources hold plain numbers, with it constants that can be tuned.
    """

    def __init__(
        self,
        fields: Sequence[LayoutField],
        actions: Actions,
        candidates: int,
        *,
        declared: bool = False,
    ) -> None:
        self.spaces, self.declared = Spaces(tuple(fields), actions), declared
        self._candidates = candidates
        # A machine with one actuator swings by feedback more often than by the clock.
        one = self.spaces.actuators == 1
        self._order = (
            (table, linear, quadratic, oscillating) if one else
            (table, oscillating, linear, quadratic)
        )  # fmt: skip

    def reply(self, key: Key) -> str:
        """Return the whole reply to a call: a policy's or a Feedback class's source, or a line.

        A repair gets the structure after the one that failed.
        """
        if key.candidate:
            number = (key.round - 1) * self._candidates + key.candidate - 1 + key.attempt
            return _REPLY.format(self.policy(max(number, 0)))
        return _REPLY.format(feedback(self.spaces)) if "feedback" in key.role else _REFLECTION

    def policy(self, number: int) -> str:
        """Return the source of policy ``number``, from 0: structures, then variants of them."""
        sources = (
            source
            for variant in count()
            for structure in self._order
            if (source := structure(self.spaces, variant)) is not None
        )
        source = next(islice(sources, number, None))
        return source if self.declared else tunable(source).source
