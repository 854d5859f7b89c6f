"""A policy's source with places for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """The text of a policy, cut where its constants stand: ``n`` of them between ``n + 1`` parts.

    Filled with numbers it is an ordinary source, with each of them as a literal in its place.
    ``prepared`` is the digest of the values that its policies are made with; None: without any.
    """

    parts: tuple[str, ...]
    prepared: str | None = None

    @classmethod
    def of(cls, source: str, prepared: str | None = None) -> Program:
        """A source whose numbers stay as they are."""
        return cls((source,), prepared)

    @property
    def size(self) -> int:
        """How many constants it takes."""
        return len(self.parts) - 1

    def source(self, constants: Sequence[float] = ()) -> str:
        """The policy with these constants. Raises ValueError where their number does not fit."""
        numbers = [repr(x) if isinstance(x, int) else repr(float(x)) for x in constants]
        if len(numbers) != self.size:
            raise ValueError(f"the program takes {self.size} constants, not {len(numbers)}")
        between = zip(numbers, self.parts[1:], strict=True)
        return self.parts[0] + "".join(number + part for number, part in between)
