"""The action space of a task, as those who write policies are told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from promptpo.policies import Actions

if TYPE_CHECKING:
    from promptpo.spec import Task


def actions_of(task: Task) -> Actions:
    """The action space of a task as plain numbers."""
    import sandbox

    space = task.action
    if isinstance(space, sandbox.Discrete):
        return Actions((), counts=(space.n,), starts=(space.start,))
    if isinstance(space, sandbox.MultiDiscrete):
        return Actions((space.size,), counts=space.nvec, starts=space.start)
    low, high = (task.received(np.full(space.size, end)) for end in (-np.inf, np.inf))
    return Actions(space.shape, tuple(low.tolist()), tuple(high.tolist()))
