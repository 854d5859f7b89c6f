"""Compact policies: a fixed text with numbers in it, for optimizers that know no language.

*Linear* with bias (Mania et al. 2018, arXiv 1803.07055): a weight for every observation number and
action number; continuous actions are clipped to their bounds, of discrete ones the greatest wins.
*Table*: where the observation is a few integers with bounds, one action for each state.
*Probes* know nothing of the task: zero actions, and random ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec, LayoutField

#: States of a table, at most.
MOST_STATES = 10_000

#: Standard deviation of a bias beside weights of 1: observations keep well within their bounds most
#: of the time, so that a larger one would decide by itself.
_BIAS = 0.1

#: A bound beyond this says nothing of where a number usually lies.
FAR = 1e6

#: Rows of weights that are described one by one; of more the rule alone.
_ROWS = 8


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
        """Return a source whose numbers stay as they are, as a program."""
        return cls((source,), prepared)

    @property
    def size(self) -> int:
        """The number of constants."""
        return len(self.parts) - 1

    def source(self, constants: Sequence[float] = ()) -> str:
        """Return the source with these constants. Raises ValueError for another number of them."""
        numbers = [repr(x) if isinstance(x, int) else repr(float(x)) for x in constants]
        if len(numbers) != self.size:
            raise ValueError(f"the program takes {self.size} constants, not {len(numbers)}")
        between = zip(numbers, self.parts[1:], strict=True)
        return self.parts[0] + "".join(number + part for number, part in between)


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

    Attributes:
        name: "linear" or "table".
        choices: for each constant the number of whole numbers from 0 that it may be; empty where
            constants are real numbers.
        deviations: the typical size of each real constant.
        starts: for each constant of a table the action that 0 stands for.
        meaning: a description of the constants as ``params[0]`` and so on.
    """

    name: str
    program: Program
    choices: tuple[int, ...] = ()
    deviations: tuple[float, ...] = ()
    starts: tuple[int, ...] = ()
    meaning: str = ""

    def draw(self, generator: random.Random, scale: float = 1.0) -> tuple[float, ...]:
        """Draw constants: normal, ``scale`` times as large as is typical, or choices."""
        if self.choices:
            return tuple(generator.randrange(n) for n in self.choices)
        drawn = (generator.gauss(0.0, scale * deviation) for deviation in self.deviations)
        return tuple(float(f"{x:.4g}") for x in drawn)  # people are to read them


def parametric_policy(spec: EnvSpec, actions: Actions, *, scaled: bool = True) -> ParametricPolicy:
    """Return the table where the task has few states and discrete actions, else the linear policy.

    ``scaled``: a linear policy reads the observation scaled to -1 .. 1 where its bounds are known.
    """
    from promptpo.spec import layout

    fields = layout(spec.observation)
    sizes = state_sizes(fields)
    if sizes and actions.counts and math.prod(sizes) * len(actions.counts) <= MOST_STATES:
        return _table(fields, sizes, actions)
    return _linear(fields, actions, scaled=scaled)


def state_sizes(fields: Sequence[LayoutField]) -> list[int]:
    """Return the number of values of each observed number; empty if any is no bounded integer."""
    sizes = []
    for item in fields:
        low, high = bounds(item)
        if item.kind == "bool":
            sizes.append(2)
        elif item.kind == "int" and math.isfinite(low[0]) and math.isfinite(high[0]):
            sizes.append(int(high[0] - low[0]) + 1)
        else:
            return []
    return sizes


def bounds(item: LayoutField) -> tuple[list[float], list[float]]:
    """Return the bounds of a field, one each for its numbers; infinite where none is stated."""
    count = item.stop - item.start
    ends = []
    for bound, without in ((item.field.low, -math.inf), (item.field.high, math.inf)):
        stated = float(without > 0) if item.kind == "bool" else bound
        values = stated if isinstance(stated, Sequence) else [stated] * count
        ends.append([without if x is None else float(x) for x in values])
    return ends[0], ends[1]


def _table(
    fields: Sequence[LayoutField], sizes: Sequence[int], actions: Actions
) -> ParametricPolicy:
    """Return a table with a row of actions for each state.

    The number of a state has the values of the fields as its digits.
    """
    index = "0"
    for item, size in zip(fields, sizes, strict=True):
        digit = f"int(obs.{item.name}){_plus(-int(bounds(item)[0][0]))}"
        index = digit if index == "0" else f"({index}) * {size} + {digit}"
    states, width = math.prod(sizes), len(actions.counts)
    row = ", ".join(["\0"] * width) + ("," if width == 1 else "")
    rows = "\n".join([f"    ({row}),"] * states)
    act = f"int(TABLE[state][0]){_plus(actions.starts[0])}"
    if actions.shape:
        starts = ", ".join(map(str, actions.starts))
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
    what = "params[s] is the action" if width == 1 else f"params[{width} * s + j] is action[j]"
    return ParametricPolicy(
        "table",
        Program(tuple(text.split("\0"))),
        actions.counts * states,
        starts=actions.starts * states,
        meaning=f"The policy is a table: {what} in state s. s is a number from 0 to {states - 1},"
        f" found from the observation as s = {index}.",
    )


def _linear(fields: Sequence[LayoutField], actions: Actions, *, scaled: bool) -> ParametricPolicy:
    """Return weights over the observation, and a bias."""
    size = fields[-1].stop
    rows = sum(actions.counts) or math.prod(actions.shape)
    row = ", ".join(["\0"] * (size + 1))
    weights = "\n".join([f"    [{row}],"] * rows)
    scaling, before, after = "", "", ")"
    middle, half = _scaling(fields) if scaled else ([], [])
    if scaled:
        scaling = f"""# The observation is scaled: minus MIDDLE, divided by HALF.
MIDDLE = np.array({middle})
HALF = np.array({half})

"""
        before, after = "(", ") - MIDDLE) / HALF"
    parts = "\n".join(f"            np.ravel(obs.{item.name})," for item in fields)
    constants, action, rule = _action(actions)
    of = "choice" if actions.counts else "number of the action"
    text = f'''import numpy as np

{scaling}# A row for each {of}, a column for each number of the observation, the bias last.
WEIGHTS = np.array([
{weights}
])
{constants}

class Policy:
    """Linear in the observation, with a bias; {rule}."""

    def act(self, obs):
        x = {before}np.concatenate([
{parts}
        ]{after}
        y = WEIGHTS[:, :-1] @ x + WEIGHTS[:, -1]
        return {action}
'''
    return ParametricPolicy(
        "linear",
        Program(tuple(text.split("\0"))),
        deviations=((1.0,) * size + (_BIAS,)) * rows,
        meaning=_meaning_of_weights(fields, rows, actions, middle, half),
    )


def _scaling(fields: Sequence[LayoutField]) -> tuple[list[float], list[float]]:
    """Return the middle and half the range of each observed number; 0 and 1 without bounds."""
    middle, half = [], []
    for item in fields:
        for low, high in zip(*bounds(item), strict=True):
            bounded = abs(low) < FAR and abs(high) < FAR and high > low
            middle.append((low + high) / 2 if bounded else 0.0)
            half.append((high - low) / 2 if bounded else 1.0)
    return middle, half


def _action(actions: Actions) -> tuple[str, str, str]:
    """Return the constants for the action, the expression of it from ``y``, and the rule."""
    if not actions.counts:
        low = [x if math.isfinite(x) else -1e300 for x in actions.low]
        high = [x if math.isfinite(x) else 1e300 for x in actions.high]
        shape = ", ".join(map(str, actions.shape))
        shaped = f".reshape({shape})" if len(actions.shape) > 1 else ""
        constants = f"\nLOW = np.array({low})\nHIGH = np.array({high})\n"
        return constants, f"np.clip(y, LOW, HIGH){shaped}", "clipped to the action's bounds"
    rule = "the greatest wins" if len(actions.counts) == 1 else "the greatest of each part wins"
    if not actions.shape:
        return "", f"int(np.argmax(y)){_plus(actions.starts[0])}", rule
    first, parts = 0, []
    for count, start in zip(actions.counts, actions.starts, strict=True):
        parts.append(f"np.argmax(y[{first}:{first + count}]){_plus(start)}")
        first += count
    return "", f"np.array([{', '.join(parts)}])", rule


def _plus(number: int) -> str:
    """Return `` + 3``, `` - 3``, or nothing, to stand behind an expression."""
    return f" {'+' if number > 0 else '-'} {abs(number)}" if number else ""


def _meaning_of_weights(
    fields: Sequence[LayoutField],
    rows: int,
    actions: Actions,
    middle: Sequence[float],
    half: Sequence[float],
) -> str:
    """Describe weights and biases; ``middle`` and ``half`` scale the observation, if not empty."""
    size = fields[-1].stop
    names = ", ".join(_field_words(item) for item in fields)
    ends = ("[" + ", ".join(f"{x:.4g}" for x in values) + "]" for values in (middle, half))
    scaled = ", less {}, divided by {} element by element".format(*ends) if middle else " as it is"
    width = size + 1
    lines = [
        f"The policy is linear: y = W x + b. x are the {size} numbers of the observation{scaled}:"
        f" {names}.",
        _action_words(actions),
        f"The parameters are W and b row by row, {width} a row: params[{width} * r + c] is the"
        f" weight of x[c] in y[r], params[{width} * r + {size}] the bias of y[r].",
    ]
    if 1 < rows <= _ROWS:
        lines += [
            f"- y[{r}]: weights params[{width * r}] to params[{width * r + size - 1}],"
            f" bias params[{width * r + size}]"
            for r in range(rows)
        ]
    return "\n".join(lines)


def _field_words(item: LayoutField) -> str:
    first, last = item.start, item.stop - 1
    to = f" to x[{last}]" if item.kind == "array" and last > first else ""
    return f"x[{first}]{to} {item.name}" + (", row by row" if to and len(item.shape) > 1 else "")


def _action_words(actions: Actions) -> str:
    """Describe how the action follows from y."""
    if not actions.counts:
        what = "The action is y" if len(actions.low) == 1 else "The action's numbers are those of y"
        return f"{what}, clipped to the action's bounds."
    first, parts = 0, []
    for i, (count, start) in enumerate(zip(actions.counts, actions.starts, strict=True)):
        of, last = f"action[{i}]" if actions.shape else "the action", first + count - 1
        parts.append(
            f"of y[{first}] to y[{last}] the greatest decides {of}: {start} where it is y[{first}],"
            f" {start + count - 1} where it is y[{last}]"
        )
        first += count
    return f"Of{'; '.join(parts).removeprefix('of')}."


_PROBE = '''\
import numpy as np


class Policy:
    """{strategy}"""

    def act(self, obs):
        return {action}
'''


def zero_policy(actions: Actions) -> str:
    """Return a policy that repeats the action of zeros; where actions are discrete, the first."""
    if not actions.counts:
        action = f"np.zeros({actions.shape})"
    else:
        action = repr(actions.starts[0]) if not actions.shape else f"np.array({actions.starts})"
    return _PROBE.format(strategy="Zero action at every step.", action=action)


def random_policy(actions: Actions) -> str:
    """Return a policy that draws each action evenly; where there is no bound, normally."""
    if actions.counts and not actions.shape:
        action = f"{actions.starts[0]} + int(np.random.randint({actions.counts[0]}))"
    elif actions.counts:
        action = f"np.array({actions.starts}) + np.random.randint(np.array({actions.counts}))"
    elif any(abs(x) >= FAR for x in (*actions.low, *actions.high)):
        action = f"np.random.normal(size={actions.shape})"
    else:
        low, high = [*actions.low], [*actions.high]
        action = f"np.random.uniform({low}, {high}).reshape({actions.shape})"
    return _PROBE.format(strategy="A random action at every step.", action=action)


#: Policies that know nothing of a task, by name, in the order in which a search plays them.
PROBES: Mapping[str, Callable[[Actions], str]] = {
    "zero action": zero_policy,
    "random": random_policy,
}
