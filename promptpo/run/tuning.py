"""Tuning within a run: what is played is recorded and done only once, within the budget."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import UnsetType

from promptpo.common.lives import whole
from promptpo.errors import LimitReached
from promptpo.outcomes import Terms
from promptpo.policies.constants import Tunable
from promptpo.rollout.jobs import InstancesJob, PlayRun
from promptpo.rollout.seeds import episode_seeds
from promptpo.rollout.watched import HUNG
from promptpo.run.playing import RunPlayer
from promptpo.store.codec import digest, encode, score_data
from promptpo.tuning import TuningAccount
from promptpo.tuning.judging import Bar, Played
from promptpo.tuning.optimizer import Values
from promptpo.tuning.tuner import Tuned, Tuner, account_of
from promptpo.types import Candidate, Episode, Rollout, Stream, identity

#: Where the seeds begin that tunings of a run take, of their own stream for samples and, far from
#: what finalists meet, of the selection stream for the last word: a block for each candidate.
_SAMPLES, _FINALS, _BLOCKS = 1 << 20, 1 << 10, 1 << 8

#: Characters of an error that are recorded.
_MAX_ERROR = 500
#: Instances under which a call of the environment hangs: so many end a tuning.
_HANGS = 2


class _Hangs(LimitReached):
    """Calls of the environment hang, each for as long as it may take: there is no end to it."""


@dataclass
class RunTuning:
    """One candidate's constants under way; it can be taken up again with more steps."""

    player: RunPlayer
    horizon: int
    of: Candidate
    tunable: Tunable

    def __post_init__(self) -> None:
        c, name = self.player.config, self.of.name
        # Two candidates of a run have blocks of their own, whatever else has been tuned.
        self._block = self.of.key.round * _BLOCKS + self.of.key.candidate
        self._used: dict[Stream, int] = {"tuning": 0, "selection": 0}
        seed = int(digest(c.seed, name, self.tunable.source)[:8], 16)
        self._tuner = Tuner(
            self.tunable,
            self._play,
            lambda count: self._seeds("tuning", _SAMPLES, count),
            lambda count: self._seeds("selection", _FINALS, count),
            seed,
            closed=c.last_word == "closed",
        )
        self._places = tuple(constant.place for constant in self.tunable.constants)
        self._budget = 0
        self._began, self._new = time.monotonic(), 0
        self._hung = 0

    @property
    def run(self) -> Rollout | None:
        """Episodes of the values that stand; None before the first judgement."""
        return self._tuner.run

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return self._tuner.result.steps

    async def advance(self, steps: int) -> None:
        """Go on until so many steps in all are spent, or a limit of the run is reached.

        It is over where calls of the environment have hung. Raises LimitReached where nothing at
        all could be played.
        """
        if self._hung >= _HANGS:
            return
        self._budget = max(self._budget, steps)
        self._began, self._new = time.monotonic(), 0
        try:
            await self._tuner.advance(self._budget, self._tell)
        except LimitReached:
            if not self._tuner.result.history:
                raise

    async def finish(self) -> tuple[Candidate, TuningAccount]:
        """Return the tuned candidate, or the written one where it stays, and the account."""
        try:
            result = await self._tuner.finish()
        except LimitReached:  # no room for the last word: what was written stands
            result = replace(self._tuner.result, values=self._tuner.result.history[0].values)
        account = account_of(self.tunable, result)
        data = {"key": encode(self.of.key), "budget": self._budget, **encode(account)}
        if not account.open:
            del data["open"]  # which older logs have not
        self.player.journal.write("tuned", **data)
        if not account.plays_on:
            return self.of, account
        source = self.tunable.written(result.values)
        tuned = Candidate(
            self.of.key,
            source,
            kind="tuned",
            parents=(self.of.name,),
            preparation=self.of.preparation,
        )
        return tuned, account

    def _seeds(self, stream: Stream, block: int, count: int) -> tuple[int, ...]:
        config, life = self.player.config, self.player.config.life
        first = whole(block * (1 + self._block), life) + self._used[stream]
        count = whole(count, life)
        self._used[stream] += count
        return episode_seeds(config.seed, stream, count, first, life=life)

    async def _play(
        self, values: Sequence[Values], seeds: Sequence[int], bar: Bar | None
    ) -> list[Played]:
        player, config = self.player, self.player.config
        of = digest(
            identity(self.tunable.source, self.of.prepared), self._places, values, seeds,
            player.lived, (config.act_timeout, config.episode_timeout), config.policy_seed,
            (bar.mean, _number(bar.pace)) if bar else None,
        )  # fmt: skip
        data = player.journal.run.tunings.get(of)
        new = data is None
        if data is None:
            player.ledger.check_tuning(len(values) * len(seeds) * self.horizon)
            job = InstancesJob(
                self.tunable.source,
                self._places,
                tuple(values),
                tuple(seeds),
                config.life,
                bar.mean if bar else None,
                bar.pace if bar else math.inf,
                player.values(self.of.prepared),
                alone=bar is None,  # judged, not only searched
            )
            runs = [_data(run) for run in await player.executor.run(job)]
            data = {"key": encode(self.of.key), "digest": of, "seeds": [*seeds], "runs": runs}
        steps = sum(run["steps"] for run in data["runs"])
        self._new += steps if new else 0
        player.record("tuning", data, "tuning", steps, new=new)
        self._count_hangs(data["runs"])
        return [_played(run, seeds, player.terms) for run in data["runs"]]

    def _count_hangs(self, runs: Sequence[Mapping[str, Any]]) -> None:
        """Raise _Hangs once a call has hung under so many instances, where another does."""
        hung = sum(HUNG in (run["error"] or "") for run in runs)
        self._hung += hung
        if hung and self._hung >= _HANGS and self._tuner.result.history:
            words = f"a call of the environment hung under {self._hung} of its values"
            text = f"{self.of.name}: tuning ends here, for {words}"
            self.player.journal.tell("notice", text=text)
            raise _Hangs(words)

    def _tell(self, result: Tuned) -> None:
        """Tell who watches how it stands, and how long it will take at this pace."""
        took = time.monotonic() - self._began  # what is recorded takes hardly any of it
        left = max(self._budget - result.steps, 0) * took / max(self._new, 1)
        score = result.history[-1].run.score
        self.player.journal.tell(
            "tuning_state",
            name=self.of.name,
            steps=result.steps,
            budget=self._budget,
            generations=result.generations,
            score=score_data(score),
            constants=len(self.tunable.constants),
            seconds_left=left,
        )


def _data(run: PlayRun) -> dict[str, Any]:
    ended = [episode for episode in run.results if episode.error is None]
    return {
        "returns": [e.return_ for e in ended],
        "lengths": [e.length for e in ended],
        "successes": [e.success for e in ended],
        "steps": run.steps,
        "error": run.error and run.error[-_MAX_ERROR:],
        "bound": run.bound,
        "pace": _number(run.pace),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _played(data: Mapping[str, Any], seeds: Sequence[int], terms: Terms | UnsetType) -> Played:
    episodes: tuple[Episode, ...] = ()
    if data["error"] is None and data["bound"] is None:
        rows = zip(seeds, data["returns"], data["lengths"], data["successes"], strict=True)
        episodes = tuple(Episode(*row) for row in rows)
    run = Rollout("tuning", tuple(seeds), episodes, data["steps"], error=data["error"], terms=terms)
    pace = data["pace"]
    return Played(run, data["bound"], -math.inf if pace is None else pace)
