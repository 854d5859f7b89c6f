"""One episode's recorded observations, fed to a policy that has a process to itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptpo.rollout.jobs import ProofRun
from promptpo.types import Trajectory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    import sandbox
    from promptpo.spec import Task

#: Opens a fresh process with the policy in it.
Fresh = Callable[[], AbstractContextManager["sandbox.Policy"]]

#: Faults that the machine may have brought about: they count only where they come again.
_CHANCE = ("timeout", "memory", "died", "protocol")


@dataclass
class _Lone:
    """What a lone policy did, and the fault that ended it early, if one did."""

    actions: list[NDArray[np.float64]] = field(default_factory=list)
    error: str | None = None
    error_kind: str | None = None

    def leaves(self, episode: Trajectory) -> int | None:
        """The first step (from 1) at which it did not do what is recorded; None: it always did."""
        for step, recorded in enumerate(episode.actions, 1):
            if step > len(self.actions) or self.actions[step - 1].tobytes() != recorded.tobytes():
                return step
        return None

    def is_like(self, other: _Lone) -> bool:
        """Whether both did the same; where a limit ends them may differ by some steps."""
        pairs = zip(self.actions, other.actions, strict=False)
        same = all(a.tobytes() == b.tobytes() for a, b in pairs)
        return same and self.error_kind == other.error_kind


def held_against(episode: Trajectory, task: Task, fresh: Fresh) -> ProofRun:
    """How a lone policy's actions differ from the recorded ones.

    A policy that differs is alone once more, to tell whether it does so every time. Raises
    Disturbed where something outside ended its process, which says nothing about the policy.
    """
    lone = _fed(episode, task, fresh)
    step = lone.leaves(episode)
    if step is None:
        return ProofRun()
    again = _fed(episode, task, fresh)
    if lone.error_kind in _CHANCE and again.leaves(episode) is None:
        return ProofRun()
    failed = step > len(lone.actions)
    return ProofRun(
        step=step,
        action_alone=() if failed else tuple(lone.actions[step - 1].tolist()),
        error=lone.error if failed else None,
        repeats=again.is_like(lone),
    )


def _fed(episode: Trajectory, task: Task, fresh: Fresh) -> _Lone:
    import sandbox

    lone = _Lone()
    try:
        with fresh() as policy:
            policy.reset([0], [episode.seed])
            for row in episode.observations[:-1]:
                lone.actions.append(task.received(policy.act([0], row[None])[0]))
    except sandbox.ProgramError as e:
        lone.error, lone.error_kind = e.message, e.kind
    return lone
