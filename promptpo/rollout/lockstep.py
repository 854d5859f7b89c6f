"""The inner loop: several episodes of one policy, stepped together.

One hand-over to the sandboxed process carries the observations of all episodes still running,
and one brings back their actions, so its cost is shared.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Protocol

import numpy as np

from promptpo.rollout.jobs import Moment, Phase, PlayRun, bystander
from promptpo.rollout.rows import Rows, SlotFault
from promptpo.spec.running.activity import CALL, IDLE, STEP, STEPS, activity
from promptpo.spec.running.faults import EnvironmentFault
from promptpo.types import Episode, Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptpo.spec import Task

_NEVER = Moment(sys.maxsize, Phase.LOAD, 0)


class SlotPolicy(Protocol):
    """A policy that plays in numbered slots, one episode each.

    ``may_trace``: whether it may have something to trace.
    """

    may_trace: bool

    def reset(
        self,
        slots: Sequence[int],
        seeds: Sequence[int],
        fresh: bool = True,
        traced: Sequence[int] = (),
    ) -> None:
        """Begin an episode in each slot."""
        ...

    def trace(self, slot: int) -> Mapping[str, tuple[float | bool | str | None, ...]]:
        """What was traced in a slot's episode, by name."""
        ...

    def act(self, slots: Sequence[int], observations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Actions (k, m) for observations (k, n)."""
        ...


@dataclass
class Running:
    """One episode in its slot, and what it has gathered so far."""

    task: Task
    slot: int
    seed: int
    keep: bool
    life: int
    observation: NDArray[np.float64] = field(init=False)
    rewards: list[float] = field(default_factory=list)
    observations: list[NDArray[np.float64]] = field(default_factory=list)
    actions: list[NDArray[np.float64]] = field(default_factory=list)
    trace: Mapping[str, tuple[float | bool | str | None, ...]] = field(default_factory=dict)
    total: float = 0.0
    clipped: int = 0
    success: bool | None = None
    terminated: bool = False
    truncated: bool = False
    over: bool = False

    def start(self) -> None:
        """Begin it."""
        self.observation = self.task.reset(self.seed, self.life)
        if self.keep:
            self.observations.append(self.observation)

    def step(self, action: object) -> bool:
        """One step, with an action as the environment wants it; True when the episode is over."""
        self.observation, reward, terminated, truncated, success = self.task.advance(action)
        self.total += reward
        if success is not None:
            self.success = bool(self.success) or success
        if terminated or truncated:
            self._check_end()
            self.terminated, self.truncated, self.over = terminated, truncated, True
        self.rewards.append(reward)
        if self.keep:
            self.observations.append(self.observation)
        return self.over

    def _check_end(self) -> None:
        """What no policy gets to see, and what only adds up to something wrong."""
        self.task.require_finite(self.observation)
        if not math.isfinite(self.total):
            problem = f"the rewards of an episode add up to {self.total}"
            raise EnvironmentFault(self.task.spec.where, problem, "make rewards smaller")

    def data(self) -> Trajectory:
        """It, whole, where it was kept."""
        return Trajectory(
            observations=np.stack(self.observations),
            actions=np.stack(self.actions),
            rewards=np.array(self.rewards),
            seed=self.seed,
            terminated=self.terminated,
            truncated=self.truncated,
            success=self.success,
            trace=self.trace,
        )

    def result(self) -> Episode:
        """How it went."""
        if self.over:
            return Episode(self.seed, self.total, len(self.rewards), self.success)
        return bystander(self.seed, len(self.rewards))

    def failure(self, error: str, steps: int) -> Episode:
        """How it went until it failed, after so many steps."""
        rewards = self.rewards[:steps]
        return Episode(self.seed, reduce(add, rewards, 0.0), len(rewards), None, error)


class Lockstep:
    """Episodes of one policy that are stepped together, in neighbouring slots.

    Each plays in the task of the same index; ``keep`` are the seeds of those to be kept whole,
    ``first`` is the first one's slot, ``life`` how many episodes make a life.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        seeds: Sequence[int],
        keep: Container[int] = (),
        first: int = 0,
        life: int = 1,
    ) -> None:
        self._episodes = [
            Running(task, slot, seed, seed in keep, life)
            for slot, (task, seed) in enumerate(zip(tasks, seeds, strict=False), first)
        ]
        self._keeping = any(episode.keep for episode in self._episodes)
        # What is under way.
        self._round, self._phase, self._slot = 0, Phase.ENV_RESET, first

    def play(
        self, policy: SlotPolicy, *, fresh: bool = True, before: Moment | None = None
    ) -> PlayRun:
        """Play to the ends, or until something fails; from the moment ``before`` on, nothing."""
        import sandbox

        before = before or _NEVER
        try:
            self._begin(policy, fresh, before)
            self._step_all(policy, before)
            self._collect(policy)
        except (sandbox.ProgramError, sandbox.Disturbed) as e:
            if self._phase is Phase.ACT and isinstance(e, sandbox.BadAction):
                self._phase = Phase.ACTION
            slot = e.slot if isinstance(e, sandbox.ProgramError) else None
            return self._run(e.message, e.kind, slot)
        except SlotFault as fault:
            if fault.step is not None:
                self._round, self._phase = fault.step, Phase.ENV_STEP
            error = f"the environment failed under this policy: {fault.problem}"
            return self._run(error, "environment", fault.slot)
        return self._run()

    def _begin(self, policy: SlotPolicy, fresh: bool, before: Moment) -> None:
        for episode in self._episodes:
            self._slot = episode.slot
            if self._now() >= before:
                return
            try:
                episode.start()
            except EnvironmentFault as fault:
                place = f"in episode slot {episode.slot}"
                raise SlotFault(fault, place, episode.slot) from fault
        activity.cells[CALL] = IDLE
        self._phase, self._slot = Phase.POLICY_RESET, self._episodes[0].slot
        if self._now() < before:
            slots = [episode.slot for episode in self._episodes]
            seeds = [episode.seed for episode in self._episodes]
            if traced := [e.slot for e in self._episodes if e.keep and policy.may_trace]:
                policy.reset(slots, seeds, fresh, traced)
            else:
                policy.reset(slots, seeds, fresh)

    def _collect(self, policy: SlotPolicy) -> None:
        """What was traced in the episodes that have ended and are kept."""
        for episode in self._episodes:
            if episode.keep and episode.over and policy.may_trace:
                episode.trace = policy.trace(episode.slot)

    def _step_all(self, policy: SlotPolicy, before: Moment) -> None:
        cells = activity.cells
        steps = cells[STEPS]
        running, slots = self._episodes, [episode.slot for episode in self._episodes]
        rows = Rows(self._tasks(running))
        while slots:
            self._round, self._phase, self._slot = self._round + 1, Phase.ACT, slots[0]
            if self._now() >= before:
                break
            if rows.count != len(slots):
                rows.check(since=1)
                rows = Rows(self._tasks(running))
            table = rows.next([episode.observation for episode in running])
            cells[CALL] = IDLE
            try:
                actions = policy.act(slots, table)
            except Exception:
                rows.check()  # what a policy makes of NaN is not its fault
                raise
            self._phase = Phase.ENV_STEP
            if self._now() >= before:
                rows.check()
                return
            cells[CALL] = STEP
            cells[STEPS] = steps = steps + len(slots)
            if self._step(running, actions):
                running = [episode for episode in running if not episode.over]
                slots = [episode.slot for episode in running]
        rows.check(since=1)

    def _step(self, running: Sequence[Running], actions: NDArray[np.float64]) -> bool:
        """One step of each; returns whether one is over."""
        if self._keeping:
            for row, episode in enumerate(running):
                if episode.keep:
                    episode.actions.append(episode.task.received(actions[row]))
        over = False
        decoded, clipped = running[0].task.decoded(actions)
        for row in clipped:
            running[row].clipped += 1
        for row, (episode, action) in enumerate(zip(running, decoded, strict=True)):
            try:
                over |= episode.step(action)
            except EnvironmentFault as fault:
                raise SlotFault(fault, _where(episode, actions[row]), episode.slot) from fault
        return over

    def _now(self) -> Moment:
        return Moment(self._round, self._phase, self._slot)

    @staticmethod
    def _tasks(episodes: Sequence[Running]) -> dict[int, Task]:
        return {episode.slot: episode.task for episode in episodes}

    def _run(
        self, error: str | None = None, kind: str | None = None, slot: int | None = None
    ) -> PlayRun:
        """What was played until now; ``slot`` is the one that failed, if one did."""
        results = [episode.result() for episode in self._episodes]
        if error is not None and slot is not None:
            self._slot, index = slot, slot - self._episodes[0].slot
            steps = self._now().steps_before(slot)
            results[index] = self._episodes[index].failure(error, steps)
        return PlayRun(
            results=tuple(results),
            steps=sum(len(e.rewards) for e in self._episodes),
            clipped=tuple(e.clipped if e.over else 0 for e in self._episodes),
            error=error,
            error_kind=kind,
            failed_at=None if error is None else self._now(),
            episodes=tuple(e.data() for e in self._episodes if e.over and e.keep),
        )


def _where(episode: Running, action: NDArray[np.float64]) -> str:
    """Where in which episode, for a policy's eyes: the seed is not told."""
    text = str(action.tolist())
    text = text if len(text) <= 200 else f"{text[:200]}..."
    return f"at step {episode.task.steps} of episode slot {episode.slot}, on action {text}"
