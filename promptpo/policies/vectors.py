"""Parameters of a compact policy as a language model reads and writes them.

What is accepted of a reply: ``params[3]: 0.5`` or ``params[3] = 0.5`` for each parameter, in rising
order and any layout, or ``params = [0.5, -1.0, ...]`` with all of them; of several complete sets
the last one.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from promptpo.common.text import plural
from promptpo.policies.parametric import ParametricPolicy

Vector = tuple[float, ...]

_NUMBER = r"[-+\u2212]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_MARKUP = r"[\s*`\"']*"
_ONE = re.compile(rf"\bparams{_MARKUP}\[\s*([0-9]{{1,6}})\s*\]{_MARKUP}[:=]{_MARKUP}({_NUMBER})")
_ALL = re.compile(rf"\bparams{_MARKUP}[:=]{_MARKUP}\[([^\[\]]*)\]")

#: Indices that a complaint names, at most.
_NAMED = 8


@dataclass(frozen=True)
class Entry:
    """Parameters that have played: mean return and, where it is defined, success rate."""

    values: Vector
    value: float
    success_rate: float | None
    episodes: int


@dataclass(frozen=True)
class Vectors:
    """The parameters of a policy: numbers from ``low`` to ``high`` with so many ``digits``.

    Those of a table are actions: whole numbers, whatever the bounds say.
    """

    policy: ParametricPolicy
    low: float
    high: float
    digits: int

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.policy.program.size

    @cached_property
    def allowed(self) -> str:
        """The values that each may have, in words."""
        choices, starts = self.policy.choices, self.policy.starts
        if not choices:
            places = plural(self.digits, "decimal place") if self.digits else "no decimal place"
            return f"a number from {self._one(self.low)} to {self._one(self.high)} with {places}"
        if len({*zip(choices, starts, strict=True)}) == 1:
            return f"a whole number from {starts[0]} to {starts[0] + choices[0] - 1}"
        width = next(n for n in range(1, self.size + 1) if choices == choices[:n] * (self.size // n)
                     and starts == starts[:n] * (self.size // n))  # fmt: skip
        kinds = enumerate(zip(choices[:width], starts[:width], strict=True))
        ranges = [f"{s} to {s + n - 1} where i % {width} is {i}" for i, (n, s) in kinds]
        return f"a whole number, params[i] from {', '.join(ranges)}"

    def draw(self, generator: random.Random, deviation: float) -> Vector:
        """Draw random ones: normal around 0 and rounded, or every action alike."""
        if self.policy.choices:
            return self._actions(self.policy.draw(generator))
        drawn = tuple(generator.gauss(0.0, deviation) for _ in range(self.size))
        return self.fitted(drawn)[0]

    def fitted(self, values: Sequence[float]) -> tuple[Vector, int]:
        """Return values rounded and clipped to the bounds, and how many lay outside these."""
        if self.policy.choices:
            return tuple(values), 0
        rounded = [round(x, self.digits) + 0.0 for x in values]  # no -0.0
        clipped = sum(not self.low <= x <= self.high for x in rounded)
        return tuple(min(max(x, self.low), self.high) for x in rounded), clipped

    def source(self, values: Sequence[float]) -> str:
        """Return the policy with these parameters."""
        if not self.policy.choices:
            return self.policy.program.source(values)
        starts = self.policy.starts
        return self.policy.program.source(
            [int(x) - start for x, start in zip(values, starts, strict=True)]
        )

    def shown(self, values: Sequence[float]) -> str:
        """Return them as prompts have them: ``params = [0.5, -1.0]``."""
        return f"params = [{', '.join(map(self._one, values))}]"

    @property
    def form(self) -> str:
        """The form that a reply is asked to end with."""
        last = self.size - 1
        indices = [0, 1, last] if last > 2 else range(self.size)
        starts = self.policy.starts
        parts = [f"params[{i}]: {self._one(starts[i] if starts else 0.0)}" for i in indices]
        if last > 2:
            parts.insert(2, "...")
        return ", ".join(parts)

    def read(self, text: str) -> Vector:
        """Return the last complete set in a text. Raises ValueError with what is wrong with it."""
        sets = list(self._sets(text))
        if not sets:
            raise ValueError(f"no parameters found; end with all of them: {self.form}")
        whole = [each for each in sets if len(each) == self.size]
        if not whole:
            raise ValueError(self._missing(sets[-1]))
        values = tuple(whole[-1][i] for i in range(self.size))
        self._check(values)
        return values

    def _sets(self, text: str) -> Iterator[dict[int, float]]:
        """Yield the sets in a text, complete or not; one ends where an index does not rise."""
        matches = [*_ONE.finditer(text), *_ALL.finditer(text)]
        current: dict[int, float] = {}
        for match in sorted(matches, key=re.Match.start):
            if match.re is _ALL:
                listed = re.findall(_NUMBER, match[1])
                yield from filter(None, (current, dict(enumerate(map(_value, listed)))))
                current = {}
                continue
            index = int(match[1])
            if current and index <= max(current):
                yield current
                current = {}
            current[index] = _value(match[2])
        yield from filter(None, (current,))

    def _missing(self, numbers: dict[int, float]) -> str:
        beyond = [i for i in numbers if i >= self.size]
        if beyond:
            last = self.size - 1
            return f"there is no params[{max(beyond)}]; the last one is params[{last}]"
        missing = [f"params[{i}]" for i in range(self.size) if i not in numbers]
        named = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
        return f"the last set of parameters is not complete: without {named}"

    def _check(self, values: Vector) -> None:
        """Raise ValueError for what is no number, and for an action that there is not."""
        for i, x in enumerate(values):
            if not math.isfinite(x):
                raise ValueError(f"params[{i}] is no finite number")
        for i, (n, start) in enumerate(zip(self.policy.choices, self.policy.starts, strict=True)):
            if values[i] not in range(start, start + n):
                problem = f"{values[i]:g}, must be a whole number from {start} to {start + n - 1}"
                raise ValueError(f"params[{i}] is {problem}")

    def _actions(self, choices: Sequence[float]) -> Vector:
        return tuple(x + s for x, s in zip(choices, self.policy.starts, strict=True))

    def _one(self, x: float) -> str:
        return f"{x:.0f}" if self.policy.choices else f"{x:.{self.digits}f}"


def _value(word: str) -> float:
    return float(word.replace("\N{MINUS SIGN}", "-"))
