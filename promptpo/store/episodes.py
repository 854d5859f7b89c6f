"""Trajectories as a file: arrays without pickles, as docs/runs.md describes them."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.errors import RunError

if TYPE_CHECKING:
    from promptpo.types import Trajectory

Trace = Mapping[str, tuple[float | bool | str | None, ...]]

#: What a traced value is, as ``trace_kinds_i`` has it.
_KINDS: tuple[type, ...] = (type(None), float, int, bool, str)


def packed(episodes: Sequence[Trajectory]) -> bytes:
    """The file's content: ``obs_0, actions_0, rewards_0, end_0, obs_1, ...``."""
    import numpy as np

    arrays: dict[str, Any] = {}
    for i, e in enumerate(episodes):
        arrays[f"obs_{i}"], arrays[f"actions_{i}"] = e.observations, e.actions
        arrays[f"rewards_{i}"] = e.rewards
        flags = [e.seed, e.terminated, e.truncated, -1 if e.success is None else e.success]
        arrays[f"end_{i}"] = np.array(flags, dtype=np.int64)
        if e.trace:
            arrays |= {f"trace_{name}_{i}": array for name, array in _traced(e.trace).items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def read(file: Path, seeds: Collection[int] | None = None) -> list[Trajectory]:
    """The trajectories in a file, or those of these seeds; of the others only seeds are read.

    Raises RunError where it is missing or damaged.
    """
    import numpy as np

    remedy = "`promptpo --resume` plays its episodes again"
    try:
        with np.load(file, allow_pickle=False) as data:
            count = sum(name.startswith("end_") for name in data.files)
            ends = [_array(data, f"end_{i}", 1, "i").tolist() for i in range(count)]
            return [
                _episode(data, i, *end)
                for i, end in enumerate(ends)
                if seeds is None or end[0] in seeds
            ]
    except FileNotFoundError:
        raise RunError(f"{file}: the episodes are missing; {remedy}") from None
    except Exception as e:  # numpy and zipfile raise a dozen kinds for a damaged file
        told = " ".join(str(e).split())[:200]
        raise RunError(f"{file}: damaged ({told or type(e).__name__}); {remedy}") from None


def _episode(
    data: Any,  # noqa: ANN401 - numpy's open file
    i: int,
    seed: int,
    terminated: int,
    truncated: int,
    success: int,
) -> Trajectory:
    from promptpo.types import Trajectory

    rewards = _array(data, f"rewards_{i}", 1)
    observations, actions = _array(data, f"obs_{i}", 2), _array(data, f"actions_{i}", 2)
    if not len(observations) - 1 == len(actions) == len(rewards):
        raise ValueError(f"the arrays of episode {i} do not fit together")
    return Trajectory(
        observations=observations,
        actions=actions,
        rewards=rewards,
        seed=seed,
        terminated=bool(terminated),
        truncated=bool(truncated),
        success=None if success < 0 else bool(success),
        trace=_trace(data, i, len(rewards)) if f"trace_names_{i}" in data.files else {},
    )


def _traced(trace: Trace) -> dict[str, Any]:
    """C columns of T values as arrays; kinds are the positions in ``_KINDS``."""
    import numpy as np

    columns = list(trace.values())
    kinds = [[_KINDS.index(type(v)) for v in values] for values in columns]
    numbers = [[0.0 if v is None or isinstance(v, str) else v for v in c] for c in columns]
    strings = [[v if isinstance(v, str) else "" for v in values] for values in columns]
    return {
        "names": np.array(list(trace), dtype=np.str_),
        "kinds": np.array(kinds, dtype=np.uint8),
        "numbers": np.array(numbers, dtype=np.float64),
        "strings": np.array(strings, dtype=np.str_),
    }


def _trace(data: Any, i: int, steps: int) -> Trace:  # noqa: ANN401 - numpy's open file
    """The inverse of ``_traced``."""
    names = _array(data, f"trace_names_{i}", 1, "U").tolist()
    kinds = _array(data, f"trace_kinds_{i}", 2, "u")
    numbers = _array(data, f"trace_numbers_{i}", 2)
    strings = _array(data, f"trace_strings_{i}", 2, "U")
    shape = (len(names), steps)
    fit = len(set(names)) == len(names) and all(map(str.isidentifier, names))
    if not fit or {kinds.shape, numbers.shape, strings.shape} != {shape}:
        raise ValueError(f"the trace of episode {i} does not fit it")
    if kinds.max(initial=0) >= len(_KINDS):
        raise ValueError(f"trace_kinds_{i} is not what promptpo writes there")
    rows = zip(kinds.tolist(), numbers.tolist(), strings.tolist(), strict=True)
    return {name: tuple(map(_value, *row)) for name, row in zip(names, rows, strict=True)}


def _value(kind: int, number: float, string: str) -> float | bool | str | None:
    made = _KINDS[kind]
    if made is type(None):
        return None
    return string if made is str else made(number)


def _array(data: Any, name: str, dimensions: int, kind: str = "f") -> Any:  # noqa: ANN401
    array = data[name]
    if array.ndim != dimensions or array.dtype.kind != kind:
        raise ValueError(f"{name} is not what promptpo writes there")
    return array
