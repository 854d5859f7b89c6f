"""A structure for tasks with a goal in sight: proportional and derivative action on the error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptpo.builtin.acting import Acting, rows
from promptpo.builtin.spaces import ERROR, FAR, GOAL, Spaces, drawn, elements
from promptpo.builtin.writing import column, policy, remembered
from promptpo.policies.parametric import bounds

if TYPE_CHECKING:
    from promptpo.spec import LayoutField

#: Words of what is moved, the likeliest first; and of what is not a position.
_MOVED = ("tip", "agent", "hand", "effector", "position", "pos", "place", "achieved")
_NOT = re.compile(r"veloc|speed|rate|previous|prev_|last_|action|force|rotation|quat")


#: A pair that takes more constants than this is left alone.
_MOST = 50


@dataclass(frozen=True)
class Pair:
    """Expressions of a goal and of what is to come there; ``goal`` is empty for an error as such.

    ``scale`` is how large an error usually is.
    """

    name: str
    now: tuple[str, ...]
    goal: tuple[str, ...]
    scale: float


def reaching(spaces: Spaces, variant: int) -> str | None:
    """PD towards a field that looks like a goal; other variants take other fields for it."""
    found = [pair for pair in pairs(spaces) if _gains(spaces, pair) <= _MOST]
    if not found:
        return None
    pair, round_ = found[variant % len(found)], variant // len(found)
    acting, size = Acting.of(spaces), len(pair.now)
    straight = spaces.continuous and size <= acting.scores
    act = (
        "def act(self, obs):\n"
        f"    error = {_error(pair)} / SCALE + OFFSET\n"
        "    change = error - (error if self.before is None else self.before)\n"
        "    self.before = error\n"
    )
    if straight:
        act += "    scores = REST.copy()\n"
        act += f"    scores[:{size}] += KP * error + KD * change\n"
        gains = _straight(acting.scores, size, round_)
    else:
        act += "    scores = KP @ error + KD @ change + BIAS\n"
        gains = _crossed(acting.scores, size, round_)
    offset = (
        f"# How large an error is; what is added to it.\nSCALE = {pair.scale:g}\n"
        f"OFFSET = np.array(tunable({[0.0] * size}, -0.5, 0.5))"
    )
    return policy(
        f"PD towards a goal: {pair.name}; the error and its change from step to step drive the"
        " action.",
        [acting.constants, offset, gains],
        [remembered("self.before = None"), f"{act}    return {acting.by_scores}\n"],
    )


def _gains(spaces: Spaces, pair: Pair) -> int:
    """How many constants a pair takes."""
    scores, size = Acting.of(spaces).scores, len(pair.now)
    straight = spaces.continuous and size <= scores
    return 3 * size + scores if straight else size + 2 * scores * size + scores


def _straight(scores: int, size: int, round_: int) -> str:
    """A gain for each axis, where there is an actuator for each."""
    kp = [5.0] * size if not round_ else drawn(size, 5.0, "kp", round_)
    rest = [0.0] * scores if not round_ else drawn(scores, 0.3, "rest", round_)
    return (
        f"KP = np.array(tunable({kp}, -30.0, 30.0))\n"
        f"KD = np.array(tunable({[0.0] * size}, -60.0, 60.0))\n"
        f"REST = np.array(tunable({rest}, -1.0, 1.0))"
    )


def _crossed(scores: int, size: int, round_: int) -> str:
    """A gain for each score and axis."""
    kp = drawn(scores * size, 2.0, "crossed", round_)
    return (
        "# A row for each score, a column for each axis of the error.\n"
        f"KP = {rows(kp, size, -10.0, 10.0)}\n"
        f"KD = {rows([0.0] * len(kp), size, -20.0, 20.0)}\n"
        f"BIAS = np.array(tunable({[0.0] * scores}, -2.0, 2.0))"
    )


def _error(pair: Pair) -> str:
    if not pair.goal:
        return f"-{column(pair.now)}"
    return f"({column(pair.goal)} - {column(pair.now)})"


def pairs(spaces: Spaces) -> list[Pair]:
    """What may be a goal and what may be meant to come there, the likeliest first."""
    found: list[tuple[int, Pair]] = []
    for goal in spaces.fields:
        if not GOAL.search(goal.name) or _NOT.search(goal.name) or goal.kind == "bool":
            continue
        for other in spaces.fields:
            if _match(goal, other):
                name = f"{other.name} to {goal.name}"
                pair = Pair(name, _flat(other), _flat(goal), _scale((goal, other)))
                found.append((_rank(other.name), pair))
    found = _together(found)
    for field in spaces.fields:
        apart = field.kind in ("float", "array") and field.stop - field.start <= 3
        if apart and ERROR.search(field.name) and not _NOT.search(field.name):
            name = f"{field.name} to zero"
            found.append((_ERRORS, Pair(name, _flat(field), (), _scale((field,)))))
    return [pair for _, pair in sorted(found, key=lambda each: each[0])]


#: An error that is given as such is likelier meant than most pairs.
_ERRORS = 2


def _match(goal: LayoutField, other: LayoutField) -> bool:
    """Whether a field could come to where a goal is: as many numbers, of the same unit."""
    if any(words.search(other.name) for words in (GOAL, ERROR, _NOT)):
        return False
    rest = GOAL.sub("", goal.name).strip("_")
    axis = rest if not goal.shape else ""
    alike = (other.shape, other.field.unit) == (goal.shape, goal.field.unit)
    return alike and other.kind == goal.kind and (not axis or other.name.endswith(axis))


def _together(found: list[tuple[int, Pair]]) -> list[tuple[int, Pair]]:
    """Pairs of single numbers that belong together, such as rows and columns, as one."""
    groups: dict[tuple[str, str], list[tuple[int, Pair]]] = {}
    for rank, pair in found:
        now, _, goal = pair.name.partition(" to ")
        ends = (now.rpartition("_")[0], goal.rpartition("_")[0])
        alone = len(pair.now) > 1 or not all(ends)
        groups.setdefault((now, goal) if alone else ends, []).append((rank, pair))
    merged = []
    for members in groups.values():
        parts = [pair for _, pair in members]
        goals = {text for pair in parts for text in pair.goal}
        if len(parts) == 1 or len(goals) < len(parts):
            merged += members
            continue
        pair = Pair(
            ", ".join(p.name for p in parts),
            tuple(text for p in parts for text in p.now),
            tuple(text for p in parts for text in p.goal),
            max(p.scale for p in parts),
        )
        merged.append((min(rank for rank, _ in members), pair))
    return merged


def _rank(name: str) -> int:
    return next((n for n, word in enumerate(_MOVED) if word in name), len(_MOVED))


def _flat(field: LayoutField) -> tuple[str, ...]:
    return tuple(elements(field))


def _scale(fields: Sequence[LayoutField]) -> float:
    """How far apart two fields can be, by the bounds of one of them; else 1."""
    for field in fields:
        low, high = bounds(field)
        spans = [b - a for a, b in zip(low, high, strict=True) if max(abs(a), abs(b)) < FAR]
        if spans and max(spans) > 0:
            return float(f"{max(spans):.3g}")
    return 1.0
