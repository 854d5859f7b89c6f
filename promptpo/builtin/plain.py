"""Structures that look at nothing: zero, constant and random actions."""

from __future__ import annotations

from promptpo.builtin.acting import Acting
from promptpo.builtin.spaces import Spaces
from promptpo.builtin.writing import policy, remembered
from promptpo.policies.doing_nothing import zero_policy


def zero(spaces: Spaces, variant: int) -> str | None:
    """The action of zeros, or the first."""
    return None if variant else zero_policy(spaces.actions)


def constant(spaces: Spaces, variant: int) -> str:
    """One action, whatever is seen."""
    acting = Acting.of(spaces)
    levels = acting.drawn("constant", variant) if variant else acting.levels(0.5)
    constants = [acting.constants, f"LEVELS = {acting.declared(levels)}"]
    act = f"def act(self, obs):\n    levels = LEVELS\n    return {acting.by_levels}\n"
    return policy("Constant: the same action at every step.", constants, [act])


def random(spaces: Spaces, variant: int) -> str | None:
    """Actions drawn evenly, each kept for a while."""
    if variant:
        return None
    acting = Acting.of(spaces)
    low, high = (f"np.array({list(ends)})" for ends in (acting.low, acting.high))
    constants = [
        acting.constants,
        f"# Each level is drawn between these, and an action is kept with the chance KEEP.\n"
        f"LOW = {low}\nHIGH = {high}\nKEEP = tunable(0.5, 0.0, 0.99)",
    ]
    made = remembered("self.levels = None")
    act = (
        "def act(self, obs):\n"
        "    if self.levels is None or np.random.uniform() > KEEP:\n"
        "        self.levels = np.random.uniform(LOW, HIGH)\n"
        f"    levels = self.levels\n    return {acting.by_levels}\n"
    )
    return policy("Random: actions drawn evenly, each kept for some steps.", constants, [made, act])
