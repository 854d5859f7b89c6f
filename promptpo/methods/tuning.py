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
from functools import cached_property
from typing import TYPE_CHECKING

from promptpo.errors import LimitReached
from promptpo.methods.base import Services, Tuning
from promptpo.prompts.words import tuning_words
from promptpo.types import Candidate, Key, Note

if TYPE_CHECKING:
    from promptpo.policies.constants import Scale, Tunable

#: Policies that a round begins to tune, at most, and parts in which it spends its steps.
ENTRANTS, _PARTS = 4, 3

#: Episodes that a tuning takes to get anywhere: a first judgement, some samples, another judgement.
_NEEDED = 80

#: Title of the note on a candidate that was tuned.
TUNING = "Tuning"


class TuningStage:
    """The choice of the policies of a run that are tuned, and their constants.

    ``words`` are paragraphs on the latest round's tunings.
    """

    def __init__(self, services: Services) -> None:
        self.services = services
        self.config = services.config
        self._constants: dict[str, Tunable] = {}
        self._tunings: dict[object, Tuning] = {}
        self._refused: set[str] = set()
        self.words: tuple[str, ...] = ()

    @cached_property
    def _scales(self) -> dict[str, Scale] | None:
        """Return the bounds that ranges are taken from; None where magnitude alone decides."""
        from promptpo.policies.constants import scales_of

        everywhere = self.config.constants_in == "everywhere"
        spec, actions = self.services.spec, self.services.task.actions
        return scales_of(spec, actions) if everywhere else None

    def plain(self, candidate: Candidate) -> Candidate:
        """Return a candidate with plain numbers in place of declarations.

        One whose declarations are refused has the reason as its error.
        """
        source = candidate.source
        if not self.config.tune or source is None:
            return candidate
        from promptpo.common.python_text import Unreadable
        from promptpo.policies.constants import WORD, TunableError, chosen

        try:
            tunable = chosen(source, self.config.constants, self._scales)
        except TunableError as e:
            error = str(e)
        except Unreadable as e:
            if WORD not in source:  # it can be played all the same
                return candidate
            error = f"its constants cannot be found: {e.msg}"
        except SyntaxError:  # the compiler's words on it are better
            return candidate
        else:
            self._constants[tunable.source] = tunable
            return replace(candidate, source=tunable.source)
        self._refused.add(source)
        return replace(candidate, error=error)

    def refuses(self, candidate: Candidate) -> bool:
        """Return whether a candidate has not been played for its declarations."""
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
        """Tune a round's candidates and the best so far; return the new ones, not played yet.

        It takes a ``share`` of the steps that are left, or all of them where only these get
        anywhere. Where they do not it tunes the ``least`` number of policies all the same, if the
        steps are enough for the shortest tuning.
        """
        from promptpo.policies.constants import with_ranges_of

        self.words = ()
        left = self.services.tuning_left
        budget = int(left * share)
        entrants = self._entrants(candidates, best) if budget else []
        length = self._length(entrants)
        needed = _NEEDED * length
        if budget < needed <= left:
            budget = left
        enough = self._fewest(entrants) * length if least else needed
        fitting = max(budget // needed, least) if budget >= enough else 0
        if entrants and not fitting:
            notice = f"round {number} tunes nothing: {budget:,} steps of tuning are too few for"
            text = f"{notice} episodes of {length:,} steps; it takes {enough:,}"
            self.services.report("notice", text=text)
        if not entrants or not fitting:
            return []
        new: list[Candidate] = []
        for tuning in await self._halved(entrants[: min(ENTRANTS, fitting)], budget):
            tuned, account = await tuning.finish()
            key = Key(number, len(candidates) + len(new) + 1)
            text = tuning_words(tuning.of.name, account, key.name if account.plays_on else "")
            self.words = (*self.words, text)
            if account.plays_on and tuned.source is not None:
                ranges = self.tunable(tuning.of.source or "")
                self._constants[tuned.source] = with_ranges_of(tuned.source, ranges)
                new.append(replace(tuned, key=key, notes=(Note(TUNING, text),)))
        return new

    def tunable(self, source: str) -> Tunable:
        """Return a policy's constants; those of one that this run has not written are found."""
        from promptpo.policies.constants import Tunable, TunableError, chosen

        if source not in self._constants:
            try:
                self._constants[source] = chosen(source, self.config.constants, self._scales)
            except (SyntaxError, TunableError):
                self._constants[source] = Tunable(source, ())
        return self._constants[source]

    def _entrants(self, candidates: Sequence[Candidate], best: Candidate | None) -> list[Candidate]:
        """Return those that can be tuned, the best first, each text once."""
        able = {
            c.identity: c
            for c in reversed([*([best] if best else []), *candidates])
            if c.source is not None and not c.score.failed and self.tunable(c.source).constants
        }
        return sorted(able.values(), key=lambda c: c.score, reverse=True)

    def _length(self, entrants: Sequence[Candidate]) -> int:
        """Return the steps of the longest episode that entrants have played."""
        runs = [c.pooled for c in entrants]
        lengths = [max(run.lengths) for run in runs if run is not None and run.lengths]
        return max(lengths, default=self.services.spec.horizon)

    def _fewest(self, entrants: Sequence[Candidate]) -> int:
        """Return the episodes of the shortest tuning of the first of these; none where closed."""
        from promptpo.tuning.tuner import fewest_episodes

        if self.config.last_word == "closed" or not entrants:
            return 0
        return fewest_episodes(len(self.tunable(entrants[0].source or "").constants))

    async def _halved(self, entrants: Sequence[Candidate], budget: int) -> list[Tuning]:
        """Tune the entrants by successive halving; return their tunings, the best one last."""
        standing = []
        for candidate in entrants:  # a tuning that has begun in an earlier round goes on
            if candidate.identity not in self._tunings:
                tunable = self.tunable(candidate.source or "")
                self._tunings[candidate.identity] = self.services.tuning(candidate, tunable)
            standing.append(self._tunings[candidate.identity])
        ended: list[Tuning] = []
        parts = 1 if len(standing) == 1 else _PARTS
        for part in range(1, parts + 1):
            share = budget / parts / max(len(standing), 1)
            tried: list[Tuning] = []
            for tuning in standing:
                self.services.report("state", name=tuning.of.name, state="tuning")
                try:
                    await tuning.advance(tuning.steps + int(share))
                    tried.append(tuning)
                except LimitReached:
                    break
            worst = (False, -math.inf, -math.inf)
            tried.sort(key=lambda t: t.run.score.key if t.run is not None else worst, reverse=True)
            if part < parts:
                left = 1 if part == parts - 1 else math.ceil(len(tried) / 2)
                ended += tried[left:]
                tried = tried[:left]
            standing = tried
        return [*ended, *standing]
