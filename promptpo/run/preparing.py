"""Computing before acting: each ``prepare`` runs once, on episodes that search has recorded.

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
from typing import NamedTuple

import sandbox
from promptpo.errors import RunError, file_error
from promptpo.export.learned import Learned
from promptpo.export.policy_file import PolicyFile
from promptpo.policies.parametric import PROBES
from promptpo.rollout.jobs import PrepareJob
from promptpo.run.playing import Gathered, RunPlayer
from promptpo.spec import EnvSpec, layout
from promptpo.store.codec import digest, encode
from promptpo.types import Candidate, Key, Preparation, Trajectory

#: The value by which a program says what it expects of its policy.
PREDICTED = "predicted_return"


@dataclass(frozen=True)
class _Data:
    """The data of a round's candidates: the episodes, and the digest that names them."""

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
    """Runs each new ``prepare``, and answers the rest from the journal."""

    player: RunPlayer
    spec: EnvSpec
    _data: dict[int, _Data] = field(default_factory=dict)
    _files: dict[int, asyncio.Task[Path]] = field(default_factory=dict)
    _under_way: dict[str, asyncio.Task[Preparation]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config, self.folder = self.player.config, self.player.folder
        self.journal, self.run = self.player.journal, self.player.journal.run

    async def prepare(self, candidate: Candidate) -> Candidate:
        """Return the candidate with the result of its ``prepare``, where it has one and may.

        Two candidates of a round with the same text are one program: it runs once.
        """
        source, seconds = candidate.source, self.config.prepare_time
        if source is None:
            return candidate
        shipped = self._shipped(source, candidate.key)
        if shipped is not None:
            return replace(candidate, preparation=shipped)
        if not seconds or not sandbox.prepares(source):
            return candidate
        data = self._data_of(candidate.key.round)
        of = digest("prepare", source, data.digest, seconds, self.config.policy_seed)
        if of not in self._under_way:
            work = self._prepare(of, source, candidate.key, data)
            self._under_way[of] = asyncio.ensure_future(work)
        try:
            done = await self._under_way[of]
        finally:
            self._under_way.pop(of, None)
        return replace(candidate, preparation=done, error=done.error)

    def learned(self, candidate: Candidate) -> Learned | None:
        """Return the values that a candidate's policies are made with, if any. Raises RunError."""
        done = candidate.preparation
        if done is None or done.values is None:
            return None
        return Learned.of(done, self.player.values(done.values))

    def close(self) -> None:
        """Remove what is of use only while the run goes on."""
        for task in self._files.values():
            task.cancel()
        shutil.rmtree(self.folder.temporary, ignore_errors=True)

    async def _prepare(self, of: str, source: str, key: Key, data: _Data) -> Preparation:
        recorded = self.run.preparations.get(of)
        key = self.run.prepared_by.get(of, key)
        done = recorded
        if done is None or self._lost(done):
            self.journal.tell("state", name=key.name, state="preparing")
            done = await self._run(of, source, key, data)
        return self._record(key, done, recorded)

    def _lost(self, done: Preparation) -> bool:
        """Return whether there were values, and their file is missing or damaged."""
        try:
            self.player.values(done.values)
        except RunError:
            return True
        return False

    def _record(self, key: Key, done: Preparation, recorded: Preparation | None) -> Preparation:
        """Record a result; one with the values that are recorded already stays as recorded."""
        new = recorded is None or recorded.values != done.values
        result = done if new or recorded is None else recorded
        write = self.journal.append if new else self.journal.tell
        write("prepared", key=encode(key), **encode(result))
        return result

    def _shipped(self, source: str, key: Key) -> Preparation | None:
        """Return the preparation that comes with the file of a policy that is to be tuned."""
        kind, _, path = (self.config.model or "").partition(":")
        if self.config.method != "tune" or kind != "file":
            return None
        of = digest("given", source)
        recorded = done = self.run.preparations.get(of)
        if done is None or done.values is None or self._lost(done):
            learned = PolicyFile.read(Path(path)).learned if Path(path).is_file() else None
            if learned is None:
                return recorded
            done = Preparation(
                of,
                seconds=learned.seconds,
                values=self.folder.write_prepared(key.name, learned.values),
                predicted=_predicted(learned.values),
                episodes=learned.episodes,
                transitions=learned.transitions,
            )
        return self._record(key, done, recorded)

    async def _run(self, of: str, source: str, key: Key, data: _Data) -> Preparation:
        if data.round not in self._files:  # written when it is first needed
            self._files[data.round] = asyncio.ensure_future(self._written(data))
        file = await asyncio.shield(self._files[data.round])
        job = PrepareJob(source, str(file), self.config.prepare_time)
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
        values = self.folder.write_prepared(key.name, run.values)
        return replace(done, values=values, predicted=_predicted(run.values))

    def _data_of(self, number: int) -> _Data:
        if number not in self._data:
            gathered = self.player.gathered.before(number, self.config.prepare_transitions)
            name = digest("gathered", *(g.name for g in gathered))
            self._data[number] = _Data(number, gathered, name)
        return self._data[number]

    async def _written(self, data: _Data) -> Path:
        """Write the file that a round's candidates prepare from."""
        folder = self.folder.temporary
        episodes = _Episodes([place for g in data.gathered for place in await self._places(g)])
        fields = layout(self.spec.observation)
        columns = {f.name: f.slice if f.kind == "array" else f.start for f in fields}
        file = folder / f"round_{data.round}"
        try:
            folder.mkdir(exist_ok=True)
            for older in folder.iterdir():
                older.unlink()
            with file.open("wb") as out:
                most = self.config.prepare_transitions
                await asyncio.to_thread(sandbox.write_recorded, out, episodes, columns, most)
        except OSError as e:
            raise file_error(e, file) from None
        return file

    async def _places(self, gathered: Gathered) -> list[_Place]:
        """Return the places of episodes; those that are lost are played again."""
        key, seeds = gathered.key, [e.seed for e in gathered.episodes]
        await asyncio.sleep(0)  # files are read in the run's own thread: let others run between
        try:
            await self.player.trajectories(gathered.play, key, seeds)
        except RunError as e:
            self.journal.write("notice", text=f"{e}; policies prepare without them")
            return []
        read = self.player.reader(gathered.play, key)
        name = key.name if key.round else list(PROBES)[key.candidate - 1]
        return [_Place(read, seed, name, gathered.round) for seed in seeds]


class _Place(NamedTuple):
    """An episode in the file that ``read`` reads, with its player."""

    read: Callable[[], Sequence[Trajectory]]
    seed: int
    candidate: str
    round: int


class _Episodes(Sequence["sandbox.Episode"]):
    """Recorded episodes, read when they are asked for; those of one file are held at a time."""

    def __init__(self, places: Sequence[_Place]) -> None:
        self._places = places
        self._held: tuple[object, dict[int, Trajectory]] = None, {}

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> sandbox.Episode:  # type: ignore[override]
        place = self._places[index]
        if self._held[0] is not place.read:
            self._held = place.read, {e.seed: e for e in place.read()}
        episode = self._held[1][place.seed]
        names = ("observations", "actions", "rewards", "terminated", "truncated", "success")
        fields = {name: getattr(episode, name) for name in names}
        return sandbox.Episode(**fields, candidate=place.candidate, round=place.round)


def _predicted(values: bytes) -> float | None:
    """Return the return that a program expects of its policy, where it says one."""
    value = sandbox.unpack(values).get(PREDICTED)
    if isinstance(value, str | bool) or value is None:
        return None
    number = float(value) if isinstance(value, float | int) else float(value.mean())
    return number if math.isfinite(number) else None
