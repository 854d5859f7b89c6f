"""R2PO (arXiv 2605.08315): search by numbers, then a revision that has seen what a policy does.

1. Random policies, linear or tables, play one episode each (warm-up).
2. Each iteration: a Search call sees the history of parameters and mean returns alone and proposes
   parameters, which play E episodes. A Critic call, a conversation of its own, sees the task, the
   proposal, statistics of its episodes, the median one step by step with its rewards, and the
   history; it revises the parameters, and leaves those alone that do well (``threshold``). The
   revision plays E fresh episodes. The better of the two enters the history, the revision where
   they are equal.

Where the task defines success, "better" is as everywhere here: by success, then by return. The
options are the variants that the paper compares; ``docs/methods.md`` says where it and its
published code differ, and what is done here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean, median
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from promptpo.config import RunConfig, option
from promptpo.methods.base import Demand, Messages, Method, Services, best_of_all
from promptpo.methods.parameters import (
    ParameterOptions,
    Proposals,
    again_prompt,
    demand,
    guessed_space,
    live_space,
)
from promptpo.policies import Entry, Vectors
from promptpo.prompts import r2po as prompts
from promptpo.prompts.props import SOME_HISTORY, history_lines, search_messages
from promptpo.types import Candidate, Key, Rollout, Round, best_of

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class Options(ParameterOptions):
    """Those of all methods of compact policies, and the paper's variants of the Critic."""

    shown: Literal["none", "one", "median", "three"] = option(
        "median",
        "episodes of the proposal that the Critic sees: none, one (nearest the mean), the median"
        " one, or three (worst, median, best; 25 steps of their beginnings and ends)",
    )
    trajectory_steps: int = option(
        1000, "steps of a shown episode; of longer ones the middle is left out",
        within=(2, 10**6),
    )  # fmt: skip
    threshold: float | None = option(
        None,
        "mean return from which the Critic is to leave parameters alone (default: 5% below the"
        " best possible, where the spec states that, else none)",
    )
    always_revise: bool = option(False, "let the revision enter the history, better or not")
    critic_only: bool = option(
        False, "let the Critic revise the last policy in each iteration, without a Search"
    )
    second_search: Literal["none", "pure", "informed"] = option(
        "none",
        "a Search in place of the Critic: 'pure' sees what the first saw, 'informed' also the first"
        " proposal and its result",
    )
    same_episodes: bool = option(
        False, "let the revision play the proposal's episodes and not fresh ones"
    )


class R2PO(Method):
    """Search, Critic, the better of the two."""

    Options: ClassVar[type[Options]] = Options
    asks_for_policies: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, Any]] = {"rounds": 100, "episodes": 20, "patience": 0}
    fixed: ClassVar[Mapping[str, Any]] = {"candidates": 2}

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.options: Options = services.config.options
        self.proposals = Proposals(services)
        self.history: list[Entry] = []
        #: What the Critic revises where it is alone.
        self.latest: Candidate | None = None

    async def search(self) -> str:
        """Iterations until the last one, a target, the patience or a limit."""
        least = 1 if self.options.critic_only else 0  # for the Critic to begin with
        samples = await self.proposals.warm_up(max(self.options.warm_up, least))
        self.history += self.proposals.entries(samples)
        played = [sample for sample in samples if not sample.score.failed]
        self.latest = best_of(played) if played else None
        while len(self.rounds) < self.config.rounds:
            allowed = await self.services.open_round(self.rounds)
            self.rounds.append(await self._round(len(self.rounds) + 1, allowed))
            self.services.record(self.rounds[-1])
        return "all rounds are done"

    def finalists(self) -> tuple[Candidate, ...]:
        """Return the policies with the best search scores."""
        return best_of_all(self.rounds, self.options.finalists)

    async def _round(self, number: int, allowed: int) -> Round:
        part = 2 * (number - 1)
        if self.options.critic_only and self.latest is not None:
            candidates = [await self._revision(Key(number, 1), self.latest, part)]
        else:
            first = await self._searched(Key(number, 1), part)
            candidates = [first]
            if allowed > 1 and not self.options.critic_only:
                candidates += await self._second(Key(number, 2), first, part)
        winner = self._kept(candidates)
        if not winner.score.failed:
            self.latest = winner
        self.history += self.proposals.entries([winner])
        return Round(number, tuple(candidates), winner)

    async def _second(self, key: Key, first: Candidate, part: int) -> list[Candidate]:
        """The revision of a proposal, none of one that has failed; or another proposal."""
        again = part if self.options.same_episodes else part + 1
        if self.options.second_search != "none":
            return [await self._searched(key, again, first)]
        return [] if first.score.failed else [await self._revision(key, first, again)]

    def _kept(self, candidates: list[Candidate]) -> Candidate:
        """The candidate that enters the history."""
        first, last = candidates[0], candidates[-1]
        revised = self.options.always_revise and not last.score.failed
        return last if revised or last.score >= first.score else first

    async def _searched(self, key: Key, part: int, first: Candidate | None = None) -> Candidate:
        """What a Search proposes, played; ``first`` is the proposal before it, if there is one."""
        space = self.proposals.space
        told = history_lines(space, self.history)
        entries = self.proposals.entries([first]) if first is not None else []
        what = (self.services.spec, self.config, space, told, key.round)
        if entries and self.options.second_search == "informed":
            prompt = prompts.informed_messages(*what, prompts.first_words(space, entries[0]))
        else:
            prompt = search_messages(*what)
        proposal = await self.proposals.propose(
            Key(key.round, key.candidate, role="search"), prompt
        )
        keep = first is None and self.options.shown != "none"
        return await self.proposals.played(proposal, self.proposals.seeds(part), keep=keep)

    async def _revision(self, key: Key, of: Candidate, part: int) -> Candidate:
        """What the Critic makes of a candidate, played."""
        spec, config, space = self.services.spec, self.config, self.proposals.space
        assert of.rollout is not None  # noqa: S101 - it has got through its episodes
        prompt = prompts.critic_messages(
            spec, config, space, history_lines(space, self.history),
            space.shown(self.proposals.values(of)),
            prompts.statistics_words(spec, of.rollout),
            prompts.shown_words(spec, config, await self._shown(of, of.rollout)),
            len(of.rollout.whole),
        )  # fmt: skip
        asked = Key(key.round, key.candidate, role="critic")
        revised = await self.proposals.propose(asked, prompt, "revision", (of.name,))
        keep = self.options.critic_only and self.options.shown != "none"
        return await self.proposals.played(revised, self.proposals.seeds(part), keep=keep)

    async def _shown(self, of: Candidate, run: Rollout) -> list[prompts.Shown]:
        """The episodes that the Critic sees."""
        seeds = chosen(run, self.options.shown)
        episodes = await self.services.episodes(of, list(seeds.values())) if seeds else []
        return [
            prompts.Shown(f"{title} (return {e.rewards.sum():.5g}, {len(e.rewards)} steps)", e)
            for title, e in zip(seeds, episodes, strict=True)
        ]

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """Two calls and two evaluations an iteration, of the Critic alone one."""
        space = guessed_space(spec, config)
        asked = [messages for _, messages in _asked(spec, config, space)]
        return demand(spec, config, space, asked, len(asked))

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Search, Critic, and the answer to a reply without parameters."""
        space = live_space(spec, config)
        asked = _asked(spec, config, space)
        return [*asked, again_prompt(asked[0][1], space)]


def chosen(run: Rollout, shown: str) -> dict[str, int]:
    """Seeds of the episodes that a Critic sees, by what they are among all of a rollout.

    The median one is that whose return is closest to the median of all, the first of several.
    """
    returns = run.returns

    def nearest(value: float) -> int:
        return run.whole[min(range(len(returns)), key=lambda i: abs(returns[i] - value))].seed

    middle = {"The median episode": nearest(median(returns))}
    if shown == "three":
        best = max(range(len(returns)), key=lambda i: (returns[i], i))  # another than the median
        worst = nearest(min(returns))
        return {"The worst episode": worst, **middle, "The best episode": run.whole[best].seed}
    if shown == "one":
        return {"A representative episode": nearest(mean(returns))}
    return middle if shown == "median" else {}


def _asked(spec: EnvSpec, config: RunConfig, space: Vectors) -> list[tuple[str, Messages]]:
    """The prompts of an iteration, what only a run knows in <brackets>."""
    options = config.options
    search = search_messages(spec, config, space, SOME_HISTORY, "<k>")
    critic = ("critic", prompts.critic_example(spec, config, space))
    if options.critic_only:
        return [critic]
    if options.second_search == "none":
        return [("search", search), critic]
    if options.second_search == "informed":
        first = "<the first proposal>: <its result>"
        second = prompts.informed_messages(spec, config, space, SOME_HISTORY, "<k>", first)
        return [("search", search), ("second search", second)]
    return [("search", search), ("second search", search)]
