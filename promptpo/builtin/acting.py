"""How a policy's numbers become an action: by levels of its actuators, or by scores of choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from promptpo.builtin.spaces import FAR, Spaces, drawn, listed
from promptpo.policies.parametric import Actions


@dataclass(frozen=True)
class Acting:
    """The end of ``act`` for one action space.

    *Levels* are one number an actuator: from -1 to 1 of a continuous one's range, or which whole
    number of a discrete one, to be rounded. *Scores* are the levels of continuous actuators; of
    discrete ones one number a choice, or one in all where there are two, which decides by its sign.

    Attributes:
        constants: lines of the module that the expressions need.
        by_levels, by_scores: the action, an expression of ``levels`` or ``scores``.
        scores: how many there are.
        low, high: the range of each level.
    """

    constants: str
    by_levels: str
    by_scores: str
    scores: int
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, spaces: Spaces) -> Acting:
        """What the action space asks for."""
        return _continuous(spaces.actions) if spaces.continuous else _discrete(spaces.actions)

    def drawn(self, *of: object) -> list[float]:
        """Levels drawn within their ranges."""
        shares = drawn(len(self.low), 0.3, *of)
        ends = zip(self.low, self.high, shares, strict=True)
        return [round((a + b) / 2 + s / 2 * (b - a), 2) for a, b, s in ends]


def _continuous(actions: Actions) -> Acting:
    middle, half = [], []
    for low, high in zip(actions.low, actions.high, strict=True):
        least, most = abs(low) < FAR, abs(high) < FAR
        half.append((high - low) / 2 if least and most else 1.0)
        middle.append((low + high) / 2 if least and most else low + 1 if least else
                      high - 1 if most else 0.0)  # fmt: skip
    shape = ", ".join(map(str, actions.shape))
    shaped = f".reshape({shape})" if len(actions.shape) > 1 else ""
    start, end = ("(", ")") if shaped else ("", "")
    count = len(half)
    text = start + "MIDDLE + HALF * np.clip({}, -1.0, 1.0)" + end + shaped
    lines = f"# Actions are MIDDLE, and at most HALF to either side.\nMIDDLE = {_array(middle)}\n"
    return Acting(
        constants=f"{lines}HALF = {_array(half)}\n",
        by_levels=text.format("levels"),
        by_scores=text.format("scores"),
        scores=count,
        low=(-1.0,) * count,
        high=(1.0,) * count,
    )


def _array(values: Sequence[float]) -> str:
    return f"np.array({listed(values)})"


def _discrete(actions: Actions) -> Acting:
    parts = list(zip(actions.counts, actions.starts, strict=True))
    low, high = [start for _, start in parts], [start + count - 1 for count, start in parts]
    choices, at = [], 0
    for count, start in parts:
        if count == 1:
            choices.append(str(start))
        elif count == 2:
            choices.append(f"int(scores[{at}] > 0){_plus(start)}")
        else:
            choices.append(f"int(np.argmax(scores[{at}:{at + count}])){_plus(start)}")
        at += _scores(count)
    shape = ", ".join(map(str, actions.shape))
    shaped = f".reshape({shape})" if len(actions.shape) > 1 else ""
    rounded = "np.clip(np.round(levels), LOWEST, HIGHEST)"
    return Acting(
        constants="# The whole numbers that actions may be.\n"
        f"LOWEST = {_array(low)}\nHIGHEST = {_array(high)}\n",
        by_levels=f"{rounded}.astype(int){shaped}" if actions.shape else f"int({rounded}[0])",
        by_scores=f"np.array([{', '.join(choices)}]){shaped}" if actions.shape else choices[0],
        scores=max(1, at),
        low=tuple(start - 0.45 for start in low),
        high=tuple(end + 0.45 for end in high),
    )


def _scores(count: int) -> int:
    return {1: 0, 2: 1}.get(count, count)


def _plus(number: int) -> str:
    return f" {'+' if number > 0 else '-'} {abs(number)}" if number else ""


def rows(numbers: Sequence[float], width: int, low: float, high: float) -> str:
    """A matrix of constants that can be tuned, a row a line."""
    count = math.ceil(len(numbers) / width)
    lines = [f"    {listed(numbers[i * width : (i + 1) * width])},\n" for i in range(count)]
    return f"np.array(tunable([\n{''.join(lines)}], {low:g}, {high:g}))"
