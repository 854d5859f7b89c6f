"""Rows of float64 as actions of a Gymnasium space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from promptpo.spec.authoring.definition import Flat, Space
from promptpo.spec.running.faults import UnsupportedSpace

if TYPE_CHECKING:
    import sandbox

    SandboxAction: TypeAlias = sandbox.Box | sandbox.Discrete | sandbox.MultiDiscrete


class ActionCodec:
    """Turns rows of float64 into actions of a Gymnasium space; ``size`` is the length of a row."""

    def __init__(self, space: Space) -> None:
        from gymnasium import spaces

        self.size = int(np.prod(space.shape or ()))
        self._space = space
        self._is_number = isinstance(space, spaces.Discrete)
        # Integers need no clipping: the sandbox lets no other through.
        self._low, self._high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        if isinstance(space, spaces.Box):
            self._low = space.low.astype(np.float64).reshape(-1)
            self._high = space.high.astype(np.float64).reshape(-1)
        elif not isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
            raise UnsupportedSpace(
                f"action space {type(space).__name__} is not supported; let make() wrap the "
                "environment so that its actions are Discrete, MultiDiscrete or Box"
            )

    @property
    def description(self) -> SandboxAction:
        """The space as the sandbox checks actions against it."""
        from gymnasium import spaces

        import sandbox

        space = self._space
        if isinstance(space, spaces.Discrete):
            return sandbox.Discrete(int(space.n), int(space.start))
        if isinstance(space, spaces.Box):
            return sandbox.Box(tuple(space.shape))
        if isinstance(space, spaces.MultiBinary):
            return sandbox.MultiDiscrete((2,) * self.size)
        starts = tuple(int(start) for start in np.ravel(space.start))
        return sandbox.MultiDiscrete(tuple(int(n) for n in np.ravel(space.nvec)), starts)

    def received(self, row: Flat) -> Flat:
        """Return the row that the environment gets: a copy, clipped to the bounds of a Box."""
        return np.asarray(np.minimum(np.maximum(row, self._low), self._high))

    def decode(self, rows: Flat) -> tuple[list[Any], list[int]]:
        """The actions of some rows, shape ``(k, size)``, and which rows a Box has clipped."""
        if self._is_number:
            return rows[:, 0].astype(np.int64).tolist(), []
        inside = np.minimum(np.maximum(rows, self._low), self._high)
        clipped = (inside != rows).any(axis=1).nonzero()[0].tolist()
        return list(inside.reshape(-1, *self._space.shape).astype(self._space.dtype)), clipped
