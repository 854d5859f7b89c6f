"""Instances of one policy with other constants each, stepped together; a bad one leaves the rest.

What becomes of an instance depends on its own constants and on the job, never on which others share
its process: so instances can be divided among workers in any way.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from promptpo.rollout.jobs import InstanceRun, InstancesJob
from promptpo.rollout.lockstep import Running
from promptpo.rollout.steady import steadily
from promptpo.spec.running.activity import CALL, IDLE, STEP, STEPS, activity
from promptpo.spec.running.faults import EnvironmentFault
from promptpo.spec.running.values import all_finite
from promptpo.types import Episode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import sandbox
    from promptpo.spec import Task

#: Steps from one look at who can still win to the next.
LOOK = 10

#: Steps in a row whose rewards make up a pace.
PACE = 10


@dataclass
class Tools:
    """What playing takes: live environments, a way to give one up, a process with the program.

    ``open_program`` is told for how many episodes.
    """

    open_tasks: Callable[[int], Sequence[Task]]
    discard: Callable[[Task], None]
    open_program: Callable[[int], sandbox.Instances]


@dataclass
class _Instance:
    """One vector of constants and its episodes."""

    constants: tuple[float, ...]
    playing: list[Running] = field(default_factory=list)
    done: list[Episode] = field(default_factory=list)
    ended: int = 0
    pace: float = -math.inf
    error: str | None = None
    bound: float | None = None

    @property
    def over(self) -> bool:
        return self.error is not None or self.bound is not None

    @property
    def steps(self) -> int:
        """All steps so far."""
        return self.ended + sum(len(e.rewards) for e in self.playing)

    def settle(self) -> None:
        """Take episodes that have ended out of those that are played."""
        for episode in [e for e in self.playing if e.over or self.over]:
            self.ended += len(episode.rewards)
            self.pace = max(self.pace, pace(episode.rewards))
            if episode.over:
                self.done.append(episode.result())
            self.playing.remove(episode)

    def look(self, job: InstancesJob, horizon: int) -> None:
        """Give up where even the best pace cannot bring the mean return up to the bar any more."""
        if job.bar is None or self.over or all(e.over for e in self.playing):
            return
        best = max(job.pace, 0.0)
        total = sum(e.return_ for e in self.done)
        total += sum(e.total + (horizon - len(e.rewards)) * best for e in self.playing)
        total += (len(job.seeds) - len(self.done) - len(self.playing)) * horizon * best
        if total / len(job.seeds) < job.bar:
            self.bound = total / len(job.seeds)

    def run(self, seeds: Sequence[int]) -> InstanceRun:
        """What became of it, its episodes in the order of the seeds."""
        found = {e.seed: e for e in self.done}
        results = tuple(found[seed] for seed in seeds if seed in found)
        return InstanceRun(results, self.steps, self.error, self.bound, self.pace)


def pace(rewards: Sequence[float]) -> float:
    """The highest mean reward of ``PACE`` steps in a row, or of all of a shorter episode's."""
    if len(rewards) <= PACE:
        return float(np.mean(rewards)) if rewards else -math.inf
    sums = np.cumsum(np.concatenate(([0.0], rewards)))
    return float(np.max(sums[PACE:] - sums[:-PACE])) / PACE


def play_instances(job: InstancesJob, width: int, tools: Tools) -> tuple[InstanceRun, ...]:
    """Play every vector's episodes, up to ``width`` of them together.

    A process that ends (a time limit, its memory) is replaced without the instance that ended it;
    where nobody knows which that was, each instance has a process to itself.
    """
    import sandbox

    size = max(1, width // len(job.lives))
    numbers = range(len(job.constants))
    waiting = deque([*numbers[i : i + size]] for i in range(0, len(numbers), size))
    runs: dict[int, InstanceRun] = {}
    while waiting:
        chosen = waiting.popleft()
        group = _Group(job, [job.constants[n] for n in chosen], tools)
        try:
            steadily(group.play)
        except (sandbox.ProgramError, sandbox.Disturbed) as error:
            at = group.culprit(error)
            if at is None:
                waiting.extendleft([n] for n in reversed(chosen))
                continue
            runs[chosen[at]] = InstanceRun((), group.steps, error.message)
            if rest := chosen[:at] + chosen[at + 1 :]:
                waiting.appendleft(rest)
            continue
        runs |= dict(zip(chosen, group.runs, strict=True))
    return tuple(runs[n] for n in numbers)


#: An episode and whose it is.
_Pair: TypeAlias = "tuple[_Instance, Running]"


class _Group:
    """Instances that share a process."""

    def __init__(
        self, job: InstancesJob, constants: Sequence[tuple[float, ...]], tools: Tools
    ) -> None:
        self._job, self._constants, self._tools = job, constants, tools
        self._instances: list[_Instance] = []
        #: An object for each; those of an instance are in neighbouring slots.
        self._lives = job.lives

    @property
    def runs(self) -> list[InstanceRun]:
        """What became of each."""
        return [instance.run(self._job.seeds) for instance in self._instances]

    @property
    def steps(self) -> int:
        """All steps that were taken."""
        return sum(instance.steps for instance in self._instances)

    def culprit(self, error: sandbox.SandboxError) -> int | None:
        """The number of the instance that ended the process; None where nobody knows."""
        slot = getattr(error, "slot", None)
        if len(self._constants) == 1:
            return 0
        return None if slot is None else int(slot) // len(self._lives)

    def play(self) -> None:
        """All episodes in lockstep, those of one life one after the other."""
        self._instances = [_Instance(constants) for constants in self._constants]
        with self._tools.open_program(len(self._constants) * len(self._job.seeds)) as program:
            for wave in range(max(map(len, self._lives))):
                pairs = self._begun(wave)
                if not pairs:
                    continue
                activity.cells[CALL] = IDLE
                slots, of = [e.slot for _, e in pairs], [e.seed for _, e in pairs]
                constants = [i.constants for i, _ in pairs]
                program.reset(slots, of, wave == 0, constants=constants)
                self._to_the_end(program, pairs)

    def _begun(self, wave: int) -> list[_Pair]:
        """The episode of every life that comes now, for each instance that is still in."""
        standing = [(n, i) for n, i in enumerate(self._instances) if not i.over]
        seeds = [(n, life[wave]) for n, life in enumerate(self._lives) if wave < len(life)]
        tasks = iter(self._tools.open_tasks(len(standing) * len(seeds)))
        pairs = []
        for number, instance in standing:
            for n, seed in seeds:
                slot = number * len(self._lives) + n
                episode = Running(next(tasks), slot, seed, keep=False, life=self._job.life)
                instance.playing.append(episode)
                if not instance.over:
                    try:
                        episode.start()
                    except EnvironmentFault as fault:
                        self._blame(instance, episode, fault)
                pairs.append((instance, episode))
        return self._left(pairs)

    def _to_the_end(self, program: sandbox.Instances, pairs: list[_Pair]) -> None:
        rounds, horizon = 0, pairs[0][1].task.horizon
        while pairs:
            slots, episodes = [e.slot for _, e in pairs], [e for _, e in pairs]
            table = np.empty((len(pairs), len(episodes[0].observation)))
            line, zeros = table.reshape(-1), np.zeros(table.size)
            changed = False
            while not changed:
                np.concatenate([e.observation for e in episodes], out=line)
                if not all_finite(line, zeros):
                    self._drop_unseen(pairs)
                    break
                rounds += 1
                activity.cells[CALL] = IDLE
                changed = self._step(program, pairs, program.act(slots, table))
                if rounds % LOOK == 0:  # whatever becomes of others
                    for instance in self._instances:
                        instance.look(self._job, horizon)
                    changed |= any(instance.over for instance, _ in pairs)
            pairs = self._left(pairs)

    def _left(self, pairs: Sequence[_Pair]) -> list[_Pair]:
        for instance in self._instances:
            instance.settle()
        return [(i, e) for i, e in pairs if not (i.over or e.over)]

    def _drop_unseen(self, pairs: Sequence[_Pair]) -> None:
        """End the instances whose observations hold NaN or an infinity."""
        for instance, episode in pairs:
            if not instance.over:
                try:
                    episode.task.require_finite(episode.observation)
                except EnvironmentFault as fault:
                    self._blame(instance, episode, fault)

    def _step(
        self, program: sandbox.Instances, pairs: Sequence[_Pair], actions: NDArray[np.float64]
    ) -> bool:
        """One step of each; returns whether an episode or an instance is over."""
        failed: NDArray[np.bool_] = np.logical_or.reduce(np.isnan(actions), axis=1)
        changed = bool(failed.any())
        if changed:
            for (instance, episode), bad in zip(pairs, failed, strict=True):
                if bad and not instance.over:
                    instance.error = program.error(episode.slot) or "act() returned no action"
            rows = [n for n, (instance, _) in enumerate(pairs) if not instance.over]
            pairs, actions = [pairs[n] for n in rows], actions[rows]
            if not pairs:
                return True
        cells = activity.cells
        cells[CALL] = STEP
        cells[STEPS] += len(pairs)
        decoded, _ = pairs[0][1].task.decoded(actions)
        for (instance, episode), action in zip(pairs, decoded, strict=True):
            if changed and instance.over:
                continue
            try:
                changed |= episode.step(action)
            except EnvironmentFault as fault:
                self._blame(instance, episode, fault)
                changed = True
        return changed

    def _blame(self, instance: _Instance, episode: Running, fault: EnvironmentFault) -> None:
        """An environment that fails is the instance's fault, and of no use to others."""
        instance.error = f"the environment failed under this policy: {fault.problem}"
        self._tools.discard(episode.task)
