"""Which policy a round's episodes would choose, and which is best: what racing is worth.

    python benchmarks/choosing.py RUN [RUN ...] --episodes 120 --draws 200

Every policy of the runs plays ``--episodes`` episodes, whose mean counts as the truth. Then each
round after the first is decided again and again, with episodes drawn from these: the policies that
were written in it, and the best so far. Four ways to choose:

- ``5, not met``: 5 episodes each, the best so far has those of its own round (as published);
- ``5, met``: it plays the round's 5 episodes too, and its score pools both (``--episodes 5``);
- ``raced``: the same, and those that cannot be told apart play on (``--episodes auto``);
- ``20, met``: 20 episodes each.

Of each: how often the best is chosen (or one that is as good within the error of the truth), what
is lost on average by those that are not, and how many episodes a round takes. Episodes of policies
that failed count for nothing; runs in which policies prepare are not for this.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from promptpo import load_run
from promptpo.methods.contest import Contest
from promptpo.policies import Program
from promptpo.racing import standard_error
from promptpo.rollout import LocalExecutor, PlayJob, Settings
from promptpo.store.run import Run
from promptpo.types import Candidate, Episode, Key, Rollout, best_of

WAYS = ("5, not met", "5, met", "raced", "20, met")
#: Seeds that no search has: those of episodes here.
SEEDS = 900_000_000


@dataclass(frozen=True)
class Table:
    """The episodes of each policy, by its text."""

    episodes: dict[str, tuple[Episode, ...]]

    def worth(self, source: str) -> tuple[float, float]:
        """What it is worth, and the error of that: by success where the task has it, or return."""
        values = [_value(e) for e in self.episodes[source]]
        return statistics.fmean(values), standard_error(values)

    def rollout(self, source: str, seeds: Sequence[int]) -> Rollout:
        """What it did in some of the episodes."""
        found = tuple(self.episodes[source][seed] for seed in seeds)
        return Rollout("search", tuple(seeds), found, sum(e.length for e in found))


def _value(episode: Episode) -> float:
    return episode.return_ if episode.success is None else float(episode.success)


def played(run: Run, sources: Sequence[str], count: int) -> Table:
    """All policies on the same seeds; those that fail are left out."""
    config = run.config
    settings = Settings(config.spec, policy_seed=config.policy_seed)
    executor = LocalExecutor(settings)
    seeds = tuple(range(SEEDS, SEEDS + count))

    async def all_of_them() -> dict[str, tuple[Episode, ...]]:
        jobs = [executor.run(PlayJob(source, seeds)) for source in sources]
        runs = await asyncio.gather(*jobs)
        return {s: r.results for s, r in zip(sources, runs, strict=True) if r.error is None}

    try:
        found = asyncio.run(all_of_them())
    finally:
        executor.close()
    numbered = {
        source: tuple(
            Episode(i, e.return_, e.length, e.success, e.error) for i, e in enumerate(results)
        )
        for source, results in found.items()
    }
    return Table(numbered)


def contests(run: Run) -> list[tuple[str, list[str]]]:
    """For each round after the first: the best so far, and what was written in it."""
    found: list[tuple[str, list[str]]] = []
    earlier: list[Candidate] = []
    for round_ in run.rounds:
        sources = [c.source for c in round_.candidates if c.source and not c.score.failed]
        if earlier:
            found.append((str(best_of(earlier).source), list(dict.fromkeys(sources))))
        earlier += [c for c in round_.candidates if c.source and not c.score.failed]
    return found


def chosen(way: str, table: Table, best: str, written: list[str], order: list[int]) -> Any:  # noqa: ANN401
    """The source that a way chooses, and the fresh episodes that it takes."""
    first, most = (20, 20) if way.startswith("20") else (5, 5 + 15 * (way == "raced"))
    before, fresh = order[:first], order[first:]
    taken = [0]

    async def play(program: Program, seeds: Sequence[int], **_: object) -> list[Rollout]:
        taken[0] += len(seeds)
        return [table.rollout(program.parts[0], seeds)]

    config = SimpleNamespace(first_episodes=first, races=most > first, whole=lambda n: n)
    services: Any = SimpleNamespace(
        config=config, seeds=lambda at, count: tuple(fresh[at : at + count]), play=play
    )

    async def decide() -> Candidate:
        contest = Contest(services, 1)
        standing = Candidate(Key(1, 1), best, table.rollout(best, before))
        entrants = [standing if way.endswith("not met") else await contest.meet(standing)]
        for number, source in enumerate(written, 1):
            [run] = await play(Program.of(source), contest.first)
            entrants.append(Candidate(Key(2, number), source, run))
        return best_of(await contest.race(entrants))

    return asyncio.run(decide()).source, taken[0]


def measured(run: Run, count: int, draws: int) -> list[str]:
    """The lines of a run."""
    rounds = contests(run)
    table = played(run, list({s: None for best, new in rounds for s in (best, *new)}), count)
    rng = random.Random(0)  # noqa: S311 - no secret
    hits: dict[str, list[bool]] = defaultdict(list)
    losses: dict[str, list[float]] = defaultdict(list)
    episodes: dict[str, list[int]] = defaultdict(list)
    for best, written in rounds:
        entrants = [s for s in dict.fromkeys((best, *written)) if s in table.episodes]
        if best not in table.episodes or len(entrants) < 2:
            continue
        top = max(entrants, key=lambda s: table.worth(s)[0])
        for _ in range(draws):
            order = rng.sample(range(count), 60)
            for way in WAYS:
                source, taken = chosen(way, table, best, entrants[1:], order)
                loss = table.worth(top)[0] - table.worth(source)[0]
                hits[way].append(loss <= table.worth(top)[1])
                losses[way].append(loss)
                episodes[way].append(taken)
    return [
        f"| {run.spec} | {way} | {statistics.fmean(hits[way]):.2f} | "
        f"{statistics.fmean(losses[way]):.3g} | {statistics.fmean(episodes[way]):.1f} |"
        for way in WAYS
        if hits[way]
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--episodes", type=int, default=120)
    parser.add_argument("--draws", type=int, default=200)
    given = parser.parse_args()
    print("| run | way | the best is chosen | lost on average | episodes a round |")
    print("|---|---|---|---|---|", flush=True)
    for path in given.runs:
        print("\n".join(measured(load_run(path), given.episodes, given.draws)), flush=True)


if __name__ == "__main__":
    main()
