"""A structure for machines that move in cycles: one oscillator for each actuator."""

from __future__ import annotations

import math

from promptpo.builtin.acting import Acting
from promptpo.builtin.spaces import Number, Spaces, listed, numbers
from promptpo.builtin.writing import column, policy, remembered

#: Periods in steps, and phases between neighbours in units of pi, of the first variants.
#: A wave runs from the first joint to the last, unless its phase is positive.
_BEGIN = ((40, -0.5), (40, 0.5), (20, 1.0), (80, -0.5), (20, -0.5), (80, 1.0))

#: How far phases may come from where they begin: other variants begin elsewhere.
_SHIFT = 1.6

#: More actuators than this have no oscillators.
_MOST = 40


def oscillating(spaces: Spaces, variant: int) -> str | None:
    """Sines of one period, tracked by PD where the joints' angles are seen; else they are acts.

    Every variant begins with another period and another phase between neighbours. Odd rounds of
    variants also lean on what else turns.
    """
    count = spaces.actuators
    if not spaces.continuous or count > _MOST:
        return None
    acting, (period, turn) = Acting.of(spaces), _BEGIN[variant % len(_BEGIN)]
    angles, rates = joints(spaces)
    others = posture(spaces, angles + rates) if angles and variant % 2 else []
    phases = [round(math.remainder(i * turn * math.pi, 2 * math.pi), 2) for i in range(count)]
    least, most = ([round(p + by, 2) for p in phases] for by in (-_SHIFT, _SHIFT))
    constants = [
        acting.constants,
        f"# Steps of one period; by actuator, how far it swings, about what, and when.\n"
        f"PERIOD = tunable({float(period)}, {period / 4}, {period * 4.0}, log=True)\n"
        f"AMPLITUDE = np.array(tunable({listed([0.5] * count)}, 0.0, 1.5))\n"
        f"OFFSET = np.array(tunable({listed([0.0] * count)}, -0.6, 0.6))\n"
        f"PHASE = np.array(tunable({listed(phases)}, {listed(least)}, {listed(most)}))",
    ]
    act = "def act(self, obs):\n"
    act += "    wave = np.sin(2 * np.pi * self.steps / PERIOD + PHASE)\n"
    act += "    self.steps += 1\n    wanted = OFFSET + AMPLITUDE * wave\n"
    if angles:
        constants.append(_gains(bool(rates)))
        if others:
            act += f"    wanted = wanted + LEAN * ({' + '.join(n.text for n in others[:1])})\n"
            constants.append(
                f"# By actuator, how far it leans for each unit of {others[0].text}.\n"
                f"LEAN = np.array(tunable({listed([0.0] * count)}, -1.5, 1.5))"
            )
        act += f"    levels = KP * (wanted - {column([n.text for n in angles])})\n"
        if rates:
            act += f"    levels = levels - KD * {column([n.text for n in rates])}\n"
    else:
        act = act.replace("wanted =", "levels =")
    tracked = ", whose angle follows it by PD" if angles else ""
    return policy(
        f"One oscillator for each actuator{tracked}; all have one period.",
        constants,
        [remembered("self.steps = 0"), f"{act}    return {acting.by_levels}\n"],
    )


def _gains(damped: bool) -> str:
    text = "# Of the range of an action: for each rad of error, and for each rad/s.\n"
    text += "KP = tunable(2.0, 0.4, 12.0, log=True)\n"
    return text + "KD = tunable(0.05, 0.005, 0.5, log=True)\n" * damped


def joints(spaces: Spaces) -> tuple[list[Number], list[Number]]:
    """The angle of each actuator's joint and its rate; empty where they are not found."""
    angles = _of_joints(spaces, "rad")
    rates = _of_joints(spaces, "rad/s") if angles else []
    return angles, rates


def _of_joints(spaces: Spaces, unit: str) -> list[Number]:
    """As many numbers of a unit as actuators: a field of that size, else the last ones."""
    count = spaces.actuators
    fitting = [f for f in spaces.fields if f.field.unit == unit]
    whole = [f for f in fitting if f.stop - f.start == count]
    if whole:
        return numbers(whole[-1])
    every = [n for f in fitting for n in numbers(f)]
    return every[-count:] if len(every) >= count else []


def posture(spaces: Spaces, known: list[Number]) -> list[Number]:
    """Single angles that belong to no actuator, such as a body's pitch."""
    seen = {n.text for n in known}
    single = [n for f in spaces.fields if not f.shape and f.field.unit == "rad" for n in numbers(f)]
    return [n for n in single if n.text not in seen]
