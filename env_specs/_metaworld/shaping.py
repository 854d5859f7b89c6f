"""The functions that Meta-World's rewards are shaped with; prompts show those that are used.

Facts are from metaworld 3.1.1 (``reward_utils.py``).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

#: An observation of a task: which fields it has depends on the task.
Observation: TypeAlias = Any


def tolerance(distance: float, bound: float, margin: float) -> float:
    """1 up to ``bound``, falling beyond it; 0.1 at ``bound + margin`` (never 0)."""
    if distance <= bound:
        return 1.0
    return 1.0 / (1.0 + (3.0 * (distance - bound) / margin) ** 2)


def hamacher_product(a: float, b: float) -> float:
    """A soft "both": a and b in [0, 1] give a value in [0, 1], 0 if either is 0."""
    denominator = a + b - a * b
    return a * b / denominator if denominator > 0 else 0.0


def tolerance_between(value: float, low: float, high: float, margin: float) -> float:
    """1 from ``low`` to ``high``, falling on both sides; 0.1 at a distance of ``margin``."""
    beyond = max(low - value, value - high, 0.0)
    if beyond == 0.0:
        return 1.0
    return 1.0 / (1.0 + (3.0 * beyond / margin) ** 2) if margin > 0 else 0.0


def gaussian_tolerance(distance: float, bound: float, margin: float) -> float:
    """1 up to ``bound``, falling fast beyond it; 0.1 at ``bound + margin``, 0.0001 at twice."""
    if distance <= bound:
        return 1.0
    return float(0.1 ** (((distance - bound) / margin) ** 2))


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Distance of two points."""
    return float(np.linalg.norm(a - b))
