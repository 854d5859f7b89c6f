"""The plain summary that takes over when the model's Feedback class cannot be repaired."""

from __future__ import annotations

import numpy as np

from promptpo.spec import EnvSpec, layout
from promptpo.types import Trajectory


def built_in_summary(spec: EnvSpec, episode: Trajectory) -> str:
    """Return, length, how it ended, and each observation field and action over time."""
    rewards = episode.rewards
    end = "terminated" if episode.terminated else "reached the step limit"
    lines = [
        f"return {rewards.sum():.4g} in {len(rewards)} steps, {end}"
        + ("" if episode.success is None else f", success {episode.success}")
        + f"; reward per step mean {rewards.mean():.3g}, min {rewards.min():.3g},"
        f" max {rewards.max():.3g}"
    ]
    for field in layout(spec.observation):
        columns = episode.observations[:, field.start : field.stop]
        if columns.shape[1] <= 7:
            lines.append(f"{field.name}: {_over_time(columns)}")
    lines.append(f"action: {_over_time(episode.actions)}")
    return "\n".join(lines)


def _over_time(columns: np.ndarray) -> str:
    middle = columns[len(columns) // 2]
    return (
        f"first {_numbers(columns[0])}, middle {_numbers(middle)}, last {_numbers(columns[-1])},"
        f" mean {_numbers(columns.mean(axis=0))}, min {_numbers(columns.min(axis=0))},"
        f" max {_numbers(columns.max(axis=0))}"
    )


def _numbers(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{x:.3g}" for x in values) + "]"
