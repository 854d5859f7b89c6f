"""Sources of the standard structures, each with a variant's first numbers, and of their Feedback.

A structure is None for spaces that it does not fit.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence

from promptpo.builtin.spaces import Number, Spaces, drawn, listed, numbers
from promptpo.policies.parametric import bounds, state_sizes

#: Numbers in a table, at most.
_TABLE = 600

#: Weights of a linear policy: as many as CMA-ES finds in some 200,000 steps; more of them in later
#: variants. Their bound, where numbers that are read and scores are both about from -1 to 1.
_MOST, _WIDE, _BOUND = 50, 150, 4.0

#: Numbers beyond so many scales are cut: an unusual one is not to decide by itself.
_CUT = 3.0

#: Periods in steps, and phases between neighbours in units of pi, of the first variants.
#: A wave runs from the first joint to the last, unless its phase is positive.
_BEGIN = ((40, -0.5), (40, 0.5), (20, 1.0), (80, -0.5), (20, -0.5), (80, 1.0))

#: The range of phases around their first values, and the most actuators with oscillators.
_SHIFT, _OSCILLATORS = 1.6, 40

#: Numbers of the observation that a Feedback describes.
_DESCRIBED = 12


def table(spaces: Spaces, variant: int) -> str | None:
    """Return a table of a level for each discrete actuator and state, for few states."""
    actions, sizes = spaces.actions, state_sizes(spaces.fields)
    states, width = math.prod(sizes) if sizes else 0, len(actions.counts)
    if spaces.continuous or states < 2 or states * width > _TABLE:
        return None
    state = "0"  # the fields are its digits
    for field, size in zip(spaces.fields, sizes, strict=True):
        low = int(bounds(field)[0][0])
        digit = f"int(obs.{field.name})" + (f" - {low}" if low > 0 else f" + {-low}" if low else "")
        state = digit if state == "0" else f"({state}) * {size} + {digit}"
    last = [start + count - 1 for count, start in zip(actions.counts, actions.starts, strict=True)]
    shares = [drawn(width, 0.3, "table", variant, number) for number in range(states)]
    levels = [
        round((low + high) / 2 + share / 2 * (high - low + 0.9), 2)
        for row in shares
        for low, high, share in zip(actions.starts, last, row, strict=True)
    ]
    least = [start - 0.45 for start in actions.starts] * states
    most = [end + 0.45 for end in last] * states
    alike = len({*least}) == len({*most}) == 1
    ends = f"{least[0]}, {most[0]}" if alike else f"{listed(least)}, {listed(most)}"
    action = "np.clip(np.round(levels), LOWEST, HIGHEST)"
    whole = f"{action}.astype(int){spaces.shaped}" if actions.shape else f"int({action}[0])"
    return _policy(
        f"Table: looks the action of each of {states} states up.",
        [
            "# The whole numbers that actions may be.\n"
            f"LOWEST = np.array({listed(actions.starts)})\nHIGHEST = np.array({listed(last)})",
            "# What is done in each state, numbered from 0.\n"
            f"TABLE = np.array(tunable({listed(levels)}, {ends}))",
        ],
        f"    state = {state}\n    levels = TABLE[{width} * state:{width} * state + {width}]\n"
        f"    return {whole}\n",
    )


def linear(spaces: Spaces, variant: int) -> str:
    """Return weights for every number that is read and every score, with a bias."""
    width = _weights(variant) // spaces.action()[2]
    return _weighted(spaces, variant, spaces.read(max(1, width - 1), variant // 2))


def quadratic(spaces: Spaces, variant: int) -> str | None:
    """Return weights for numbers and products of two of them, where they are few."""
    width, size = _weights(variant) // spaces.action()[2], 1
    while math.comb(size + 3, 2) <= width:
        size += 1
    read = spaces.read(size, variant // 2)
    if len(read) < 2 or math.comb(len(read) + 2, 2) > width:
        return None
    return _weighted(spaces, variant, read, products=True)


def _weights(variant: int) -> int:
    return _WIDE if variant % 2 else _MOST


def _weighted(
    spaces: Spaces, variant: int, read: Sequence[Number], *, products: bool = False
) -> str:
    """Return a policy whose scores are weighted numbers, each scaled to about -1 to 1."""
    constants, action, count = spaces.action()
    doc = f"Linear in {len(read)} numbers of the observation, with a bias."
    columns = "number that is read, the bias last"
    scores = "    scores = WEIGHTS[:, :-1] @ self.read(obs) + WEIGHTS[:, -1]\n"
    width = len(read) + 1
    if products:
        doc = f"Linear in {len(read)} numbers of the observation and in products of two of them."
        columns = "product of two of the numbers and 1"
        scores = (
            "    x = np.append(self.read(obs), 1.0)\n"
            "    products = np.outer(x, x)[np.triu_indices(len(x))]\n"
            "    scores = WEIGHTS @ products\n"
        )
        width = math.comb(len(read) + 2, 2)
    weights = drawn(count * width, 0.5, "quadratic" if products else "linear", variant)
    rows = [listed(weights[i : i + width]) for i in range(0, len(weights), width)]
    matrix = "".join(f"    {row},\n" for row in rows)
    texts = "".join(f"        {n.text},\n" for n in read)
    return _policy(
        doc,
        [
            constants,
            "# What is read: minus CENTRE, divided by SCALE, and cut.\n"
            f"CENTRE = np.array({listed([n.middle for n in read])})\n"
            f"SCALE = np.array({listed([n.scale for n in read])})",
            f"# A row for each score, a column for each {columns}.\n"
            f"WEIGHTS = np.array(tunable([\n{matrix}], {-_BOUND:g}, {_BOUND:g}))",
        ],
        f"{scores}    return {action}\n",
        f"def read(self, obs):\n    x = np.array([\n{texts}    ], dtype=float)\n"
        f"    return np.clip((x - CENTRE) / SCALE, {-_CUT}, {_CUT})\n",
    )


def oscillating(spaces: Spaces, variant: int) -> str | None:
    """Return an oscillator for each continuous actuator, for machines that move in cycles.

    Sines of one period are tracked by PD where the joints' angles are observed; else they are the
    actions. Every variant begins with another period and another phase between neighbours.
    """
    count = spaces.actuators
    if not spaces.continuous or count > _OSCILLATORS:
        return None
    constants, action, _ = spaces.action()
    period, turn = _BEGIN[variant % len(_BEGIN)]
    angles = _joints(spaces, "rad")
    rates = _joints(spaces, "rad/s") if angles else []
    phases = [round(math.remainder(i * turn * math.pi, 2 * math.pi), 2) for i in range(count)]
    least, most = ([round(p + by, 2) for p in phases] for by in (-_SHIFT, _SHIFT))
    parts = [
        constants,
        f"# Steps of one period; by actuator, how far it swings, about what, and when.\n"
        f"PERIOD = tunable({float(period)}, {period / 4}, {period * 4.0}, log=True)\n"
        f"AMPLITUDE = np.array(tunable({listed([0.5] * count)}, 0.0, 1.5))\n"
        f"OFFSET = np.array(tunable({listed([0.0] * count)}, -0.6, 0.6))\n"
        f"PHASE = np.array(tunable({listed(phases)}, {listed(least)}, {listed(most)}))",
    ]
    target = "wanted" if angles else "scores"
    act = "    wave = np.sin(2 * np.pi * self.steps / PERIOD + PHASE)\n    self.steps += 1\n"
    act += f"    {target} = OFFSET + AMPLITUDE * wave\n"
    if angles:
        parts.append(
            "# Of the range of an action: for each rad of error, and for each rad/s.\n"
            "KP = tunable(2.0, 0.4, 12.0, log=True)\n"
            + "KD = tunable(0.05, 0.005, 0.5, log=True)\n"
            * bool(rates)
        )
        act += f"    scores = KP * (wanted - {_column(angles)})\n"
        act += f"    scores = scores - KD * {_column(rates)}\n" if rates else ""
    tracked = ", whose angle follows it by PD" if angles else ""
    return _policy(
        f"One oscillator for each actuator{tracked}; all have one period.",
        parts,
        f"{act}    return {action}\n",
        "def __init__(self):\n    self.reset()\n\ndef reset(self):\n    self.steps = 0\n",
    )


def _joints(spaces: Spaces, unit: str) -> list[Number]:
    """Return as many numbers of a unit as actuators: a field of that size, else the last ones."""
    count = spaces.actuators
    fitting = [f for f in spaces.fields if f.field.unit == unit]
    whole = [f for f in fitting if f.stop - f.start == count]
    if whole:
        return numbers(whole[-1])
    every = [n for f in fitting for n in numbers(f)]
    return every[-count:] if len(every) >= count else []


def _column(read: Sequence[Number]) -> str:
    """Return the expression of an array of numbers: of a whole row its name."""
    texts = [n.text for n in read]
    name = texts[0].partition("[")[0]
    if texts[0] != name and texts == [f"{name}[{i}]" for i in range(len(texts))]:
        return f"np.ravel({name})"
    return f"np.array({listed(texts)}, dtype=float)"


def _policy(doc: str, constants: Sequence[str], act: str, method: str = "") -> str:
    """Return a source with the class Policy: its docstring, constants and methods."""
    doc = textwrap.fill(doc, 88)
    doc = f'"""{doc}\n"""' if "\n" in doc else f'"""{doc}"""'
    head = "\n".join(part.rstrip("\n") + "\n" for part in constants if part)
    methods = [method, f"def act(self, obs):\n{act}"] if method else [f"def act(self, obs):\n{act}"]
    body = "\n\n".join(textwrap.indent(text.strip("\n"), "    ") for text in [doc, *methods])
    return re.sub(r"\n{4,}", "\n\n\n", f"import numpy as np\n\n{head}\n\nclass Policy:\n{body}\n")


def feedback(spaces: Spaces) -> str:
    """Return a Feedback class that describes rewards and some numbers of the observation."""
    texts = "".join(f'            "{n.text}": {n.text},\n' for n in spaces.read(_DESCRIBED))
    return _FEEDBACK.replace("TEXTS", texts)


_FEEDBACK = '''import numpy as np


class Feedback:
    """Length, reward by quarters, and the course of some numbers of the observation."""

    def seen(self, obs):
        return {
TEXTS        }

    def summarize_trajectory(self, traj):
        end = "ended by the task" if traj.terminated else "cut at the step limit"
        lines = [f"{traj.length} steps, {end}; return {traj.total_reward:.4g}"]
        quarters = [q for q in np.array_split(np.asarray(traj.rewards), 4) if len(q)]
        lines.append("mean reward by quarters: " + ", ".join(f"{q.mean():.3g}" for q in quarters))
        rows = [self.seen(obs) for obs in traj.observations]
        for name in rows[0]:
            course = np.array([row[name] for row in rows], dtype=float)
            lines.append(
                f"{name}: {course[0]:.3g} at first, {course[-1]:.3g} at last,"
                f" {course.min():.3g} to {course.max():.3g}"
            )
        return "\\n".join(lines)
'''
