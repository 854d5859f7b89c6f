"""Compact policies: a fixed text with numbers in it, for optimizers that know no language.

*Linear* with bias (Mania et al. 2018, arXiv 1803.07055): a weight for every observation number and
action number; continuous actions are clipped to their bounds, of discrete ones the greatest wins.
*Table*: where the observation is a few integers with bounds, one action for each state.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpo.policies import meaning
from promptpo.policies.program import Program

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec, LayoutField

#: A table has at most so many states.
MOST_STATES = 10_000

#: A bias beside weights of 1: observations keep well within their bounds most of the time, so that
#: a larger one would decide by itself.
_BIAS = 0.1

#: A bound beyond this says nothing of where a number usually lies.
_FAR = 1e6


@dataclass(frozen=True)
class Actions:
    """An action space as plain numbers: ``shape`` and, by element, what it may be.

    Continuous: ``low`` and ``high`` (infinite: no bound). Discrete: ``counts`` and ``starts``; the
    elements are whole numbers ``start`` to ``start + count - 1``. ``shape`` is () for one number.
    """

    shape: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()


@dataclass(frozen=True)
class ParametricPolicy:
    """A program whose constants an optimizer may choose.

    ``choices``: by constant, how many whole numbers from 0 it may be; empty: any real number.
    ``starts``: by such a constant, the action that 0 stands for.
    ``deviations``: by real constant, how large it typically is.
    ``meaning``: what the constants are, for who is to choose them: ``params[0]`` and so on.
    """

    name: str
    program: Program
    choices: tuple[int, ...] = ()
    deviations: tuple[float, ...] = ()
    starts: tuple[int, ...] = ()
    meaning: str = ""

    def draw(self, generator: random.Random, scale: float = 1.0) -> tuple[float, ...]:
        """Random constants: normal, ``scale`` times as large as is typical, or choices."""
        if self.choices:
            return tuple(generator.randrange(n) for n in self.choices)
        drawn = (generator.gauss(0.0, scale * deviation) for deviation in self.deviations)
        return tuple(float(f"{x:.4g}") for x in drawn)  # people are to read them


def parametric_policy(spec: EnvSpec, actions: Actions, *, scaled: bool = True) -> ParametricPolicy:
    """The table where the task has few states and discrete actions, else the linear policy.

    ``scaled``: a linear policy reads the observation scaled to -1 .. 1 where its bounds are known.
    """
    from promptpo.spec import layout

    fields = layout(spec.observation)
    sizes = state_sizes(fields)
    if sizes and actions.counts and math.prod(sizes) * len(actions.counts) <= MOST_STATES:
        return _table(fields, sizes, actions)
    return _linear(fields, actions, scaled=scaled)


def state_sizes(fields: Sequence[LayoutField]) -> list[int]:
    """How many values each observation number has; empty where any is no bounded integer."""
    sizes = []
    for item in fields:
        low, high = bounds(item)
        if item.kind == "bool":
            sizes.append(2)
        elif item.kind == "int" and all(math.isfinite(x) for x in (*low, *high)):
            sizes.append(int(high[0] - low[0]) + 1)
        else:
            return []
    return sizes


def bounds(item: LayoutField) -> tuple[list[float], list[float]]:
    """The bounds of a field, one each for its numbers; infinite where none is stated."""
    count = item.stop - item.start
    ends = []
    for bound, without in ((item.field.low, -math.inf), (item.field.high, math.inf)):
        stated = (0 if without < 0 else 1) if item.kind == "bool" else bound
        values = stated if isinstance(stated, Sequence) else [stated] * count
        ends.append([without if x is None else float(x) for x in values])
    return ends[0], ends[1]


def _table(
    fields: Sequence[LayoutField], sizes: Sequence[int], actions: Actions
) -> ParametricPolicy:
    """One row of actions a state; the state's number counts the fields as digits."""
    index = "0"
    for item, size in zip(fields, sizes, strict=True):
        low = int(bounds(item)[0][0])
        digit = f"int(obs.{item.name}){_plus(-low)}"
        index = digit if index == "0" else f"({index}) * {size} + {digit}"
    states, width = math.prod(sizes), len(actions.counts)
    row = ", ".join("\0" for _ in range(width))
    rows = "\n".join(f"    ({row},)," if width == 1 else f"    ({row})," for _ in range(states))
    starts = ", ".join(str(start) for start in actions.starts)
    act = f"int(TABLE[state][0]){_plus(actions.starts[0])}"
    if actions.shape:
        act = f"np.array(TABLE[state], dtype=int) + np.array([{starts}])"
    text = f'''import numpy as np

# The action of each state, numbered from 0.
TABLE = (
{rows}
)


class Policy:
    """Looks the state up in a table of actions."""

    def act(self, obs):
        state = {index}
        return {act}
'''
    return ParametricPolicy(
        "table",
        Program(tuple(text.split("\0"))),
        actions.counts * states,
        starts=actions.starts * states,
        meaning=meaning.of_table(index, states, actions),
    )


def _linear(fields: Sequence[LayoutField], actions: Actions, *, scaled: bool) -> ParametricPolicy:
    """Weights over the observation, and a bias."""
    size = fields[-1].stop
    rows = sum(actions.counts) if actions.counts else max(1, math.prod(actions.shape))
    row = ", ".join("\0" for _ in range(size + 1))
    weights = "\n".join(f"    [{row}]," for _ in range(rows))
    middle, half = _scaling(fields) if scaled else ([], [])
    scaling = f"""# The observation is scaled: minus MIDDLE, divided by HALF.
MIDDLE = np.array({middle})
HALF = np.array({half})

"""
    before, after = ("(", ") - MIDDLE) / HALF") if scaled else ("", ")")
    parts = "\n".join(f"            np.ravel(obs.{item.name})," for item in fields)
    text = f'''import numpy as np

{scaling if scaled else ""}\
# A row for each {"choice" if actions.counts else "number of the action"}, a column for each \
number of the observation, the bias last.
WEIGHTS = np.array([
{weights}
])
{_action_constants(actions)}

class Policy:
    """Linear in the observation, with a bias; {_rule(actions)}."""

    def act(self, obs):
        x = {before}np.concatenate([
{parts}
        ]{after}
        y = WEIGHTS[:, :-1] @ x + WEIGHTS[:, -1]
        return {_chosen(actions)}
'''
    deviations = ((1.0,) * size + (_BIAS,)) * rows
    return ParametricPolicy(
        "linear",
        Program(tuple(text.split("\0"))),
        deviations=deviations,
        meaning=meaning.of_weights(fields, rows, actions, middle, half),
    )


def _scaling(fields: Sequence[LayoutField]) -> tuple[list[float], list[float]]:
    middle, half = [], []
    for item in fields:
        for low, high in zip(*bounds(item), strict=True):
            known = abs(low) < _FAR and abs(high) < _FAR and high > low
            middle.append((low + high) / 2 if known else 0.0)
            half.append((high - low) / 2 if known else 1.0)
    return middle, half


def _rule(actions: Actions) -> str:
    if not actions.counts:
        return "clipped to the action's bounds"
    return "the greatest wins" if len(actions.counts) == 1 else "the greatest of each part wins"


def _action_constants(actions: Actions) -> str:
    if actions.counts:
        return ""
    low = [x if math.isfinite(x) else -1e300 for x in actions.low]
    high = [x if math.isfinite(x) else 1e300 for x in actions.high]
    return f"\nLOW = np.array({low})\nHIGH = np.array({high})\n"


def _chosen(actions: Actions) -> str:
    if not actions.counts:
        shape = ", ".join(map(str, actions.shape))
        shaped = f".reshape({shape})" if len(actions.shape) > 1 else ""
        return f"np.clip(y, LOW, HIGH){shaped}"
    if not actions.shape:
        return f"int(np.argmax(y)){_plus(actions.starts[0])}"
    ends = [sum(actions.counts[: i + 1]) for i in range(len(actions.counts))]
    parts = zip(ends, actions.counts, actions.starts, strict=True)
    greatest = [f"np.argmax(y[{end - n}:{end}]){_plus(start)}" for end, n, start in parts]
    return f"np.array([{', '.join(greatest)}])"


def _plus(number: int) -> str:
    """`` + 3``, `` - 3``, or nothing, to stand behind an expression."""
    return f" {'+' if number > 0 else '-'} {abs(number)}" if number else ""
