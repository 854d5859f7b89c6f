"""Terms that both sides share: observations, actions, limits, episodes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sandbox.tracing import Columns, checked

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """Real-valued actions of a fixed ``shape``; clipping to a range is the caller's business."""

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if any(n < 1 for n in self.shape):
            raise ValueError(f"Box(shape={self.shape}): every length must be at least 1")

    @property
    def size(self) -> int:
        """Numbers in one action."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Discrete:
    """Integers ``start <= a < start + n``."""

    n: int
    start: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", int(self.n))
        object.__setattr__(self, "start", int(self.start))
        if self.n < 1:
            raise ValueError(f"Discrete(n={self.n}): n must be at least 1")

    @property
    def size(self) -> int:
        """Numbers in one action: 1."""
        return 1


@dataclass(frozen=True)
class MultiDiscrete:
    """Vectors of integers, ``start[i] <= a[i] < start[i] + nvec[i]``."""

    nvec: tuple[int, ...]
    start: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "nvec", tuple(int(n) for n in self.nvec))
        start = tuple(int(n) for n in self.start) or (0,) * len(self.nvec)
        object.__setattr__(self, "start", start)
        if not self.nvec or any(n < 1 for n in self.nvec):
            raise ValueError(f"MultiDiscrete(nvec={self.nvec}): needs lengths of at least 1")
        if len(self.start) != len(self.nvec):
            raise ValueError("MultiDiscrete: start and nvec must have the same length")

    @property
    def size(self) -> int:
        """Numbers in one action."""
        return len(self.nvec)


ActionSpace = Box | Discrete | MultiDiscrete
#: The kinds of action space, by their names.
ACTION_SPACES: dict[str, type[Any]] = {k.__name__: k for k in (Box, Discrete, MultiDiscrete)}


def expected_action(space: ActionSpace) -> str:
    """Describe what ``act`` must return, for messages."""
    if isinstance(space, Box):
        number = f"{space.size} finite number{'s' if space.size > 1 else ''}"
        return f"{number} as an array of shape {space.shape}"
    if isinstance(space, Discrete):
        return f"one integer from {space.start} to {space.start + space.n - 1}"
    pairs = zip(space.start, space.nvec, strict=True)
    return f"{space.size} integers within {', '.join(f'{a}..{a + n - 1}' for a, n in pairs)}"


def action_bounds(space: Discrete | MultiDiscrete) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest integer of each number of an action, float64 ``(size,)`` each."""
    low = np.atleast_1d(np.asarray(space.start, np.float64))
    count = space.n if isinstance(space, Discrete) else space.nvec
    return low, low + np.asarray(count, np.float64) - 1


@dataclass(frozen=True)
class Interface:
    """Interface between a program and its caller.

    Args:
        observation_size: numbers in one observation (float64).
        observation_source: trusted, standalone Python (``numpy as np`` is the one name it has)
            that defines ``class Observation`` with ``__init__(self, flat)``. ``flat`` is a float64
            vector of ``observation_size`` that the program's process owns. None: the program
            receives that vector itself.
        action: the action space.
        policy_class: name of the class that ``Host.policy`` looks for.
        feedback_class: name of the class that ``Host.summarizer`` looks for.
    """

    observation_size: int
    observation_source: str | None
    action: ActionSpace
    policy_class: str = "Policy"
    feedback_class: str = "Feedback"

    def __post_init__(self) -> None:
        if self.observation_size < 0:
            raise ValueError("Interface: observation_size must not be negative")


@dataclass(frozen=True)
class Limits:
    """Resources that one program may use. Seconds are processor time of its process.

    Args:
        act_seconds: for one ``act`` or ``summarize_trajectory`` call.
        init_seconds: to load the program, and to construct or reset one policy object.
        total_seconds: for all that one program does.
        prepare_seconds: for ``prepare``, in place of the total.
        wall_seconds: wall time that the host waits for an answer beyond ten times the limit in
            force: for a process that neither computes nor answers.
        memory_mb: memory that the program may add to the bare interpreter's.
        output_chars: printed text that is kept.
        text_chars: length of a summary that is kept.
        source_chars: longest source accepted.
    """

    act_seconds: float = 5.0
    init_seconds: float = 10.0
    total_seconds: float = 120.0
    prepare_seconds: float = 60.0
    wall_seconds: float = 60.0
    memory_mb: int = 1024
    output_chars: int = 4000
    text_chars: int = 4000
    source_chars: int = 200_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not 0 < value < math.inf:
                raise ValueError(f"Limits: {name} must be positive and finite, not {value!r}")
            plain = float(value) if name.endswith("_seconds") else int(value)  # not numpy's
            object.__setattr__(self, name, plain)

    def seconds(self, limit: str | float) -> float:
        """Return a limit of processor time: a field by its name, or seconds as they are."""
        return float(getattr(self, limit)) if isinstance(limit, str) else limit


class Place(NamedTuple):
    """Place of a number, its sign included, as ``ast`` counts: lines from 1, columns in bytes.

    ``whole``: it is to be an int.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    whole: bool = False


@dataclass(frozen=True, eq=False)
class Episode:
    """One recorded episode of T steps.

    Args:
        observations: float64 ``(T + 1, n_obs)``, the last one included.
        actions: float64 ``(T, m)``.
        rewards: float64 ``(T,)``.
        terminated: the task ended the episode.
        truncated: the horizon ended the episode.
        success: None where the task defines no success.
        trace: by name, T values that the policy's ``TRACE`` names (see ``sandbox.tracing``).
        candidate: who played it, and in which ``round``; ``prepare`` sees both.
    """

    observations: FloatArray
    actions: FloatArray
    rewards: FloatArray
    terminated: bool
    truncated: bool
    success: bool | None
    trace: Columns = field(default_factory=dict)
    candidate: str = ""
    round: int = 0

    def __post_init__(self) -> None:
        for name, ndim in (("observations", 2), ("actions", 2), ("rewards", 1)):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if array.ndim != ndim:
                raise ValueError(f"Episode: {name} must have {ndim} dimension(s)")
            object.__setattr__(self, name, array)
        steps = len(self.rewards)
        if len(self.observations) != steps + 1 or len(self.actions) != steps:
            raise ValueError(
                f"Episode: {steps} rewards need {steps + 1} observations and {steps} actions, not "
                f"{len(self.observations)} and {len(self.actions)}"
            )
        checked(self.trace, steps)
