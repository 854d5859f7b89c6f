"""A table: an action for every state, where an observation is a few whole numbers."""

from __future__ import annotations

import math

from promptpo.builtin.acting import Acting
from promptpo.builtin.spaces import Spaces, listed
from promptpo.builtin.writing import policy
from promptpo.policies.parametric import bounds, state_sizes

#: A table has at most so many numbers.
MOST = 600


def table(spaces: Spaces, variant: int) -> str | None:
    """A level for each actuator and state; the state's number counts the fields as digits."""
    acting = Acting.of(spaces)
    sizes = state_sizes(spaces.fields)
    states = math.prod(sizes) if sizes else 0
    if spaces.continuous or states < 2 or states * len(acting.low) > MOST:
        return None
    state = "0"
    for field, size in zip(spaces.fields, sizes, strict=True):
        low = int(bounds(field)[0][0])
        digit = f"int(obs.{field.name})" + (f" - {low}" if low > 0 else f" + {-low}" if low else "")
        state = digit if state == "0" else f"({state}) * {size} + {digit}"
    width = len(acting.low)
    levels = [x for n in range(states) for x in acting.drawn("table", variant, n)]
    least, most = (listed(list(ends) * states) for ends in (acting.low, acting.high))
    if len({*acting.low}) == len({*acting.high}) == 1:
        least, most = str(acting.low[0]), str(acting.high[0])
    act = (
        f"def act(self, obs):\n    state = {state}\n"
        f"    levels = TABLE[{width} * state:{width} * state + {width}]\n"
        f"    return {acting.by_levels}\n"
    )
    about = "# What is done in each state, numbered from 0.\n"
    return policy(
        f"Table: looks the action of each of {states} states up.",
        [acting.constants, f"{about}TABLE = np.array(tunable({listed(levels)}, {least}, {most}))"],
        [act],
    )
