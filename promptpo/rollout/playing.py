"""The inner loop: episodes that are played at the same time, each policy in a process of its own.

All processes are handed their observations before any of their actions is waited for. What becomes
of an episode depends on its own policy and seed alone, never on which others are played beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from promptpo.rollout.contenders import Contender, instance_run, run_of
from promptpo.rollout.episode import Pool, Running
from promptpo.rollout.jobs import InstanceRun, InstancesJob, PlayJob, PlayRun
from promptpo.spec.calls import CALL, IDLE, STEP, STEPS, EnvironmentFault, activity
from promptpo.spec.environment import all_finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import sandbox

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
    policy: sandbox.Policy
    episode: Running
    index: int = 0
    sound: bool = True


class Playing:
    """Plays contenders, so many episodes at a time.

    Args:
        job: what they belong to.
        width: episodes at the same time; a contender's lives are always played together.
        pool: environments and processes.
    """

    def __init__(self, job: PlayJob | InstancesJob, width: int, pool: Pool) -> None:
        self._job, self._width, self._pool = job, width, pool
        self._keep = frozenset(job.keep) if isinstance(job, PlayJob) else frozenset()
        self._idle: list[sandbox.Policy] = []
        self._rows: list[_Row] = []

    def play(self, contenders: Sequence[Contender]) -> None:
        """Play all of them to their ends.

        Raises SandboxFailed and Disturbed, and CompileError where the program is refused;
        what was played by then is known of the contenders.
        """
        waiting = deque(contenders)
        try:
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

    def _give_policy(self, policy: sandbox.Policy) -> None:
        if self._job.alone or policy.lives >= _LIVES or not policy.alive:
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
        together = sandbox.Together([row.policy for row in rows])
        table = np.empty((len(rows), rows[0].episode.task.observation_size))
        line, zeros = table.reshape(-1), np.zeros(table.size)
        cells, ended = activity.cells, False
        while not ended:
            np.concatenate([row.episode.observation for row in rows], out=line)
            if not all_finite(line, zeros):
                self._blame_unseen(rows)
                break
            cells[CALL] = IDLE
            actions, errors = together.act(table)
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


def play(job: PlayJob, width: int, pool: Pool) -> PlayRun:
    """Play a job's episodes; a policy that fails or is disturbed is a result, no exception.

    Raises SandboxFailed.
    """
    import sandbox

    contenders, number = [], job.first
    for life in job.lives:
        contenders.append(Contender([life], number))
        number += len(life)
    try:
        Playing(job, width, pool).play(contenders)
    except (sandbox.CompileError, sandbox.Disturbed) as error:
        whole = run_of(job, contenders)
        return replace(whole, error=error.message, error_kind=error.kind)
    return run_of(job, contenders)


def play_instances(job: InstancesJob, width: int, pool: Pool) -> tuple[InstanceRun, ...]:
    """Play every vector's episodes; one that fails leaves the others alone.

    Raises SandboxFailed and Disturbed.
    """
    import sandbox

    contenders = [Contender(job.lives, constants=constants) for constants in job.constants]
    try:
        Playing(job, width, pool).play(contenders)
    except sandbox.CompileError as error:
        for contender in contenders:
            contender.error = error.message
    return tuple(instance_run(job, contender) for contender in contenders)
