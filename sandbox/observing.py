"""The class of observations from its trusted source; runs inside the sandboxed process."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sandbox.interface import FloatArray
from sandbox.language.hardening import harden
from sandbox.language.ownership import fleeting


def observation_class(source: str | None) -> Callable[[FloatArray], Any] | None:
    """The class ``Observation``, or None where observations are plain vectors.

    Objects of it, and of the other classes in the source, live for a step, and a program may write
    to them; the classes serve all episodes, and what they hold is made immutable.
    """
    if source is None:
        return None
    namespace: dict[str, Any] = {"np": np, "math": math, "__name__": "observation"}
    exec(compile(source, "<observation>", "exec", dont_inherit=True), namespace)  # noqa: S102 - trusted: it comes with the task
    for value in list(namespace.values()):
        if isinstance(value, type) and value.__module__ == "observation":
            fleeting(value)
            # The initializer runs for each step; it cannot be taken off its class (``attributes``).
            harden([value], "__init__")
    found: Callable[[FloatArray], Any] = namespace["Observation"]
    return found
