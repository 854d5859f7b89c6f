"""Gymnasium spaces as flat rows of float64: raw observations in, actions out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from promptpo.spec.definition import Raw
from promptpo.spec.values import vector

if TYPE_CHECKING:
    import sandbox

    SandboxAction: TypeAlias = sandbox.Box | sandbox.Discrete | sandbox.MultiDiscrete

#: A space of Gymnasium, which is not imported before an environment is.
Space: TypeAlias = Any
Flat = NDArray[np.float64]


class UnsupportedSpace(Exception):
    """A space that has no flat row of numbers; the message says what to do."""


def flattener(space: Space) -> Callable[[Raw], Flat]:
    """Return a function from a raw observation of ``space`` to a fresh flat float64 vector.

    Arrays are raveled, numbers give one element, Dict and Tuple their parts in order.

    Raises:
        UnsupportedSpace: for spaces without a fixed number of elements.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return _one_number
    if isinstance(space, spaces.Box | spaces.MultiBinary | spaces.MultiDiscrete):
        return _line_of(space.dtype)
    if isinstance(space, spaces.Dict):
        named = [(key, flattener(part)) for key, part in space.spaces.items()]
        return lambda raw: np.concatenate([flat(raw[key]) for key, flat in named])
    if isinstance(space, spaces.Tuple):
        parts = [flattener(part) for part in space.spaces]
        return lambda raw: np.concatenate(
            [flat(value) for flat, value in zip(parts, raw, strict=True)]
        )
    raise UnsupportedSpace(
        f"observation space {type(space).__name__} has no fixed size; "
        "give EnvSpec an observe(raw, env) that returns the fields"
    )


def _line_of(dtype: np.dtype[Any]) -> Callable[[Raw], Flat]:
    """The numbers of an observation in a line, at once where they have the space's own type."""
    wide, array = np.dtype(np.float64), np.ndarray
    kept = dtype if dtype.kind in "fiub" else wide

    def line(raw: Raw) -> Flat:
        flat = raw.astype(wide) if type(raw) is array and raw.dtype is kept else vector(raw)
        return flat if flat.ndim == 1 else flat.reshape(-1)

    return line


def _one_number(raw: Raw) -> Flat:
    if isinstance(raw, int | np.integer):
        return np.array([raw], dtype=np.float64)
    return vector(raw).reshape(-1)


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

    def _box(self, row: Flat) -> NDArray[Any]:
        inside = np.minimum(np.maximum(row, self._low), self._high)
        if (inside != row).any():
            self.clipped += 1
        return self._shaped(inside)

    def _shaped(self, row: Flat) -> NDArray[Any]:
        return row.reshape(self._space.shape).astype(self._space.dtype)
