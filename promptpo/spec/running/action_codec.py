"""Rows of float64 as actions of a Gymnasium space."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from promptpo.spec.authoring.definition import Flat, Space
from promptpo.spec.running.faults import UnsupportedSpace

if TYPE_CHECKING:
    import sandbox

    SandboxAction: TypeAlias = sandbox.Box | sandbox.Discrete | sandbox.MultiDiscrete


class ActionCodec:
    """Turns rows of float64 into actions of a Gymnasium space.

    ``size`` is the length of a row; ``clipped`` counts the rows of a Box that lay outside its
    bounds and were clipped to them.
    """

    def __init__(self, space: Space) -> None:
        from gymnasium import spaces

        self.size = int(np.prod(space.shape or ()))
        self.clipped = 0
        self.decode: Callable[[Flat], Any]
        self._space = space
        self._is_number = isinstance(space, spaces.Discrete)
        # Integers need no clipping: the sandbox lets no other through.
        self._low, self._high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        if isinstance(space, spaces.Discrete):
            self.decode = lambda row: int(row[0])
        elif isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
            self.decode = self._shaped
        elif isinstance(space, spaces.Box):
            self._low = space.low.astype(np.float64).reshape(-1)
            self._high = space.high.astype(np.float64).reshape(-1)
            self.decode = self._box
        else:
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

    def decode_rows(self, rows: Flat) -> list[Any]:
        """The actions of several rows, shape ``(k, size)``."""
        if self._is_number:
            return list(rows[:, 0].astype(np.int64).tolist())
        inside = np.minimum(np.maximum(rows, self._low), self._high)
        self.clipped += int((inside != rows).any(axis=1).sum())
        return list(inside.reshape(-1, *self._space.shape).astype(self._space.dtype))

    def _box(self, row: Flat) -> NDArray[Any]:
        inside = np.minimum(np.maximum(row, self._low), self._high)
        if (inside != row).any():
            self.clipped += 1
        return self._shaped(inside)

    def _shaped(self, row: Flat) -> NDArray[Any]:
        return row.reshape(self._space.shape).astype(self._space.dtype)
