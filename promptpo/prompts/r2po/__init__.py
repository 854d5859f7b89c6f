"""The prompts of R2PO's second call: the Critic's, or a search that knows of the first proposal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from promptpo.common.text import plural
from promptpo.config import RunConfig
from promptpo.policies import Entry, Vectors
from promptpo.prompts.props import (
    SOME_HISTORY,
    Messages,
    history_lines,
    optimum_line,
    result_words,
    search_messages,
)
from promptpo.prompts.r2po.episodes import episode_text
from promptpo.prompts.task import filled, task_text, template
from promptpo.types import Rollout, Trajectory

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

#: A return within this share of the best possible one is a success where a task defines none.
_NEAR = 1e-3

#: Steps of each of three episodes that the Critic sees: half of them from the beginning.
_OF_THREE = 50


@dataclass(frozen=True)
class Shown:
    """An episode that the Critic sees, and what it is among the others."""

    title: str
    episode: Trajectory


def critic_messages(
    spec: EnvSpec,
    config: RunConfig,
    space: Vectors,
    history: str,
    proposal: str,
    statistics: str,
    shown: str,
    episodes: int,
) -> Messages:
    """Ask for a revision of parameters; what they came to in so many episodes is given in words."""
    options = config.options
    always = options.always_revise or options.critic_only
    turn = template("r2po/turn").substitute(
        whence=_LATEST if options.critic_only else _PROPOSED,
        proposal=proposal,
        episodes=plural(episodes, "episode"),
        statistics=statistics,
        optimum=optimum_line(spec, "The largest mean return that can be had is {}.\n\n"),
        shown=shown,
        beyond=f"; what is shown above is {_SHOWN[options.shown]}" if shown else "",
        goal=_MORE_SUCCESS if spec.success else "the mean return rises",
        step="" if space.policy.choices else f", each by about {options.step:g}",
        again="the same episodes" if options.same_episodes else "fresh episodes",
        rule=_rule(spec, options.threshold),
        kept="is kept, whatever it comes to" if always else "the better of the two is kept",
        count=space.size,
        form=space.form,
    )
    return filled(
        "r2po/critic",
        "r2po/system",
        task=task_text(spec, config),
        policy=space.policy.meaning,
        allowed=space.allowed,
        history=history,
        turn=turn.strip(),
    )


_PROPOSED = "An optimizer that sees nothing but the numbers above proposed:"
_LATEST = "The latest policy has these parameters:"
_MORE_SUCCESS = "more episodes succeed, and where all do, the mean return rises"

_SHOWN = {
    "none": "",
    "one": "one episode of all of these",
    "median": "one episode of all of these",
    "three": "three episodes of all of these",
}


def informed_messages(
    spec: EnvSpec,
    config: RunConfig,
    space: Vectors,
    history: str,
    iteration: int | str,
    first: str,
) -> Messages:
    """Ask for a second proposal where the first one and its result are told."""
    told = template("r2po/informed").substitute(first=first)
    return search_messages(
        spec, config, space, history, iteration, before_turn=f"{told.strip()}\n\n"
    )


def first_words(space: Vectors, entry: Entry) -> str:
    """A proposal and its result."""
    return f"{space.shown(entry.values)}: {result_words(entry)}"


def statistics_words(spec: EnvSpec, run: Rollout) -> str:
    """Returns, lengths and successes of all episodes."""
    returns, lengths = run.returns, run.lengths
    lines = [
        f"- return: mean {mean(returns):.5g}, lowest {min(returns):.5g},"
        f" highest {max(returns):.5g}",
        f"- steps: mean {mean(lengths):.4g}, fewest {min(lengths)}, most {max(lengths)}"
        f" of {spec.horizon}",
    ]
    if (hits := _successes(spec, run)) is not None:
        what = "" if spec.success else " (a success is a return as high as the largest)"
        lines.append(
            f"- successes: {hits} of {len(returns)}, failures: {len(returns) - hits}{what}"
        )
    return "\n".join(lines)


def _successes(spec: EnvSpec, run: Rollout) -> int | None:
    """As the task defines them, else by the best possible return; None where neither is stated."""
    if spec.success:
        return sum(map(bool, run.successes))
    optimum = spec.reference_scores.get("optimum")
    if optimum is None:
        return None
    best = optimum.mean_return
    least = best - max(1e-6, _NEAR * max(1.0, abs(best)))
    return sum(x >= least for x in run.returns)


def shown_words(spec: EnvSpec, config: RunConfig, episodes: Sequence[Shown]) -> str:
    """The episodes that the Critic sees, step by step."""
    steps = _OF_THREE if len(episodes) > 1 else config.options.trajectory_steps
    parts = [
        f"## {each.title}\n\n{episode_text(spec, each.episode, steps)}\n\n" for each in episodes
    ]
    return "".join(parts)


def _rule(spec: EnvSpec, threshold: float | None) -> str:
    least = threshold if threshold is not None else default_threshold(spec)
    if least is None:
        return "Leave a policy that does well as it is, or nearly so."
    return (
        f"If the mean return is {least:.6g} or more, leave the parameters as they are, or make one"
        " very small change for which the episodes give a reason."
    )


def default_threshold(spec: EnvSpec) -> float | None:
    """5% below the best possible mean return, of what lies between that and random actions."""
    optimum, chance = (spec.reference_scores.get(name) for name in ("optimum", "random"))
    if optimum is None:
        return None
    worst = chance.mean_return if chance is not None else 0.0
    return optimum.mean_return - 0.05 * abs(optimum.mean_return - worst)


def critic_example(spec: EnvSpec, config: RunConfig, space: Vectors) -> Messages:
    """The Critic's prompt with what only a run knows in <brackets>."""
    titles = {
        "none": [],
        "one": ["A representative episode"],
        "median": ["The median episode"],
        "three": ["The worst episode", "The median episode", "The best episode"],
    }[config.options.shown]
    shown = "".join(f"## {t} (<its return and steps>)\n\n<step by step>\n\n" for t in titles)
    proposal, statistics = "params = <the proposal>", "<returns, steps, successes: mean, extremes>"
    return critic_messages(
        spec, config, space, SOME_HISTORY, proposal, statistics, shown, config.first_episodes
    )


__all__ = [
    "Shown",
    "critic_example",
    "critic_messages",
    "default_threshold",
    "first_words",
    "history_lines",
    "informed_messages",
    "search_messages",
    "shown_words",
    "statistics_words",
]
