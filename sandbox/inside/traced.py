"""A policy program whose class names attributes to be sampled after each act.

Sampling looks an attribute up where objects keep them and runs no code of the program: a property
is not called, so that a program behaves the same whether it is traced or not, and cannot tell.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.inside.policy import Group, PolicyProgram
from sandbox.interface import FloatArray
from sandbox.tracing import MAX_STEPS, Column, pack

_MISSING = object()


class _Samples:
    """What is known of one policy object; ``names`` maps names as written to attributes."""

    def __init__(self, policy: object, names: Mapping[str, str]) -> None:
        self.columns = {name: Column() for name in names}
        self._policy = policy
        self._held: dict[str, Any] = getattr(policy, "__dict__", {})
        self._pairs = [(self.columns[name], attribute) for name, attribute in names.items()]
        self._left = MAX_STEPS

    def take(self) -> None:
        """Sample once more, up to the limit."""
        if not self._left:
            return
        self._left -= 1
        for column, attribute in self._pairs:
            value = self._held.get(attribute, _MISSING)
            column.add(self._of_class(attribute) if value is _MISSING else value)

    def _of_class(self, attribute: str) -> object:
        """A constant of the class, or what a slot of the object holds."""
        for kind in type(self._policy).__mro__:
            found = vars(kind).get(attribute, _MISSING)
            if isinstance(found, types.MemberDescriptorType):
                try:
                    return found.__get__(self._policy)
                except AttributeError:
                    return None
            if found is not _MISSING:
                return found
        return None


class TracedProgram(PolicyProgram):
    """A policy program that is traced in some of its slots."""

    _samples: dict[int, _Samples] | None = None

    def trace(self, begun: Sequence[int], traced: Sequence[int]) -> None:
        """Episodes have begun in some slots; sample those of them that are traced."""
        samples = {n: found for n, found in (self._samples or {}).items() if n not in begun}
        samples |= {slot: _Samples(self.policy(slot), self.compiled.traced) for slot in traced}
        self._samples = samples or None

    def act(self, group: Group, rows: Sequence[FloatArray], actions: FloatArray) -> None:
        """As for any policy; then the slots that are traced are sampled."""
        super().act(group, rows, actions)
        if self._samples is not None:
            for slot in group.slots:
                if slot in self._samples:
                    self._samples[slot].take()

    def samples(self, slot: int) -> bytes:
        """The trace of a slot's episode so far."""
        samples = (self._samples or {}).get(slot)
        return pack(samples.columns if samples is not None else {})
