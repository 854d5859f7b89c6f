"""What the numbers of a compact policy are, in words for who is to choose them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptpo.policies.parametric import Actions
    from promptpo.spec import LayoutField

#: Rows of weights that are told one by one; of more the rule alone.
_ROWS = 8


def of_table(index: str, states: int, actions: Actions) -> str:
    """A table of actions; ``index`` is the number of a state as an expression of ``obs``."""
    width = len(actions.counts)
    what = "params[s] is the action" if width == 1 else f"params[{width} * s + j] is action[j]"
    return (
        f"The policy is a table: {what} in state s. s is a number from 0 to {states - 1}, found"
        f" from the observation as s = {index}."
    )


def of_weights(
    fields: Sequence[LayoutField],
    rows: int,
    actions: Actions,
    middle: Sequence[float],
    half: Sequence[float],
) -> str:
    """Weights and biases; ``middle`` and ``half`` scale the observation, empty: it is not."""
    size = fields[-1].stop
    names = ", ".join(_named(item) for item in fields)
    scaled = (
        f", less {_numbers(middle)}, divided by {_numbers(half)} element by element"
        if middle
        else " as it is"
    )
    width = size + 1
    lines = [
        f"The policy is linear: y = W x + b. x are the {size} numbers of the observation{scaled}:"
        f" {names}.",
        _taken(actions),
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


def _named(item: LayoutField) -> str:
    first, last = item.start, item.stop - 1
    if item.kind != "array":
        return f"x[{first}] {item.name}"
    order = ", row by row" if len(item.shape) > 1 else ""
    return (
        f"x[{first}] to x[{last}] {item.name}{order}" if last > first else f"x[{first}] {item.name}"
    )


def _taken(actions: Actions) -> str:
    """How the action follows from y."""
    if not actions.counts:
        what = "The action is y" if len(actions.low) == 1 else "The action's numbers are those of y"
        return f"{what}, clipped to the action's bounds."
    first = 0
    parts = []
    for i, (count, start) in enumerate(zip(actions.counts, actions.starts, strict=True)):
        of = f"action[{i}]" if actions.shape else "the action"
        parts.append(
            f"of y[{first}] to y[{first + count - 1}] the greatest decides {of}: {start} where it"
            f" is y[{first}], {start + count - 1} where it is y[{first + count - 1}]"
        )
        first += count
    return f"Of{'; '.join(parts).removeprefix('of')}."


def _numbers(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{x:.4g}" for x in values) + "]"
