"""What policies compute before they act: each ``prepare`` runs once, on what search has recorded.

What a round's candidates prepare from is what was played before the round, in one file that all of
them read; so it is the same in a run that is resumed, and whoever is asked for first.
"""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import overload

import sandbox
from promptpo.errors import RunError, file_error
from promptpo.export.learned import Learned
from promptpo.export.policy_file import PolicyFile
from promptpo.policies.parametric import PROBES
from promptpo.rollout.preparing import PrepareJob
from promptpo.run.playing import Player
from promptpo.run.plays import Gathered, name_of
from promptpo.spec import EnvSpec, layout
from promptpo.store.codec import encode
from promptpo.store.memo import digest
from promptpo.types import Candidate, Key, Preparation, Trajectory

#: The value by which a program says what it expects of its policy.
PREDICTED = "predicted_return"


@dataclass(frozen=True)
class _Data:
    """What a round's candidates prepare from: the episodes, and what names them."""

    round: int
    gathered: Sequence[Gathered]
    digest: str

    @property
    def episodes(self) -> int:
        return sum(len(g.episodes) for g in self.gathered)

    @property
    def transitions(self) -> int:
        return sum(e.length for g in self.gathered for e in g.episodes)


@dataclass
class Preparer:
    """Runs what is new, and answers the rest from the memo; ``report`` tells who watches."""

    player: Player
    spec: EnvSpec
    report: Callable[..., None]
    _data: dict[int, _Data] = field(default_factory=dict)
    _files: dict[int, asyncio.Task[Path]] = field(default_factory=dict)
    _under_way: dict[str, asyncio.Task[Preparation]] = field(default_factory=dict)

    async def prepare(self, candidate: Candidate) -> Candidate:
        """The candidate with what came of its ``prepare``; itself where it has none, or may not.

        Two candidates of a round with the same text are one program: it runs once.
        """
        source, seconds = candidate.source, self.player.config.prepare_time
        given = self._given(source, candidate.key) if source is not None else None
        if given is not None:
            return replace(candidate, preparation=given)
        if not seconds or source is None or not sandbox.prepares(source):
            return candidate
        data = self._of_round(candidate.key.round)
        of = digest("prepare", source, data.digest, seconds, self.player.config.policy_seed)
        if of not in self._under_way:
            work = self._prepared(of, source, candidate.key, data)
            self._under_way[of] = asyncio.ensure_future(work)
        try:
            done = await self._under_way[of]
        finally:
            self._under_way.pop(of, None)
        return replace(candidate, preparation=done, error=done.error)

    def learned(self, candidate: Candidate) -> Learned | None:
        """What a candidate's policies are made with, if anything. Raises RunError."""
        done = candidate.preparation
        if done is None or done.values is None:
            return None
        return Learned.of(done, self._found(done.values))

    async def values(self, of: str) -> bytes:
        """The values of a digest, which this run has prepared. Raises RunError."""
        return self._found(of)

    def _found(self, of: str) -> bytes:
        values = self._stored(of)
        if values is None:
            file = self.player.folder.prepared(self._name(of), of)
            raise RunError(f"{file}: missing or damaged; `promptpo --resume` prepares it again")
        return values

    def close(self) -> None:
        """Remove what is of no use any more."""
        for task in self._files.values():
            task.cancel()
        shutil.rmtree(self.player.folder.temporary, ignore_errors=True)

    async def _prepared(self, of: str, source: str, key: Key, data: _Data) -> Preparation:
        record = self.player.memo.record
        known = record.preparations.get(of)
        lost = known is not None and known.values is not None and not self._stored(known.values)
        key = record.prepared_by.get(of, key)
        done = known
        if done is None or lost:
            self.report("state", name=key.name, state="preparing")
            done = await self._run(of, source, key, data)
        return self._written_down(key, done, known)

    def _written_down(self, key: Key, done: Preparation, known: Preparation | None) -> Preparation:
        if known is not None and known.values == done.values:
            done = known  # what is on record stands, its time too
        new = done is not known
        event = {"key": encode(key), **encode(done)}
        self.player.log.emit("prepared", transient=not new, **event)
        if new:
            self.player.memo.add("prepared", event)
        return done

    def _given(self, source: str, key: Key) -> Preparation | None:
        """What the policy that is to be tuned comes with: it has learned before."""
        kind, _, path = (self.player.config.model or "").partition(":")
        if self.player.config.method != "tune" or kind != "file":
            return None
        of = digest("given", source)
        known = done = self.player.memo.record.preparations.get(of)
        if done is None or not self._stored(done.values or ""):
            learned = PolicyFile.read(Path(path)).learned if Path(path).is_file() else None
            if learned is None:
                return known
            done = replace(
                Preparation(of, seconds=learned.seconds),
                values=self.player.folder.write_prepared(key.name, learned.values),
                predicted=_predicted(learned.values),
                episodes=learned.episodes,
                transitions=learned.transitions,
            )
        return self._written_down(key, done, known)

    async def _run(self, of: str, source: str, key: Key, data: _Data) -> Preparation:
        file = await self._file(data)
        job = PrepareJob(source, str(file), self.player.config.prepare_time)
        run = await self.player.executor.run(job)
        done = Preparation(
            of,
            output=run.output,
            seconds=round(run.seconds, 3),
            error=run.error,
            error_kind=run.error_kind,
            episodes=data.episodes,
            transitions=data.transitions,
        )
        if run.error is not None:
            return done
        values = self.player.folder.write_prepared(key.name, run.values)
        return replace(done, values=values, predicted=_predicted(run.values))

    def _of_round(self, number: int) -> _Data:
        if number not in self._data:
            most = self.player.config.prepare_transitions
            gathered = self.player.gathered.before(number, most)
            self._data[number] = _Data(number, gathered, name_of(gathered))
        return self._data[number]

    async def _file(self, data: _Data) -> Path:
        """The file of a round, written when it is first needed."""
        if data.round not in self._files:
            self._files[data.round] = asyncio.ensure_future(self._written(data))
        return await asyncio.shield(self._files[data.round])

    async def _written(self, data: _Data) -> Path:
        folder = self.player.folder.temporary
        episodes = _Episodes([place for g in data.gathered for place in await self._places(g)])
        fields = layout(self.spec.observation)
        columns = {f.name: f.slice if f.kind == "array" else f.start for f in fields}
        file = folder / f"round_{data.round}"
        try:
            folder.mkdir(exist_ok=True)
            for older in folder.iterdir():
                older.unlink()
            with file.open("wb") as out:
                most = self.player.config.prepare_transitions
                await asyncio.to_thread(sandbox.write_recorded, out, episodes, columns, most)
        except OSError as e:
            raise file_error(e, file) from None
        return file

    async def _places(self, gathered: Gathered) -> list[_Place]:
        """Where episodes are; those that are lost are played again."""
        key, seeds = gathered.key, [e.seed for e in gathered.episodes]
        await asyncio.sleep(0)  # files are read in the run's own thread: let others run between
        try:
            await self.player.trajectories(gathered.play, key, seeds)
        except RunError as e:
            self.player.record("notice", text=f"{e}; policies prepare without them")
            return []
        read = self.player.reader(gathered.play, key)
        name = key.name if key.round else list(PROBES)[key.candidate - 1]
        return [_Place(read, seed, name, gathered.round) for seed in seeds]

    def _name(self, of: str) -> str:
        """The name of the candidate in whose folder the values of a digest are."""
        return self.player.memo.record.values_in.get(of, "")

    def _stored(self, of: str) -> bytes | None:
        name = self._name(of)
        return self.player.folder.read_prepared(name, of) if name else None


@dataclass(frozen=True)
class _Place:
    """Where an episode is: in the file that ``read`` reads, with this seed; and who played it."""

    read: Callable[[], Sequence[Trajectory]]
    seed: int
    candidate: str
    round: int


class _Episodes(Sequence["sandbox.RecordedEpisode"]):
    """Recorded episodes, read when they are asked for; those of one file are held at a time."""

    def __init__(self, places: Sequence[_Place]) -> None:
        self._places = places
        self._held: tuple[object, dict[int, Trajectory]] = None, {}

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> sandbox.RecordedEpisode: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[sandbox.RecordedEpisode]: ...

    def __getitem__(
        self, index: int | slice
    ) -> sandbox.RecordedEpisode | Sequence[sandbox.RecordedEpisode]:
        if isinstance(index, slice):
            return _Episodes(self._places[index])
        place = self._places[index]
        if self._held[0] is not place.read:
            self._held = place.read, {e.seed: e for e in place.read()}
        found = self._held[1][place.seed]
        return sandbox.RecordedEpisode(
            observations=found.observations,
            actions=found.actions,
            rewards=found.rewards,
            terminated=found.terminated,
            truncated=found.truncated,
            success=found.success,
            candidate=place.candidate,
            round=place.round,
        )


def _predicted(values: bytes) -> float | None:
    """The return that a program expects of its policy, where it says one."""
    found = sandbox.unpack(values).get(PREDICTED)
    if isinstance(found, str | bool) or found is None:
        return None
    number = float(found) if isinstance(found, float | int) else float(found.mean())
    return number if math.isfinite(number) else None
