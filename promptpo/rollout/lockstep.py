"""The inner loop: several episodes of one policy, stepped together.

One hand-over to the sandboxed process carries the observations of all episodes still running,
and one brings back their actions, so its cost is shared.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from promptpo.rollout.jobs import EpisodeData, PlayRun
from promptpo.rollout.rows import Rows
from promptpo.spec.running.activity import CALL, IDLE, STEP, STEPS, activity
from promptpo.spec.running.faults import EnvironmentFault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptpo.spec import Task


class SlotPolicy(Protocol):
    """A policy that plays in numbered slots, one episode each."""

    def reset(self, slots: Sequence[int], seeds: Sequence[int], fresh: bool = True) -> None:
        """Begin an episode in each slot."""
        ...

    def act(self, slots: Sequence[int], observations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Actions (k, m) for observations (k, n)."""
        ...


@dataclass
class _Episode:
    """One running episode and what it has gathered so far."""

    task: Task
    seed: int
    keep: bool
    observation: NDArray[np.float64] = field(init=False)
    rewards: list[float] = field(default_factory=list)
    observations: list[NDArray[np.float64]] = field(default_factory=list)
    actions: list[NDArray[np.float64]] = field(default_factory=list)
    total: float = 0.0
    success: bool | None = None
    terminated: bool = False
    truncated: bool = False

    def start(self) -> None:
        self.observation = self.task.reset(self.seed)
        if self.keep:
            self.observations.append(np.array(self.observation))

    def step(self, action: NDArray[np.float64]) -> bool:
        """One step; True when the episode is over."""
        self.observation, reward, self.terminated, self.truncated, success = self.task.step(action)
        self.rewards.append(reward)
        self.total += reward
        if success is not None:
            self.success = bool(self.success) or success
        if self.keep:
            self.observations.append(np.array(self.observation))
            self.actions.append(self.task.received(action))
        if self.terminated or self.truncated:
            self._check_end()
            return True
        return False

    def _check_end(self) -> None:
        """What no policy gets to see, and what only adds up to something wrong."""
        self.task.require_finite(self.observation)
        if not math.isfinite(self.total):
            problem = f"the rewards of an episode add up to {self.total}"
            raise EnvironmentFault(self.task.spec.where, problem, "make rewards smaller")

    def data(self) -> EpisodeData:
        return EpisodeData(
            observations=np.stack(self.observations),
            actions=np.stack(self.actions),
            rewards=np.array(self.rewards),
            seed=self.seed,
            terminated=self.terminated,
            truncated=self.truncated,
            success=self.success,
        )


def run_lockstep(
    tasks: Sequence[Task],
    policy: SlotPolicy,
    seeds: Sequence[int],
    *,
    keep: Container[int],
    fresh: bool = True,
) -> tuple[PlayRun, BaseException | None]:
    """Play one episode per seed, each in the task of the same index; ``keep`` are seeds.

    Returns what was played and the exception that ended it early (None: every episode ended).
    """
    episodes = [_Episode(t, s, s in keep) for t, s in zip(tasks, seeds, strict=False)]
    fault: BaseException | None = None
    clipped_before = sum(t.clipped for t in tasks)
    try:
        _play(episodes, policy, fresh)
    except Exception as e:
        fault = e
    ended = [e for e in episodes if e.terminated or e.truncated]
    run = PlayRun(
        seeds=tuple(seeds),
        returns=tuple(e.total for e in ended),
        lengths=tuple(len(e.rewards) for e in ended),
        successes=tuple(e.success for e in ended),
        steps=sum(len(e.rewards) for e in episodes),
        clipped=sum(t.clipped for t in tasks) - clipped_before,
        episodes=tuple(e.data() for e in ended if e.keep),
    )
    return run, fault


def _play(episodes: list[_Episode], policy: SlotPolicy, fresh: bool) -> None:
    for slot, episode in enumerate(episodes):
        try:
            episode.start()
        except EnvironmentFault as fault:
            raise fault.at(f"in episode slot {slot}") from fault
    cells = activity.cells
    cells[CALL] = IDLE
    slots = list(range(len(episodes)))
    policy.reset(slots, [e.seed for e in episodes], fresh)
    rows = Rows(_tasks(episodes, slots))
    steps = cells[STEPS]
    while slots:
        if rows.count != len(slots):
            rows.check(since=1)
            rows = Rows(_tasks(episodes, slots))
        table = rows.next()
        for row, slot in enumerate(slots):
            table[row] = episodes[slot].observation
        cells[CALL] = IDLE
        try:
            actions = policy.act(slots, table)
        except Exception:
            rows.check()  # what a policy makes of NaN is not its fault
            raise
        cells[CALL] = STEP
        cells[STEPS] = steps = steps + len(slots)
        still = []
        for row, slot in enumerate(slots):
            episode = episodes[slot]
            try:
                over = episode.step(actions[row])
            except EnvironmentFault as fault:
                raise fault.at(_place(slot, episode, actions[row])) from fault
            if not over:
                still.append(slot)
        slots = still
    rows.check(since=1)


def _tasks(episodes: Sequence[_Episode], slots: Sequence[int]) -> dict[int, Task]:
    return {slot: episodes[slot].task for slot in slots}


def _place(slot: int, episode: _Episode, action: NDArray[np.float64]) -> str:
    """Where in which episode, for a policy's eyes: the seed is not told."""
    text = str(action.tolist())
    text = text if len(text) <= 200 else f"{text[:200]}..."
    return f"at step {episode.task.steps} of episode slot {slot}, on action {text}"
