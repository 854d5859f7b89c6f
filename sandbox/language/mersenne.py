"""``set_state`` of numpy's Mersenne Twister, which takes a position outside of its own array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_WORDS = 624


def state_setter(generator: np.random.RandomState) -> Callable[[Any], None]:
    """``generator.set_state`` for what ``get_state`` gave, in either of its forms."""

    def set_state(state: Any) -> None:  # noqa: ANN401 - as the original
        kind, key, position, *gauss = _parts(state)
        words = np.array(key, np.uint32)
        place, has_gauss, value = int(position), *([*map(float, gauss), 0.0, 0.0][:2])
        if str(kind) != "MT19937" or words.shape != (_WORDS,) or not 0 <= place <= _WORDS:
            raise ValueError("set_state() takes what get_state() gave")
        generator.set_state(("MT19937", words, place, int(has_gauss), value))

    return set_state


def _parts(state: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the original
    if not isinstance(state, Mapping):
        return tuple(state)
    inner = state["state"]
    parts = state["bit_generator"], inner["key"], inner["pos"], state["has_gauss"], state["gauss"]
    return tuple(parts)
