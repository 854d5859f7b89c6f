"""The inner loop: episodes that are played at the same time.

Those that count have a process each; all processes are handed their observations before any of
their actions is waited for. In search and tuning one process plays many in lockstep, where the
policy allows it (``sandbox.Host.lockstep``), which is several times faster. What becomes of an
episode depends on its own policy and seed alone, never on which others are played beside it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate, chain
from operator import add
from typing import TYPE_CHECKING, Protocol

import numpy as np
from msgspec import UNSET, UnsetType

from promptpo.rollout.jobs import UNPLAYED, InstancesJob, PlayJob, PlayRun, unplayed
from promptpo.spec.calls import CALL, IDLE, STEP, STEPS, EnvironmentFault, activity
from promptpo.spec.environment import all_finite
from promptpo.types import Episode, Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import sandbox
    from promptpo.spec import Task


class Pool(Protocol):
    """Source of live environments and policies' processes."""

    def take_task(self) -> Task:
        """Return an environment that is free."""
        ...

    def give_task(self, task: Task, sound: bool) -> None:
        """Give an environment back; one that has failed is not used again."""
        ...

    def open_policy(self) -> sandbox.Seat:
        """Start a process of the policy."""
        ...

    def open_lockstep(self, count: int) -> sandbox.Lockstep | None:
        """Start one that plays so many episodes at a time; None where each needs its own."""
        ...


@dataclass
class Running:
    """One episode that is played in a task.

    ``number`` is its place among the seeds of the job; ``life`` is how many episodes make a life;
    ``steps`` are those that were begun, one in which the environment failed included.
    """

    task: Task
    number: int
    seed: int
    keep: bool
    life: int
    observation: NDArray[np.float64] = field(init=False)
    rewards: list[float] = field(default_factory=list)
    observations: list[NDArray[np.float64]] = field(default_factory=list)
    actions: list[NDArray[np.float64]] = field(default_factory=list)
    trace: Mapping[str, tuple[float | bool | str | None, ...]] = field(default_factory=dict)
    steps: int = 0
    total: float = 0.0
    clipped: int = 0
    success: bool | None = None
    metrics: Mapping[str, float] | UnsetType = UNSET
    terminated: bool = False
    truncated: bool = False
    over: bool = False

    def start(self) -> None:
        """Reset the environment."""
        self.observation = self.task.reset(self.seed, self.life)
        if self.keep:
            self.observations.append(self.observation)

    def step(self, row: NDArray[np.float64], action: object) -> bool:
        """Take one step; return whether the episode is over.

        ``row`` is the action as the policy gave it, ``action`` as the environment wants it.
        """
        if self.keep:
            self.actions.append(self.task.received(row))
        self.steps += 1
        self.observation, reward, terminated, truncated, success = self.task.advance(action)
        self.total += reward
        if success is not None:
            self.success = bool(self.success) or success
        if terminated or truncated:
            self._check_end()
            self.success, self.metrics = self.task.outcome(bool(self.success))
            self.terminated, self.truncated, self.over = terminated, truncated, True
        self.rewards.append(reward)
        if self.keep:
            self.observations.append(self.observation)
        return self.over

    def _check_end(self) -> None:
        """Check what no policy gets to see, and what only adds up to something wrong."""
        self.task.require_finite(self.observation)
        if not math.isfinite(self.total):
            problem = f"the rewards of an episode add up to {self.total}"
            raise EnvironmentFault(self.task.spec.where, problem, "make rewards smaller")

    def trajectory(self) -> Trajectory:
        """Return the recorded trajectory of an episode that was kept."""
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

    def result(self, error: str | None = None) -> Episode:
        """Return how it went, until it ended or failed with ``error``."""
        if error is None:
            return Episode(self.seed, self.total, self.steps, self.success, metrics=self.metrics)
        total = reduce(add, self.rewards, 0.0)
        return Episode(self.seed, total, self.steps, None, error)


#: Steps in a row whose rewards make up a pace.
PACE = 10


@dataclass
class Contender:
    """Episodes that fail together: those of one life, or of one vector of constants.

    Attributes:
        lives: their seeds; those of a life follow each other on one policy object.
        first: the number of the first seed among those of the job.
        constants: the values at the places of the program.
        error, error_kind: why it failed.
        bound: the mean return that it could have reached at best when it was given up.
        ended: what came of the episodes that came to an end.
        output: what its policies printed.
    """

    lives: Sequence[tuple[int, ...]]
    first: int = 0
    constants: tuple[float, ...] = ()
    error: str | None = None
    error_kind: str | None = None
    bound: float | None = None
    ended: list[Running] = field(default_factory=list)
    failed: list[Running] = field(default_factory=list)
    output: str = ""
    rounds: int = 0

    @property
    def over(self) -> bool:
        """True where it has failed or was given up."""
        return self.error is not None or self.bound is not None

    @property
    def steps(self) -> int:
        """Environment steps."""
        return sum(episode.steps for episode in (*self.ended, *self.failed))

    def look(self, job: InstancesJob, playing: Sequence[Running]) -> None:
        """Give up where even the best pace cannot bring the mean return up to the bar any more."""
        under_way = [episode for episode in playing if not episode.over]
        if job.bar is None or self.over or not under_way:
            return
        horizon, best = playing[0].task.horizon, max(job.pace, 0.0)
        total = sum(episode.total for episode in (*self.ended, *playing))
        total += sum((horizon - episode.steps) * best for episode in under_way)
        total += (len(job.seeds) - len(self.ended) - len(playing)) * horizon * best
        if total / len(job.seeds) < job.bar:
            self.bound = total / len(job.seeds)


def pace(rewards: Sequence[float]) -> float:
    """Return the highest mean reward of ``PACE`` steps in a row, or of a shorter episode's."""
    if len(rewards) <= PACE:
        return float(np.mean(rewards)) if rewards else -math.inf
    sums = np.cumsum(np.concatenate(([0.0], rewards)))
    return float(np.max(sums[PACE:] - sums[:-PACE])) / PACE


def run_of(job: PlayJob | InstancesJob, contenders: Sequence[Contender]) -> PlayRun:
    """Return what became of a job's seeds, whose lives the contenders played."""
    found: dict[int, tuple[Running, Episode]] = {}
    for contender in contenders:
        found |= {e.seed: (e, e.result()) for e in contender.ended}
        error = contender.error or UNPLAYED
        found |= {e.seed: (e, e.result(error)) for e in contender.failed}
    failed = next((c for c in contenders if c.error is not None), Contender([]))
    return PlayRun(
        results=tuple(found[s][1] if s in found else unplayed(s) for s in job.seeds),
        steps=sum(contender.steps for contender in contenders),
        clipped=tuple(found[s][0].clipped if s in found else 0 for s in job.seeds),
        output="".join(contender.output for contender in contenders),
        error=failed.error,
        error_kind=failed.error_kind,
        episodes=tuple(e.trajectory() for c in contenders for e in c.ended if e.keep),
        bound=contenders[0].bound,
        pace=max((pace(e.rewards) for e, _ in found.values()), default=-math.inf),
    )


#: Steps from one look at who can still win to the next.
LOOK = 10
#: Lives that a process plays where they may share one.
_LIVES = 100


@dataclass
class _Row:
    """A life that is played: its process, and the episode that is under way."""

    contender: Contender
    seeds: tuple[int, ...]
    number: int
    policy: sandbox.Seat
    episode: Running
    index: int = 0
    sound: bool = True


class Playing:
    """Plays contenders, so many episodes at a time.

    Args:
        job: what they belong to.
        width: episodes at the same time; a contender's lives are always played together.
        pool: environments and processes.
        lockstep: play all in one process, if the policy allows it.
    """

    def __init__(self, job: PlayJob | InstancesJob, width: int, pool: Pool, lockstep: bool) -> None:
        self._job, self._width, self._pool = job, width, pool
        self._keep = frozenset(job.keep) if isinstance(job, PlayJob) else frozenset()
        self._in_lockstep = lockstep
        self._lockstep: sandbox.Lockstep | None = None
        self._idle: list[sandbox.Seat] = []
        self._rows: list[_Row] = []

    def play(self, contenders: Sequence[Contender]) -> None:
        """Play all of them to their ends.

        Raises SandboxFailed and Disturbed, CompileError where the program is refused, and in
        lockstep whatever ends the process; what was played by then is known of the contenders.
        """
        waiting = deque(contenders)
        try:
            seats = max([self._width, *(len(contender.lives) for contender in contenders)])
            if self._in_lockstep and seats > 1:
                self._lockstep = self._pool.open_lockstep(seats)
                self._idle += self._lockstep.seats if self._lockstep else ()
            while waiting or self._rows:
                while waiting and (
                    not self._rows or len(self._rows) + len(waiting[0].lives) <= self._width
                ):
                    self._begin(waiting.popleft())
                if self._rows:
                    self._play_rows()
        finally:
            for row in self._rows:
                row.contender.failed.append(row.episode)
                row.policy.close()
            for policy in self._idle:
                policy.close()

    def _begin(self, contender: Contender) -> None:
        number = contender.first
        for seeds in contender.lives:
            if contender.over:
                break
            policy = self._idle.pop() if self._idle else self._pool.open_policy()
            episode = self._episode(number, seeds[0])
            row = _Row(contender, seeds, number, policy, episode)
            self._rows.append(row)
            self._start(row)
            number += len(seeds)
        self._settle()

    def _give_policy(self, policy: sandbox.Seat) -> None:
        if self._lockstep:
            self._idle.append(policy)
        elif self._job.alone or policy.lives >= _LIVES or not policy.alive:
            policy.close()
        else:
            self._idle.append(policy)

    def _episode(self, number: int, seed: int) -> Running:
        return Running(self._pool.take_task(), number, seed, seed in self._keep, self._job.life)

    def _start(self, row: _Row) -> None:
        """Begin an episode: the environment first, then the policy."""
        import sandbox

        episode, contender = row.episode, row.contender
        try:
            episode.start()
        except EnvironmentFault as fault:
            self._blame(row, fault, f"in episode slot {episode.number}")
            return
        activity.cells[CALL] = IDLE
        try:
            row.policy.begin(
                episode.seed,
                fresh=row.index == 0,
                traced=episode.keep and row.policy.may_trace,
                constants=contender.constants,
            )
        except sandbox.ProgramError as error:
            self._fail(row, error)

    def _play_rows(self) -> None:
        """Step all rows until some row has ended."""
        import sandbox

        rows = self._rows
        policies = [row.policy for row in rows]
        lockstep = self._lockstep
        act = lockstep.together(policies) if lockstep else sandbox.Together(policies).act
        table = np.empty((len(rows), rows[0].episode.task.observation_size))
        line, zeros = table.reshape(-1), np.zeros(table.size)
        cells, ended = activity.cells, False
        while not ended:
            np.concatenate([row.episode.observation for row in rows], out=line)
            if not all_finite(line, zeros):
                self._blame_unseen(rows)
                break
            cells[CALL] = IDLE
            actions, errors = act(table)
            acting = rows
            if errors:
                for index, error in errors.items():
                    self._fail(rows[index], error)
                left = [n for n, row in enumerate(rows) if not row.contender.over]
                acting, actions = [rows[n] for n in left], actions[left]
            ended = self._step(acting, actions) | bool(errors) | self._look(rows)
        self._settle()

    def _step(self, rows: Sequence[_Row], actions: NDArray[np.float64]) -> bool:
        """Step the environments; return whether an episode has ended or failed."""
        if not rows:
            return True
        cells = activity.cells
        cells[CALL] = STEP
        cells[STEPS] += len(rows)
        decoded, clipped = rows[0].episode.task.decoded(actions)
        for index in clipped:
            rows[index].episode.clipped += 1
        ended = False
        for row, values, action in zip(rows, actions, decoded, strict=True):
            if ended and row.contender.over:
                continue
            try:
                ended |= row.episode.step(values, action)
            except EnvironmentFault as fault:
                self._blame(row, fault, _place(row.episode, values))
                ended = True
        return ended

    def _look(self, rows: Sequence[_Row]) -> bool:
        """Give up contenders that cannot reach the bar; return whether there are such."""
        job = self._job
        if not isinstance(job, InstancesJob) or job.bar is None:
            return False
        gone = False
        playing: dict[int, list[_Row]] = {}
        for row in rows:
            playing.setdefault(id(row.contender), []).append(row)
        for its in playing.values():
            contender = its[0].contender
            contender.rounds += 1
            if contender.rounds % LOOK == 0:
                contender.look(job, [row.episode for row in its])
                gone |= contender.bound is not None
        return gone

    def _blame_unseen(self, rows: Sequence[_Row]) -> None:
        """Fail the rows whose observations hold NaN or an infinity."""
        for row in rows:
            try:
                row.episode.task.require_finite(row.episode.observation)
            except EnvironmentFault as fault:
                self._blame(row, fault, f"in episode slot {row.episode.number}")

    def _blame(self, row: _Row, fault: EnvironmentFault, place: str) -> None:
        """Fail a row whose environment has failed, which is the policy's fault until shown not."""
        row.sound = False
        text = f"the environment failed under this policy: {fault.problem} ({place})"
        self._note(row.contender, text, "environment")

    def _fail(self, row: _Row, error: sandbox.SandboxError) -> None:
        """Fail a row whose policy has failed. Raises where it is not at fault."""
        import sandbox

        if not isinstance(error, sandbox.ProgramError):
            raise error
        if self._lockstep and not self._lockstep.alive:
            raise error
        text = error.message
        if error.step is not None and not isinstance(error, sandbox.TimeLimit):
            text = f"in act() number {error.step} of episode slot {row.episode.number}:\n{text}"
        self._note(row.contender, text, error.kind)

    @staticmethod
    def _note(contender: Contender, error: str, kind: str) -> None:
        if contender.error is None:
            contender.error, contender.error_kind = error, kind

    def _settle(self) -> None:
        """Take rows out that have ended, and go on with the next episodes of their lives."""
        standing: list[_Row] = []
        for row in self._rows:
            self._collect(row)
            if not (row.episode.over or row.contender.over):
                standing.append(row)
                continue
            contender, episode = row.contender, row.episode
            (contender.ended if episode.over else contender.failed).append(episode)
            self._pool.give_task(episode.task, row.sound)
            row.index += 1
            if not contender.over and row.index < len(row.seeds):
                row.episode = self._episode(row.number + row.index, row.seeds[row.index])
                self._start(row)
                standing.append(row)
            else:
                contender.output += row.policy.output
                self._give_policy(row.policy)
        self._rows = standing
        if any(row.contender.over for row in standing):
            self._settle()

    def _collect(self, row: _Row) -> None:
        """Take the trace of an episode that has ended and is kept."""
        import sandbox

        if row.episode.over and row.episode.keep and row.policy.may_trace:
            try:
                row.episode.trace = row.policy.trace()
            except sandbox.ProgramError as error:
                row.episode.over = False
                self._fail(row, error)


def _place(episode: Running, action: NDArray[np.float64]) -> str:
    """Return where in which episode it was, for a policy's eyes: the seed is not told."""
    text = str(action.tolist())
    text = text if len(text) <= 200 else f"{text[:200]}..."
    return f"at step {episode.task.steps} of episode slot {episode.number}, on action {text}"


def play(
    job: PlayJob | InstancesJob, width: int, pool: Pool, lockstep: bool = True
) -> tuple[PlayRun, ...]:
    """Play a job's episodes; a policy that fails or is disturbed is a result, no exception.

    Return one run, or one for each vector of constants; one that fails leaves the others alone.
    Where a process that plays all of them ends, each is played anew in a process of its own, and
    the steps of both count. Raises SandboxFailed.
    """
    import sandbox

    groups: list[list[Contender]] = []
    if isinstance(job, InstancesJob):
        groups += ([Contender(job.lives, constants=constants)] for constants in job.constants)
    else:
        firsts = accumulate(map(len, job.lives), initial=job.first)
        groups.append(
            [Contender([life], first) for life, first in zip(job.lives, firsts, strict=False)]
        )
    together = lockstep and not job.alone
    try:
        Playing(job, width, pool, together).play(list(chain.from_iterable(groups)))
    except (sandbox.ProgramError, sandbox.Disturbed) as error:
        runs = tuple(run_of(job, contenders) for contenders in groups)
        if together and isinstance(error, sandbox.ProgramError):
            again = play(job, width, pool, lockstep=False)
            return tuple(
                replace(a, steps=a.steps + r.steps) for a, r in zip(again, runs, strict=True)
            )
        return tuple(replace(run, error=error.message, error_kind=error.kind) for run in runs)
    return tuple(run_of(job, contenders) for contenders in groups)
