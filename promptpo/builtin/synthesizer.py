"""What the model ``builtin`` answers: structure after structure, then variants of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING

from promptpo.builtin.feedback import feedback
from promptpo.builtin.linear import linear, quadratic
from promptpo.builtin.oscillating import oscillating
from promptpo.builtin.spaces import Spaces
from promptpo.builtin.tables import table
from promptpo.policies.constants import tunable
from promptpo.types import Key

if TYPE_CHECKING:
    from promptpo.policies.parametric import Actions
    from promptpo.spec import LayoutField

Structure = Callable[[Spaces, int], str | None]

#: From those that ask for the most of a task's spaces to those that ask for the least.
STRUCTURES: tuple[Structure, ...] = (table, oscillating, linear, quadratic)

_REFLECTION = (
    "No language model reflects here: the builtin synthesizer goes on through its list of"
    " structures, whatever has been found."
)


class Synthesizer:
    """Answers the calls of a run for one task, each by its key alone.

    ``candidates`` is how many policies a round asks for: they are numbered through all rounds.
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
        self.spaces = Spaces(tuple(fields), actions)
        self.declared = declared
        self._candidates = candidates

    def reply(self, key: Key) -> str:
        """The whole reply to a call: a policy's or a Feedback class's source, or a line.

        A repair gets the structure after the one that failed.
        """
        if key.candidate:
            number = (key.round - 1) * self._candidates + key.candidate - 1 + key.attempt
            return _fenced(self.policy(max(number, 0)))
        if "feedback" in key.role:
            return _fenced(feedback(self.spaces))
        return _REFLECTION

    def policy(self, number: int) -> str:
        """The source of policy ``number``, from 0; there is always a next one."""
        source = self._source(number)
        return source if self.declared else tunable(source).source

    @cached_property
    def standard(self) -> tuple[str, ...]:
        """The structures that apply, as they come first, each once."""
        found = (structure(self.spaces, 0) for structure in self._order)
        return tuple(source for source in found if source is not None)

    @property
    def _order(self) -> Sequence[Structure]:
        """A machine with one actuator swings by feedback more often than by the clock."""
        if self.spaces.actuators > 1:
            return STRUCTURES
        others = [structure for structure in STRUCTURES if structure is not oscillating]
        return [*others, oscillating]

    def _source(self, number: int) -> str:
        if number < len(self.standard):
            return self.standard[number]
        later = (
            source
            for variant in count(1)
            for structure in self._order
            if (source := structure(self.spaces, variant)) is not None
        )
        return next(islice(later, number - len(self.standard), None))


def _fenced(source: str) -> str:
    return f"Written by the builtin synthesizer, no language model.\n\n```python\n{source}```\n"
