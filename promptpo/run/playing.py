"""Episodes of a run: played once, remembered by their content, within the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from msgspec import UnsetType

from promptpo.config import RunConfig
from promptpo.errors import RunError
from promptpo.outcomes import Terms
from promptpo.rollout.evaluation import evaluate, rehearse
from promptpo.rollout.executor import Executor
from promptpo.run.limits import Ledger
from promptpo.store.codec import digest, encode
from promptpo.store.folder import RunFolder
from promptpo.store.journal import Journal
from promptpo.types import Candidate, Episode, Key, Rollout, Stream, Trajectory, identity

#: A part of digests that is empty in all but older runs, which had marked some policies there.
NO_MARK = ""

#: The marks. The episodes of these policies were played anew, each alone, and those stand.
_MARKS = ("depends on other episodes", "does not repeat itself")


@dataclass(frozen=True)
class Play:
    """Some episodes of one policy: all that decides their outcome.

    ``prepared`` is the digest of the values that policies are made with; None: without any.
    """

    source: str
    stream: Stream
    seeds: tuple[int, ...]
    prepared: str | None = None

    @classmethod
    def of(cls, candidate: Candidate, stream: Stream, seeds: Sequence[int]) -> Play:
        """Return episodes of a candidate, which has a source."""
        return cls(candidate.source or "", stream, tuple(seeds), candidate.prepared)


@dataclass(frozen=True)
class Gathered:
    """Episodes of a play that ended, in the ``round`` in which they were first asked for.

    ``digest`` names the play, ``key`` is that of the candidate that played.
    """

    digest: str
    play: Play
    key: Key
    round: int
    episodes: tuple[Episode, ...]

    @property
    def name(self) -> tuple[str, str, int, list[int]]:
        """All that tells it from others, for digests."""
        return self.digest, self.key.name, self.round, [e.seed for e in self.episodes]


@dataclass
class Gathering:
    """All that a search has played, recorded or new, in an order that does not depend on chance.

    Resuming is running the method again: the episodes that it has asked for when a round begins are
    the same in every session.
    """

    _round: int = 0
    _by_digest: dict[str, Gathered] = field(default_factory=dict)

    def open_round(self, number: int) -> None:
        """Begin a round: episodes that are noted from now on belong to it."""
        self._round = number

    def note(self, of: str, play: Play, key: Key, run: Rollout) -> None:
        """Add episodes of a candidate; of equal candidates the first one's count."""
        first = self._by_digest.get(of)
        if first is None:
            self._by_digest[of] = Gathered(of, play, key, self._round, run.whole)
        elif first.round == self._round and key < first.key:
            self._by_digest[of] = replace(first, key=key)

    def before(self, round_: int, most: int) -> list[Gathered]:
        """Return the newest whole episodes from before a round, in the order of time.

        They have ``most`` steps at most.
        """
        entries = [g for g in self._by_digest.values() if g.round < round_ and g.episodes]
        entries.sort(key=lambda g: (g.round, g.key, g.play.seeds))
        newest: list[Gathered] = []
        left = most
        for entry in reversed(entries):
            episodes: list[Episode] = []
            for episode in reversed(entry.episodes):
                left -= episode.length
                if left < 0:
                    break
                episodes.append(episode)
            if episodes:
                newest.append(replace(entry, episodes=tuple(reversed(episodes))))
            if left < 0:
                break
        return newest[::-1]


@dataclass
class RunPlayer:
    """Plays what is new, and answers the rest from the journal.

    ``terms`` are what the task asks of episodes; ``gathered`` is what search has played.
    """

    executor: Executor
    journal: Journal
    ledger: Ledger
    folder: RunFolder
    config: RunConfig
    terms: Terms | UnsetType
    gathered: Gathering = field(default_factory=Gathering)
    _met: set[str] = field(default_factory=set)
    _under_way: dict[str, asyncio.Task[Rollout]] = field(default_factory=dict)

    def digest(self, play: Play) -> str:
        """Return the name of a play by its content: equal content, equal digest."""
        c, rollouts = self.config, self.journal.run.rollouts
        policy = identity(play.source, play.prepared)
        limits = (c.act_timeout, c.episode_timeout, c.policy_seed)
        usual, *marked = (
            digest(policy, play.seeds, self.lived, play.stream, mark, limits)
            for mark in (NO_MARK, *_MARKS)
        )
        return next((name for name in marked if name in rollouts), usual)

    @property
    def lived(self) -> str | int:
        """The episodes that a policy object lives, for digests."""
        return "episode" if self.config.life == 1 else self.config.life

    def values(self, of: str | None) -> bytes:
        """Return the values of a digest, which policies are made with; none for None.

        Raises RunError where they are lost.
        """
        if of is None:
            return b""
        name = self.journal.run.values_in.get(of, "")
        values = self.folder.read_prepared(name, of) if name else None
        if values is None:
            file = self.folder.prepared(name, of)
            raise RunError(f"{file}: missing or damaged; `promptpo --resume` prepares it again")
        return values

    def is_new(self, play: Play) -> bool:
        """Return whether it neither has been played nor is being played."""
        of = self.digest(play)
        return of not in self.journal.run.rollouts and of not in self._under_way

    async def play(self, play: Play, key: Key, keep: Sequence[int] = ()) -> Rollout:
        """Return the rollout; ``keep`` are the seeds of the episodes to store as trajectories.

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

    async def play_alone(self, play: Play, key: Key) -> Rollout:
        """Return the rollout of episodes that count; those on record are not played again.

        Each is played alone, so that they are the same whatever they were played with.
        """
        parts = self.on_record(play)
        left = [s for s in play.seeds if all(s not in part.seeds for part in parts)]
        if left:
            parts.append(replace(play, seeds=tuple(left)))
        runs = [await self.play(part, key) for part in parts]
        return Rollout.pooled(runs).of(play.seeds)

    def on_record(self, play: Play) -> list[Play]:
        """Return the recorded plays of a policy that have some of these episodes, or all."""
        run = self.journal.run
        if self.digest(play) in run.played_by:
            return [play]
        wanted, parts = set(play.seeds), list[Play]()
        for of in run.played_by:
            r = run.rollouts[of]
            if r.stream == play.stream and r.error is None and wanted & set(r.seeds):
                part = replace(play, seeds=r.seeds)
                parts += [part] if self.digest(part) == of else []
        return parts

    async def trajectories(self, play: Play, key: Key, seeds: Sequence[int]) -> list[Trajectory]:
        """Return the episodes of these seeds of a play; played again where they are lost.

        Raises RunError where they cannot be had.
        """
        of = self.digest(play)
        stored = self._stored(of, key, seeds)
        if not stored.keys() >= set(seeds):
            await self._again(of, play, key, seeds)
            stored = {e.seed: e for e in self.reader(play, key)(seeds=frozenset(seeds))}
        if not stored.keys() >= set(seeds):
            name = self._first(of, key).name
            raise RunError(f"{name}: some episodes are lost, and went otherwise when played again")
        return [stored[seed] for seed in seeds]

    def reader(self, play: Play, key: Key) -> Callable[..., list[Trajectory]]:
        """Return what reads the file with the episodes of a play, and maybe others."""
        return partial(self.folder.read_episodes, *self._place(self.digest(play), key))

    async def _play(self, of: str, play: Play, key: Key, keep: Sequence[int]) -> Rollout:
        run = self.journal.run.rollouts.get(of)
        new = run is None
        if run is None:
            run = await self._evaluate(of, play, key, keep)
        elif keep and run.error is None and not self._stored(of, key, keep).keys() >= set(keep):
            await self._again(of, play, key, keep)
        data = {"key": encode(key), "digest": of, **encode(run)}
        self.record("rollout", data, play.stream, run.steps, new=new)
        return run

    def record(
        self, kind: str, data: Mapping[str, Any], stream: Stream, steps: int, *, new: bool
    ) -> None:
        """Record a play that is ``new``, hand on one that is recorded; its steps count once."""
        (self.journal.append if new else self.journal.tell)(kind, **data)
        if data["digest"] not in self._met:
            self._met.add(data["digest"])
            self.ledger.count_steps(stream, steps, new=new)
        self.ledger.report(self.journal.tell)

    async def _evaluate(self, of: str, play: Play, key: Key, keep: Sequence[int]) -> Rollout:
        run, episodes = await evaluate(
            self.executor,
            play.source,
            play.stream,
            play.seeds,
            life=self.config.life,
            keep=keep,
            prepared=self.values(play.prepared),
            terms=self.terms,
        )
        if run.error_kind == "environment" and play.stream == "search":
            await rehearse(self.executor, play.seeds)
        if episodes and (run.error is None or self.config.prepare_time):
            first = self._first(of, key)
            failed = None if run.error is None else first.attempt
            self.folder.write_episodes(first.name, episodes, failed)
        return run

    async def _again(self, of: str, play: Play, key: Key, keep: Sequence[int]) -> None:
        """Play recorded episodes once more, to restore their files; the record stands."""
        run = await self._evaluate(of, play, key, keep)
        recorded = self.journal.run.rollouts.get(of)
        if recorded is not None and run.returns != recorded.returns:
            text = f"{key.name}: its episodes went otherwise when they were played again"
            self.journal.notice(f"{text}; its recorded score stands")

    def _first(self, of: str, key: Key) -> Key:
        """Return the key of the candidate that played first, whose folder has the trajectories."""
        return self.journal.run.played_by.get(of, key)

    def _place(self, of: str, key: Key) -> tuple[str, int | None]:
        """Return the candidate whose folder has the episodes, and the attempt where it failed.

        The next attempt plays the same seeds.
        """
        run, first = self.journal.run.rollouts.get(of), self._first(of, key)
        return first.name, None if run is None or run.error is None else first.attempt

    def _stored(self, of: str, key: Key, seeds: Sequence[int]) -> dict[int, Trajectory]:
        """Return the episodes of these seeds whose file is there and whole."""
        place = self._place(of, key)
        if not self.folder.episodes(*place).exists():
            return {}
        try:
            return {e.seed: e for e in self.folder.read_episodes(*place, seeds=frozenset(seeds))}
        except RunError as e:
            self.journal.write("notice", text=str(e))
            return {}
