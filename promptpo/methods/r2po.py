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
from promptpo.methods.base import Services
from promptpo.methods.parameters import ParameterMethod, ParameterOptions
from promptpo.policies import Vectors
from promptpo.prompts import r2po as prompts
from promptpo.prompts.props import SOME_HISTORY, history_lines, result_line, search_messages
from promptpo.prompts.task import Messages
from promptpo.types import Candidate, Key, Rollout, Round, best_of

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class Options(ParameterOptions):
    """Options of all methods of compact policies, and the variants of the Critic."""

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


class R2PO(ParameterMethod):
    """Search, Critic, the better of the two."""

    Options: ClassVar[type[Options]] = Options
    defaults: ClassVar[Mapping[str, Any]] = {"rounds": 100, "episodes": 20, "patience": 0}
    fixed: ClassVar[Mapping[str, Any]] = {"candidates": 2}

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.options: Options = services.config.options
        #: What the Critic revises where it is alone.
        self.latest: Candidate | None = None

    async def search(self) -> None:
        """Play iterations until the last one, a target, the patience or a limit."""
        options = self.options
        least = 1 if options.critic_only else 0  # for the Critic to begin with
        samples = await self.warm_up(max(options.warm_up, least))
        played = [sample for sample in samples if not sample.score.failed]
        self.latest = best_of(played) if played else None
        async for number, count in self.next_rounds():
            part = 2 * (number - 1)
            if options.critic_only and self.latest is not None:
                candidates = [await self._revised(Key(number, 1), self.latest, part)]
            else:
                candidates = [await self._searched(Key(number, 1), part)]
                if count > 1 and not options.critic_only:
                    candidates += await self._second(Key(number, 2), candidates[0], part)
            first, last = candidates[0], candidates[-1]
            revised = options.always_revise and not last.score.failed
            winner = last if revised or last.score >= first.score else first
            if not winner.score.failed:
                self.latest = winner
            self.history += self.entries([winner])
            self.rounds.append(Round(number, tuple(candidates), winner))

    async def _second(self, key: Key, first: Candidate, part: int) -> list[Candidate]:
        """Return the revision of a proposal, none of one that has failed; or another proposal."""
        again = part if self.options.same_episodes else part + 1
        if self.options.second_search != "none":
            return [await self._searched(key, again, first)]
        return [] if first.score.failed else [await self._revised(key, first, again)]

    async def _searched(self, key: Key, part: int, first: Candidate | None = None) -> Candidate:
        """Play what a Search proposes; ``first`` is the proposal before it, if there is one."""
        space = self.space
        before = ""
        if first is not None and self.options.second_search == "informed":
            for entry in self.entries([first]):
                before = prompts.informed_words(result_line(space, entry))
        prompt = search_messages(
            self.services.spec, self.config, space, history_lines(space, self.history), key.round,
            before_turn=before,
        )  # fmt: skip
        proposal = await self.propose(Key(key.round, key.candidate, role="search"), prompt)
        keep = first is None and self.options.shown != "none"
        return await self.played(proposal, self.seeds(part), keep=keep)

    async def _revised(self, key: Key, of: Candidate, part: int) -> Candidate:
        """Play what the Critic makes of a candidate."""
        spec, config, space, run = self.services.spec, self.config, self.space, of.rollout
        assert run is not None  # noqa: S101 - it has got through its episodes
        seeds = chosen(run, self.options.shown)
        episodes = await self.services.episodes(of, list(seeds.values())) if seeds else []
        prompt = prompts.critic_messages(
            spec, config, space, history_lines(space, self.history),
            space.shown(self.values(of)),
            prompts.statistics_words(spec, run),
            prompts.shown_words(spec, config, list(zip(seeds, episodes, strict=True))),
            len(run.whole),
        )  # fmt: skip
        asked = Key(key.round, key.candidate, role="critic")
        revision = await self.propose(asked, prompt, "revision", (of.name,))
        keep = self.options.critic_only and self.options.shown != "none"
        return await self.played(revision, self.seeds(part), keep=keep)

    @staticmethod
    def iteration(spec: EnvSpec, config: RunConfig, space: Vectors) -> list[tuple[str, Messages]]:
        """Return the prompts of Search and Critic; of the Critic alone, or of two Searches."""
        options = config.options
        search = search_messages(spec, config, space, SOME_HISTORY, "<k>")
        critic = ("critic", prompts.critic_example(spec, config, space))
        if options.critic_only:
            return [critic]
        if options.second_search == "none":
            return [("search", search), critic]
        second = search
        if options.second_search == "informed":
            before = prompts.informed_words("<the first proposal>: <its result>")
            second = search_messages(spec, config, space, SOME_HISTORY, "<k>", before_turn=before)
        return [("search", search), ("second search", second)]


def chosen(run: Rollout, shown: str) -> dict[str, int]:
    """Return the seeds of the episodes that a Critic sees, by their titles.

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
