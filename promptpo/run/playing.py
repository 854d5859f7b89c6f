"""Episodes of a run: played once, remembered by their content, within the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from promptpo.config import RunConfig
from promptpo.errors import RunError
from promptpo.rollout.executor import Executor, evaluate, rehearse
from promptpo.run.limits import Ledger
from promptpo.run.plays import MARKS, NO_MARK, Gathering, Play
from promptpo.store.codec import encode
from promptpo.store.events import EventLog
from promptpo.store.folder import RunFolder
from promptpo.store.memo import Memo, digest
from promptpo.types import Key, Rollout, Trajectory


@dataclass
class Player:
    """Plays what is new, and answers the rest from the memo.

    ``values`` has what policies are made with, by its digest. ``gathered`` is what search has
    played.
    """

    executor: Executor
    memo: Memo
    ledger: Ledger
    log: EventLog
    folder: RunFolder
    config: RunConfig
    life: int
    record: Callable[..., None]
    values: Callable[[str], Awaitable[bytes]]
    gathered: Gathering = field(default_factory=Gathering)
    _met: set[str] = field(default_factory=set)
    _under_way: dict[str, asyncio.Task[Rollout]] = field(default_factory=dict)

    def digest(self, play: Play) -> str:
        """Names a play by its content: equal content, equal digest.

        Of a policy that an older version had marked it is that of the episodes that stand.
        """
        c = self.config
        limits = (c.act_timeout, c.episode_timeout, c.policy_seed)
        usual, *marked = (
            digest(play.identity, play.seeds, self.lived, play.stream, mark, limits)
            for mark in (NO_MARK, *MARKS)
        )
        return next((name for name in marked if self.memo.rollout(name) is not None), usual)

    @property
    def lived(self) -> str | int:
        """How long a policy object lives, as digests have it."""
        return "episode" if self.life == 1 else self.life

    async def prepared(self, play: Play) -> bytes:
        """The values that policies of a play are made with; empty where there are none."""
        return await self.values(play.prepared) if play.prepared else b""

    def is_new(self, play: Play) -> bool:
        """Whether it has not been played, and is not being played."""
        of = self.digest(play)
        return self.memo.rollout(of) is None and of not in self._under_way

    async def play(self, play: Play, key: Key, keep: Sequence[int] = ()) -> Rollout:
        """What came of it; ``keep`` are the seeds of the episodes to store as trajectories.

        Two candidates with the same text are one policy: it is played once, for the first of them.
        """
        of = self.digest(play)
        if of not in self._under_way:
            self._under_way[of] = asyncio.ensure_future(self._play(of, play, key, keep))
        try:
            run = await self._under_way[of]
        finally:
            self._under_way.pop(of, None)
        if play.stream == "search":
            self.ledger.count_share(key, run.steps)
            if keep:
                self.gathered.note(of, play, key, run)
        return run

    async def trajectories(self, play: Play, key: Key, seeds: Sequence[int]) -> list[Trajectory]:
        """The episodes of these seeds of what has been played; played again where they are lost.

        Raises RunError where they cannot be had.
        """
        of = self.digest(play)
        found = self._stored(of, key, seeds)
        if not found.keys() >= set(seeds):
            await self._again(of, play, key, seeds)
            found = {e.seed: e for e in self.reader(play, key)(seeds=frozenset(seeds))}
        if not found.keys() >= set(seeds):
            name = self._first(of, key).name
            raise RunError(f"{name}: some episodes are lost, and went otherwise when played again")
        return [found[seed] for seed in seeds]

    def reader(self, play: Play, key: Key) -> Callable[..., list[Trajectory]]:
        """What reads the file that has the episodes of a play, and maybe others."""
        of = self.digest(play)
        name, failed = self._first(of, key).name, self._failed(of, key)
        return partial(self.folder.read_episodes, name, failed)

    async def _play(self, of: str, play: Play, key: Key, keep: Sequence[int]) -> Rollout:
        run = self.memo.rollout(of)
        new = run is None
        if run is None:
            run = await self._evaluate(of, play, key, keep)
        elif keep and run.error is None and self._lost(of, key, keep):
            await self._again(of, play, key, keep)
        data = {"key": encode(key), "digest": of, **encode(run)}
        self.log.emit("rollout", transient=not new, **data)
        if new:
            self.memo.add("rollout", data)
        if of not in self._met:
            self._met.add(of)
            self.ledger.count_steps(play.stream, run.steps, new=new)
        self.ledger.report(self.log.emit)
        return run

    async def _evaluate(self, of: str, play: Play, key: Key, keep: Sequence[int]) -> Rollout:
        run, episodes = await evaluate(
            self.executor,
            play.source,
            play.stream,
            play.seeds,
            life=self.life,
            keep=keep,
            prepared=await self.prepared(play),
        )
        if run.error_kind == "environment" and play.stream == "search":
            await rehearse(self.executor, play.seeds)
        if episodes and (run.error is None or self.config.prepare_time):
            first = self._first(of, key)
            failed = None if run.error is None else first.attempt
            self.folder.write_episodes(first.name, episodes, failed)
        return run

    async def _again(self, of: str, play: Play, key: Key, keep: Sequence[int]) -> None:
        """Play what is on record once more, to restore its files; what is on record stands."""
        run = await self._evaluate(of, play, key, keep)
        recorded = self.memo.rollout(of)
        if recorded is not None and run.returns != recorded.returns:
            text = f"{key.name}: its episodes went otherwise when they were played again"
            self.log.emit("notice", text=f"{text}; its recorded score stands")

    def _first(self, of: str, key: Key) -> Key:
        """For whom it was first played: that candidate's folder has the trajectories."""
        return self.memo.record.played_by.get(of, key)

    def _failed(self, of: str, key: Key) -> int | None:
        """The attempt that a play is of, where it failed: the next one plays the same seeds."""
        run = self.memo.rollout(of)
        return None if run is None or run.error is None else self._first(of, key).attempt

    def _stored(self, of: str, key: Key, seeds: Sequence[int]) -> dict[int, Trajectory]:
        """The episodes of these seeds whose file is there and whole."""
        where = self._first(of, key).name, self._failed(of, key)
        if not self.folder.episodes(*where).exists():
            return {}
        try:
            return {e.seed: e for e in self.folder.read_episodes(*where, seeds=frozenset(seeds))}
        except RunError as e:
            self.record("notice", text=str(e))
            return {}

    def _lost(self, of: str, key: Key, seeds: Sequence[int]) -> set[int]:
        return set(seeds) - self._stored(of, key, seeds).keys()
