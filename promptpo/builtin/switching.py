"""Structures that switch: bang-bang with hysteresis, bang-bang with a linear region, a tree."""

from __future__ import annotations

from promptpo.builtin.acting import Acting, rows
from promptpo.builtin.spaces import Spaces, drawn
from promptpo.builtin.writing import policy, remembered, scaled

#: Numbers that a switch goes by, and those of a tree.
SWITCH, TREE = 12, 24

#: Constants of a policy with regions, about.
_MOST = 50

#: A tree asks a number at most so often.
_DEPTH = 2


def bang_bang(spaces: Spaces, variant: int) -> str:
    """One of two actions, by the sign of a weighted sum, which has to leave a band to change it."""
    acting = Acting.of(spaces)
    read = spaces.read(SWITCH, variant // 2)
    constants, method = scaled(read)
    weights = drawn(len(read) + 1, 0.4, "bang-bang", variant)
    made = remembered("self.up = None")
    act = (
        "def act(self, obs):\n"
        "    signal = WEIGHTS[:-1] @ self.read(obs) + WEIGHTS[-1]\n"
        "    if self.up is None or abs(signal) > BAND:\n"
        "        self.up = signal > 0\n"
        "    levels = UP if self.up else DOWN\n"
        f"    return {acting.by_levels}\n"
    )
    return policy(
        f"Bang-bang with hysteresis: one of two actions by the sign of a weighted sum of"
        f" {len(read)} numbers, kept within a band about zero.",
        [
            acting.constants,
            constants,
            f"# A weight for each number that is read, the bias last.\n"
            f"WEIGHTS = {_vector(weights, 1.0)}\nBAND = tunable(0.01, 0.0, 0.3)",
            _ends(acting, variant),
        ],
        [made, method, act],
    )


def regions(spaces: Spaces, variant: int) -> str:
    """Bang-bang, but linear where another weighted sum says so: pump, then hold."""
    acting = Acting.of(spaces)
    most = (_MOST - 2 * len(acting.low)) // (acting.scores + 2) - 1
    read = spaces.read(max(1, min(SWITCH, most)), variant // 2)
    constants, method = scaled(read)
    width = len(read) + 1
    region, push = (drawn(width, 0.4, name, variant) for name in ("region", "push"))
    hold = drawn(acting.scores * width, 0.8, "hold", variant)
    act = (
        "def act(self, obs):\n"
        "    x = np.append(self.read(obs), 1.0)\n"
        "    if REGION @ x > 0:\n"
        "        scores = HOLD @ x\n"
        f"        return {acting.by_scores}\n"
        "    levels = UP if PUSH @ x > 0 else DOWN\n"
        f"    return {acting.by_levels}\n"
    )
    return policy(
        "Two modes: linear within a region of the observation, one of two actions outside it, by"
        " the sign of a weighted sum.",
        [
            acting.constants,
            constants,
            f"# Weights of the {len(read)} numbers that are read, the bias last.\n"
            f"REGION = {_vector(region, 1.0)}\nPUSH = {_vector(push, 1.0)}\n"
            f"HOLD = {rows(hold, width, -8.0, 8.0)}",
            _ends(acting, variant),
        ],
        [method, act],
    )


def tree(spaces: Spaces, variant: int) -> str:
    """Thresholds on three numbers, and an action for each of four leaves."""
    acting = Acting.of(spaces)
    read = spaces.read(TREE)
    first = read[variant % len(read)]
    left, right = (read[(variant * 2 + k) % len(read)] for k in (1, 2))
    asked = [first, left, right]
    constants, method = scaled(asked)
    leaves = [f"LEAF_{n} = {acting.declared(acting.drawn('leaf', n, variant))}" for n in range(4)]
    act = (
        "def act(self, obs):\n"
        "    first, left, right = self.read(obs) > THRESHOLDS\n"
        "    if first:\n"
        "        levels = LEAF_3 if right else LEAF_2\n"
        "    else:\n"
        "        levels = LEAF_1 if left else LEAF_0\n"
        f"    return {acting.by_levels}\n"
    )
    thresholds = drawn(3, 0.2, "threshold", variant)
    return policy(
        f"Decision tree of depth {_DEPTH}: asks {first.text}, then {left.text} or {right.text}.",
        [
            acting.constants,
            constants,
            f"THRESHOLDS = {_vector(thresholds, 1.0)}\n" + "\n".join(leaves),
        ],
        [method, act],
    )


def _vector(values: list[float], bound: float) -> str:
    inside = [min(max(value, -bound), bound) for value in values]
    return f"np.array(tunable({inside}, {-bound}, {bound}))"


def _ends(acting: Acting, variant: int) -> str:
    turned = bool(variant % 2)
    up, down = acting.levels(float(not turned)), acting.levels(float(turned))
    return f"# What is done.\nUP = {acting.declared(up)}\nDOWN = {acting.declared(down)}"
