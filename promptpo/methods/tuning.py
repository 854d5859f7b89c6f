"""Tuning between a round's rollouts and its contest: the promising get a little, the best more.

Every candidate has played as written. The best of them, the best policy so far among them, have
their constants tuned with a part of the round's steps each; the better half of these go on with the
next part, until one has the rest. Source: K. Jamieson and A. Talwalkar, "Non-stochastic best arm
identification and hyperparameter optimization" (arXiv 1502.07943), successive halving.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from promptpo.errors import LimitReached
from promptpo.methods.base import Services, Tuning
from promptpo.prompts.words import tuning_words
from promptpo.types import Candidate, Key, Note

if TYPE_CHECKING:
    from promptpo.policies.constants import Tunable

#: Policies that a round begins to tune, at most, and parts in which it spends its steps.
ENTRANTS, _PARTS = 4, 3

#: Episodes that a tuning takes to get anywhere: a first judgement, some samples, another judgement.
_NEEDED = 80

#: Title of the note on a candidate that was tuned.
TUNING = "Tuning"


class TuningStage:
    """Which policies of a run are tuned, and what is known of their constants."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.config = services.config
        self._constants: dict[str, Tunable] = {}
        self._tunings: dict[object, Tuning] = {}
        self._refused: set[str] = set()
        #: What was told of the latest round's tunings.
        self.told: tuple[str, ...] = ()

    def plain(self, candidate: Candidate) -> Candidate:
        """A candidate with plain numbers in place of declarations, whose constants are known.

        One whose declarations are refused has the reason as its error.
        """
        if not self.config.tune or candidate.source is None:
            return candidate
        from promptpo.common.python_text import Unreadable
        from promptpo.policies.constants import (
            WORD,
            TunableError,
            chosen,  # here: the help of a command comes by
        )

        try:
            found = chosen(candidate.source, self.config.constants)
        except TunableError as e:
            return self._refusing(candidate, str(e))
        except Unreadable as e:
            if WORD not in candidate.source:  # it can be played all the same
                return candidate
            return self._refusing(candidate, f"its constants cannot be found: {e.msg}")
        except SyntaxError:  # the compiler's words on it are better
            return candidate
        self._constants[found.source] = found
        return replace(candidate, source=found.source)

    def _refusing(self, candidate: Candidate, error: str) -> Candidate:
        self._refused.add(candidate.source or "")
        return replace(candidate, error=error)

    def refuses(self, candidate: Candidate) -> bool:
        """Whether a candidate has not been played for its declarations."""
        return candidate.source in self._refused

    async def tune(
        self,
        number: int,
        candidates: Sequence[Candidate],
        best: Candidate | None = None,
        *,
        share: float = 1.0,
        least: int = 0,
    ) -> list[Candidate]:
        """What tuning makes of a round's candidates and the best so far: new ones, not played yet.

        It takes a ``share`` of the steps that are left, or all of them where only these get
        anywhere. Where they do not it tunes the ``least`` number of policies all the same.
        """
        from promptpo.policies.constants import with_ranges_of

        self.told = ()
        left = self.services.tuning_left
        budget = int(left * share)
        entrants = self._entrants(candidates, best) if budget else []
        needed = self._needed(entrants)
        if budget < needed <= left:
            budget = left
        fitting = max(budget // needed, least)
        if entrants and not fitting:
            text = f"round {number} tunes nothing: {budget:,} steps of tuning are too few"
            self.services.report("notice", text=f"{text} for episodes of this length")
        if not entrants or not fitting:
            return []
        tunings = await self._halved(entrants[: min(ENTRANTS, fitting)], budget)
        found: list[Candidate] = []
        for tuning in tunings:
            tuned, account = await tuning.finish()
            key = Key(number, len(candidates) + len(found) + 1)
            name = key.name if account.kept else ""
            words = tuning_words(tuning.of.name, account, name)
            self.told = (*self.told, words)
            if account.kept and tuned.source is not None:
                known = with_ranges_of(tuned.source, self._constants[tuning.of.source or ""])
                self._constants[tuned.source] = known
                found.append(replace(tuned, key=key, notes=(Note(TUNING, words),)))
        return found

    def _entrants(self, candidates: Sequence[Candidate], best: Candidate | None) -> list[Candidate]:
        """Those that can be tuned, the best first, each text once."""
        pool = [*([best] if best else []), *candidates]
        able = {
            c.identity: c
            for c in reversed(pool)
            if c.source is not None and not c.score.failed
            and self._known(c.source).constants
        }  # fmt: skip
        return sorted(able.values(), key=lambda c: c.score, reverse=True)

    def _known(self, source: str) -> Tunable:
        """A policy's constants; those of one that this run has not written are found, if any."""
        from promptpo.policies.constants import Tunable, TunableError, chosen

        if source not in self._constants:
            try:
                self._constants[source] = chosen(source, self.config.constants)
            except (SyntaxError, TunableError):
                self._constants[source] = Tunable(source, ())
        return self._constants[source]

    def _needed(self, entrants: Sequence[Candidate]) -> int:
        """Steps that one tuning needs, by the longest episodes that the entrants have played."""
        runs = [c.pooled for c in entrants]
        lengths = [max(run.lengths) for run in runs if run is not None and run.lengths]
        return _NEEDED * max(lengths, default=self.services.spec.horizon)

    def _tuning(self, candidate: Candidate) -> Tuning:
        """A policy's tuning; one that has begun in an earlier round goes on."""
        what = candidate.identity
        if what not in self._tunings:
            known = self._known(candidate.source or "")
            self._tunings[what] = self.services.tuning(candidate, known)
        return self._tunings[what]

    async def _halved(self, entrants: Sequence[Candidate], budget: int) -> list[Tuning]:
        """Tunings of the entrants, spent by successive halving, the best one last."""
        standing = [self._tuning(c) for c in entrants]
        ended: list[Tuning] = []
        parts = 1 if len(standing) == 1 else _PARTS
        for part in range(1, parts + 1):
            share = budget / parts / len(standing)
            tried: list[Tuning] = []
            for tuning in standing:
                self.services.report("state", name=tuning.of.name, state="tuning")
                try:
                    await tuning.advance(tuning.steps + int(share))
                    tried.append(tuning)
                except LimitReached:
                    break
            tried.sort(key=_standing, reverse=True)
            kept = 1 if part == parts - 1 else math.ceil(len(tried) / 2)
            if part < parts:
                ended += tried[kept:]
                tried = tried[:kept]
            standing = tried
            if not standing:
                break
        return [*ended, *standing]


def _standing(tuning: Tuning) -> tuple[bool, float, float]:
    run = tuning.run
    return run.score.key if run is not None else (False, -math.inf, -math.inf)
