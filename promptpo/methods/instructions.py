"""A population of instructions: drawn by weight, moved by what is written under them, pruned.

Of a round's candidates, i has the score ``s_i``: the mean over its opponents j of +1 where it did
better than j, -1 where it did worse, 0 where they did alike, on the episodes with which the round
began. Opponents are the round's other candidates and the best policy before it. An instruction
moves by the mean ``s`` of the round's candidates that drew it: ``w <- w + step * (s - w)``, and is
drawn with a probability proportional to ``exp(w / temperature)``.

A new instruction is on trial for a round: some candidates are written under it undrawn. It is
admitted unless what they did, less the mean of the population's candidates on the same episodes,
is below 0 beyond noise (Student's t of the episodes' differences, 95%), or none got through.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from promptpo.common.lives import in_lives
from promptpo.racing import Difference, Paired, standard_error
from promptpo.types import Draw, Instruction, Population, Rollout, Score

if TYPE_CHECKING:
    from promptpo.methods.inspo import Options

#: Instructions that are gone and still told of, so that they are not proposed again.
_REMEMBERED = 6


class Instructions:
    """Those that are active or on trial, by name; ``gone`` are the latest of the others."""

    def __init__(self, texts: Sequence[str], options: Options) -> None:
        self.options = options
        self.standing: dict[str, Instruction] = {}
        self.gone: tuple[Instruction, ...] = ()
        self._count = 0
        for text in texts:
            self._add(Instruction(self._name(), text))

    @property
    def active(self) -> list[Instruction]:
        """Those that are drawn."""
        return [i for i in self.standing.values() if i.state == "active"]

    @property
    def on_trial(self) -> list[Instruction]:
        """Those that have to show what is written under them."""
        return [i for i in self.standing.values() if i.state == "on trial"]

    def chances(self) -> dict[str, float]:
        """With what probability each active one is drawn, by name."""
        highest = max(i.weight for i in self.active)
        temperature = self.options.draw_temperature
        powers = {i.name: math.exp((i.weight - highest) / temperature) for i in self.active}
        return {name: power / sum(powers.values()) for name, power in powers.items()}

    def draw(self, candidates: Sequence[str], generator: random.Random) -> list[Draw]:
        """What each candidate is written under: the last ones under what is on trial."""
        chances = self.chances()
        tried = [i.name for i in self.on_trial for _ in range(self.options.trials)]
        tried = tried[: len(candidates) - 1]  # one at least for them to be held against
        free = candidates[: len(candidates) - len(tried)]
        names = generator.choices([*chances], [*chances.values()], k=len(free))
        drawn = [Draw(c, name, chances[name]) for c, name in zip(free, names, strict=True)]
        rest = candidates[len(free) :]
        return drawn + [Draw(c, name) for c, name in zip(rest, tried, strict=True)]

    def propose(self, texts: Sequence[str], round_: int) -> list[str]:
        """Put new texts on trial; says which were new."""
        known = {_words(i.text) for i in (*self.standing.values(), *self.gone)}
        new = [text for text in texts if _words(text) not in known][: self.options.proposals]
        for text in new:
            self._add(Instruction(self._name(), text, "on trial", since=round_))
        return new

    def settle(
        self, round_: int, draws: Sequence[Draw], runs: Mapping[str, Rollout], best: Rollout | None
    ) -> Population:
        """Move the weights, decide on what was on trial, and prune.

        ``runs`` are what the round's candidates did, by name; one that failed has the error. Those
        that did not get to play are missing. ``best`` is the best policy before on these episodes.
        """
        scores = standings({name: run.score for name, run in runs.items()}, best)
        draws = [replace(d, score=scores.get(d.candidate)) for d in draws]
        start = sum(i.weight for i in self.active) / len(self.active)
        for one in self.on_trial:
            self._set(replace(one, weight=start))
        for one in [*self.standing.values()]:
            if found := [
                d.score for d in draws if d.instruction == one.name and d.score is not None
            ]:
                moved = one.weight + self.options.weight_step * (_mean(found) - one.weight)
                self._set(replace(one, weight=moved, written=one.written + len(found)))
        others = [runs[d.candidate] for d in draws if d.chance is not None and d.candidate in runs]
        tried = self.on_trial
        for one in tried:
            own = [runs[d.candidate] for d in draws
                   if d.instruction == one.name and d.candidate in runs]  # fmt: skip
            if own:
                self._set(_decided(one, own, others))
        admitted = tuple(i.name for i in tried if self.standing[i.name].state == "active")
        self._prune(round_)
        population = Population(round_, tuple(self.standing.values()), tuple(draws), admitted)
        left = [i for i in self.standing.values() if i.state in ("rejected", "pruned")]
        self.standing = {n: i for n, i in self.standing.items() if i not in left}
        self.gone = (*self.gone, *left)[-_REMEMBERED:]
        return population

    def _prune(self, round_: int) -> None:
        """Take out the worst where it is time, or where there are too many."""
        due = self.options.prune_every and round_ % self.options.prune_every == 0
        for number in range(len(self.active)):
            many = len(self.active) > self.options.most
            pruned = due and number < self.options.prune and len(self.active) > self.options.fewest
            known = [i for i in self.active if i.written and i.since != round_]
            if not known or not (many or pruned):
                return
            worst = min(known, key=lambda i: i.weight)
            why = f"the lowest weight of {len(self.active)} active ones"
            self._set(replace(worst, state="pruned", why=why))

    def _name(self) -> str:
        self._count += 1
        return f"i{self._count:02d}"

    def _add(self, one: Instruction) -> None:
        self.standing[one.name] = one

    _set = _add


def standings(scores: Mapping[str, Score], best: Rollout | None = None) -> dict[str, float]:
    """``s`` of each candidate, -1 to 1; 0 where it has no opponent."""
    found = {}
    for name, own in scores.items():
        others = [other for rival, other in scores.items() if rival != name]
        others += [best.score] if best is not None else []
        signs = [(own > other) - (own < other) for other in others]
        found[name] = _mean(signs) if signs else 0.0
    return found


def less_mean(tried: Sequence[Rollout], others: Sequence[Rollout]) -> Paired | None:
    """The mean of some policies less that of others, episode by episode.

    Those that failed are left out, and where a policy object lives through several episodes, its
    lives are the pairs. None where these are fewer than two.
    """
    mine, theirs = _by_seed(tried), _by_seed(others)
    pairs = [(seed, _less(mine[seed], theirs[seed])) for seed in mine if seed in theirs]
    lives = in_lives(pairs, tried[0].life, lambda pair: pair[0]) if pairs else []
    if len(lives) < 2:
        return None
    returns, hits = ([_mean([d[part] for _, d in life]) for life in lives] for part in (0, 1))
    defined = all(e.success is not None for run in tried for e in run.whole)
    return Paired(_difference(returns), _difference(hits) if defined else None)


def _decided(one: Instruction, own: Sequence[Rollout], others: Sequence[Rollout]) -> Instruction:
    """An instruction on trial, admitted or rejected, with what that rests on."""
    through = [run for run in own if not run.score.failed]
    if not through:
        return replace(one, state="rejected", why="nothing written under it got through")
    told = less_mean(through, [run for run in others if not run.score.failed])
    if told is None:
        return replace(one, state="active", why="too few episodes to hold it against others")
    by_success = told.successes is not None and (told.successes.mean or told.successes.error)
    shown, what = (told.successes, "success") if by_success else (told.returns, "return")
    assert shown is not None  # noqa: S101 - looked at above
    error = f" ± {shown.error:.2g}" if shown.error > 0 else ""
    why = f"{what} {shown.mean:+.4g}{error} against the population's mean"
    return replace(one, state="rejected" if told.sign < 0 else "active", why=why)


def _by_seed(runs: Sequence[Rollout]) -> dict[int, tuple[float, float]]:
    """The mean return and share of successes of several policies in each episode."""
    found: dict[int, list[tuple[float, float]]] = {}
    for episode in (e for run in runs for e in run.whole):
        found.setdefault(episode.seed, []).append((episode.return_, float(bool(episode.success))))
    return {seed: (_mean([r for r, _ in v]), _mean([s for _, s in v])) for seed, v in found.items()}


def _less(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return a[0] - b[0], a[1] - b[1]


def _difference(values: Sequence[float]) -> Difference:
    return Difference(_mean(values), standard_error(values), len(values))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _words(text: str) -> str:
    return " ".join(text.lower().split())
