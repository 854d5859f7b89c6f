"""The phases after every search: selection among finalists, held-out test; and their forecast."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from promptpo.common.concurrency import all_of
from promptpo.common.python_text import code_lines
from promptpo.config import RunConfig
from promptpo.methods import Demand, find_method
from promptpo.racing import paired, undecided
from promptpo.rollout.seeds import episode_seeds
from promptpo.run.playing import Play
from promptpo.run.services import RunServices
from promptpo.spec import EnvSpec, load_spec
from promptpo.store.codec import score_data
from promptpo.types import Candidate, Rollout, Score, best_of, unique

#: Selection episodes that finalists who cannot be told apart play at a time.
_BATCH = 20

#: Finalists that play on after the first episodes, where these have not told them apart.
_ON = 3


async def select(services: RunServices, finalists: Sequence[Candidate]) -> Candidate | None:
    """Return the best of the finalists on selection episodes; None where there is none.

    Those that cannot be told from the best play more of them, as far as the settings allow.
    """
    different = unique([c for c in finalists if not c.score.failed])
    if len(different) < 2 or not services.config.selection[0]:
        best = best_of(different) if different else None
        if services.journal.has("selection"):  # of rounds that do not count any more
            services.journal.write("selection", finalists=[], winner=best.name if best else None)
        return best
    services.report("state", state="selecting", finalists=[c.name for c in different])
    smallest = smallest_difference(services.config, services.spec)
    runs = await _raced(services, different, smallest)
    winner, ties = chosen(different, runs, smallest)
    tie = {"tied": [c.name for c in ties], "smallest_difference": smallest} if ties else {}
    services.journal.write(
        "selection",
        finalists=[
            {"name": c.name, "score": score_data(runs[c.name].score),
             "episodes": len(runs[c.name].seeds)} for c in different
        ],
        winner=winner.name,
        **tie,
    )  # fmt: skip
    return winner


def smallest_difference(config: RunConfig, spec: EnvSpec) -> float | None:
    """Return the smallest difference of return that matters; None where every one does.

    It is a share of what lies between the spec's references for random actions and the optimum or
    the expert. Without these it is 0: policies are tied that did alike in every episode.
    """
    if not config.smallest_difference:
        return None
    means = {name: score.mean_return for name, score in spec.reference_scores.items()}
    most = max((means[name] for name in ("expert", "optimum") if name in means), default=-math.inf)
    return max(config.smallest_difference * (most - means.get("random", math.inf)), 0.0)


async def _raced(
    services: RunServices, finalists: Sequence[Candidate], smallest: float | None
) -> dict[str, Rollout]:
    """Return each finalist's rollout by name, once they are told apart or no more are allowed.

    Those that are tied with the best play no more. Where all are tied after half of the first
    episodes, and have succeeded in each, only the one to be chosen plays the other half; if it
    fails there, all do.
    """
    first, most = services.config.selection
    seeds = episode_seeds(services.config.seed, "selection", most, life=services.config.life)
    named, runs = {c.name: c for c in finalists}, dict[str, Rollout]()
    names, end = list(named), first

    async def play(name: str, end: int) -> None:
        begun = [runs[name]] if name in runs else []
        left = seeds[sum(len(run.seeds) for run in begun) : end]
        if left:
            c = named[name]
            new = await services.player.play_alone(Play.of(c, "selection", left), c.key)
            runs[name] = Rollout.pooled((*begun, new))

    if smallest is not None and first < most:
        half = services.config.whole(first // 2)
        await all_of(play(name, half) for name in names)
        winner, ties = chosen(finalists, runs, smallest)
        if len(ties) == len(names) and _always_succeed(runs):
            await play(winner.name, first)
            if _always_succeed(runs):
                return runs
        names = [name for name in names if not runs[name].score.failed]
    while len(names) > 1:
        await all_of(play(name, end) for name in names)
        racing = {name: runs[name] for name in names}
        alike = undecided(racing, by_success=True, smallest=smallest)
        names = sorted(alike, key=lambda n: (_surely(runs[n]), runs[n].score), reverse=True)[:_ON]
        if end == most:
            break
        end = min(end + services.config.whole(_BATCH), most)
    return runs


def _always_succeed(runs: Mapping[str, Rollout]) -> bool:
    return all(r.error is None and all(e.success for e in r.whole) for r in runs.values())


def chosen(
    finalists: Sequence[Candidate], runs: Mapping[str, Rollout], smallest: float | None = None
) -> tuple[Candidate, list[Candidate]]:
    """Return the winner among finalists, and those that were tied, itself among them.

    The best has the highest lower bound of success, Wilson's. Those that cannot be told from it by
    success are told by mean return, or by that of the worst tenth; where the task defines no
    success, that decides alone. Of those that are tied with the best, by the ``smallest``
    difference that matters, the one with the fewest lines of code wins, then the best of these.
    """
    standing = [c for c in finalists if not runs[c.name].score.failed] or list(finalists)
    safest = max(standing, key=lambda c: _surely(runs[c.name]))
    alike = [
        c for c in standing
        if c is safest or not _beats(runs[safest.name], runs[c.name])
    ]  # fmt: skip

    def rank(c: Candidate) -> tuple[float, Score, int]:
        return runs[c.name].score.ranked, c.score, -finalists.index(c)

    best = max(alike, key=rank)
    if smallest is None:
        return best, []
    ties = [c for c in standing if c is best or _tied(runs[best.name], runs[c.name], smallest)]
    by_rank = sorted(ties, key=rank, reverse=True)
    return min(by_rank, key=lambda c: code_lines(c.source or "")), ties if len(ties) > 1 else []


def _tied(a: Rollout, b: Rollout, smallest: float) -> bool:
    difference = paired(a, b)
    return difference is not None and difference.tied(smallest)


def _surely(run: Rollout) -> float:
    """Return the lower bound of the success rate; 0 where the task defines none."""
    interval = run.success_interval
    return interval.low if interval else 0.0


def _beats(a: Rollout, b: Rollout) -> bool:
    """Return whether one succeeds more often than another beyond noise, or played on after it."""
    if not a.successes or a.successes[0] is None:
        return False
    if len(b.whole) < len(a.whole):
        return True
    difference = paired(a, b)
    if difference is None or difference.successes is None:
        return False
    return difference.successes.sign > 0


async def test(services: RunServices, candidate: Candidate) -> Rollout | None:
    """Play the held-out episodes of the winner; None where the run asks for none.

    Where it asks for none any more, those that are on record stand.
    """
    config, player, tested = services.config, services.player, services.run.tested
    seeds = episode_seeds(config.seed, "test", config.held_out, life=config.life)
    if not seeds and tested is not None and tested[0].identity == candidate.identity:
        seeds = tested[1].seeds
    if not seeds or candidate.source is None:
        return None
    services.report("state", state="testing", finalists=[candidate.name])
    play = Play.of(candidate, "test", seeds)
    run = await player.play_alone(play, candidate.key)
    parts = [player.digest(part) for part in player.on_record(play)]
    more = {} if parts == [player.digest(play)] else {"parts": parts, "episodes": len(seeds)}
    services.journal.write("test", name=candidate.name, digest=player.digest(play), **more)
    return run


@dataclass(frozen=True)
class Forecast:
    """The demand of a run before it starts (``--dry-run``); steps are the most there can be.

    ``search`` is None where the method does not say what it will ask for. Tokens are rough: four
    characters a token, prompts that grow up to the history's budget.
    """

    search: Demand | None
    selection_steps: int
    test_steps: int

    @property
    def steps(self) -> int:
        """Environment steps of the whole run."""
        search = self.search.search_steps if self.search else 0
        return search + self.selection_steps + self.test_steps


def forecast(config: RunConfig) -> Forecast:
    """Return the demand of a run with these settings. Raises SpecError."""
    spec = load_spec(config.spec, published=config.published_prompt, limit=config.env_timeout)
    config = config.for_spec(spec)
    demand = find_method(config.method).forecast(spec, config)
    count = demand.finalists if demand else config.rounds
    finalists = count if count > 1 else 0
    return Forecast(
        search=demand,
        selection_steps=finalists * config.selection[1] * spec.horizon,
        test_steps=config.held_out * spec.horizon,
    )
