"""Trajectories as a file: arrays without pickles, as docs/runs.md describes them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.errors import RunError

if TYPE_CHECKING:
    from promptpo.types import Trajectory


def packed(episodes: Sequence[Trajectory]) -> bytes:
    """The file's content: ``obs_0, actions_0, rewards_0, end_0, obs_1, ...``."""
    import numpy as np

    arrays: dict[str, Any] = {}
    for i, e in enumerate(episodes):
        arrays[f"obs_{i}"], arrays[f"actions_{i}"] = e.observations, e.actions
        arrays[f"rewards_{i}"] = e.rewards
        flags = [e.seed, e.terminated, e.truncated, -1 if e.success is None else e.success]
        arrays[f"end_{i}"] = np.array(flags, dtype=np.int64)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def read(file: Path) -> list[Trajectory]:
    """The trajectories in a file. Raises RunError where it is missing or damaged."""
    import numpy as np

    remedy = "`promptpo --resume` plays its episodes again"
    try:
        with np.load(file, allow_pickle=False) as data:
            return [_episode(data, i) for i in range(len(data.files) // 4)]
    except FileNotFoundError:
        raise RunError(f"{file}: the episodes are missing; {remedy}") from None
    except Exception as e:  # numpy and zipfile raise a dozen kinds for a damaged file
        told = " ".join(str(e).split())[:200]
        raise RunError(f"{file}: damaged ({told or type(e).__name__}); {remedy}") from None


def _episode(data: Any, i: int) -> Trajectory:  # noqa: ANN401 - numpy's open file
    from promptpo.types import Trajectory

    end, rewards = _array(data, f"end_{i}", 1, "i"), _array(data, f"rewards_{i}", 1)
    seed, terminated, truncated, success = end.tolist()
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
    )


def _array(data: Any, name: str, dimensions: int, kind: str = "f") -> Any:  # noqa: ANN401
    array = data[name]
    if array.ndim != dimensions or array.dtype.kind != kind:
        raise ValueError(f"{name} is not what promptpo writes there")
    return array
