"""The prompts of R2PO's second call: the Critic's, or a search that knows of the first proposal."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING

from promptpo.common.text import plural
from promptpo.config import RunConfig
from promptpo.policies import Vectors
from promptpo.prompts.props import SOME_HISTORY, optimum_line
from promptpo.prompts.task import Messages, filled, objective_words, task_text, template
from promptpo.prompts.words import metric_words
from promptpo.types import Rollout, Trajectory

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

#: A return within this share of the best possible one is a success where a task defines none.
_NEAR = 1e-3

#: Steps of each of three episodes that the Critic sees: half of them from the beginning.
_OF_THREE = 50


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
    goal = f"the {objective_words(spec, config)} rises"
    if spec.defines_success:
        goal = f"more episodes succeed, and where all do, {goal}"
    number = "three episodes" if options.shown == "three" else "one episode"
    least = options.threshold if options.threshold is not None else default_threshold(spec)
    rule = "Leave a policy that does well as it is, or nearly so."
    if least is not None:
        rule = (
            f"If the mean return is {least:.6g} or more, leave the parameters as they are, or make"
            " one very small change for which the episodes give a reason."
        )
    turn = template("r2po/turn").substitute(
        whence="The latest policy has these parameters:"
        if options.critic_only
        else "An optimizer that sees nothing but the numbers above proposed:",
        proposal=proposal,
        episodes=plural(episodes, "episode"),
        statistics=statistics,
        optimum=optimum_line(spec, "The largest mean return that can be had is {}.\n\n"),
        shown=shown,
        beyond=f"; what is shown above is {number} of all of these" if shown else "",
        goal=goal,
        step="" if space.policy.choices else f", each by about {options.step:g}",
        again="the same episodes" if options.same_episodes else "fresh episodes",
        rule=rule,
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


def informed_words(first: str) -> str:
    """Return what a second Search is told of the first proposal and its result."""
    return f"{template('r2po/informed').substitute(first=first).strip()}\n\n"


def statistics_words(spec: EnvSpec, run: Rollout) -> str:
    """Return returns, lengths and successes of all episodes in words."""
    returns, lengths = run.returns, run.lengths
    lines = [
        f"- return: mean {mean(returns):.5g}, lowest {min(returns):.5g},"
        f" highest {max(returns):.5g}",
        f"- steps: mean {mean(lengths):.4g}, fewest {min(lengths)}, most {max(lengths)}"
        f" of {spec.horizon}",
    ]
    if (hits := _successes(spec, run)) is not None:
        what = "" if spec.defines_success else " (a success is a return as high as the largest)"
        lines.append(
            f"- successes: {hits} of {len(returns)}, failures: {len(returns) - hits}{what}"
        )
    lines += [f"- {words}" for words in metric_words(run)]
    return "\n".join(lines)


def _successes(spec: EnvSpec, run: Rollout) -> int | None:
    """Count them as the task defines them, or by its best return; None without either."""
    if spec.defines_success:
        return sum(map(bool, run.successes))
    optimum = spec.reference_scores.get("optimum")
    if optimum is None:
        return None
    best = optimum.mean_return
    least = best - max(1e-6, _NEAR * max(1.0, abs(best)))
    return sum(x >= least for x in run.returns)


def shown_words(
    spec: EnvSpec, config: RunConfig, episodes: Sequence[tuple[str, Trajectory]]
) -> str:
    """Return the episodes that the Critic sees, step by step; each has a title."""
    steps = _OF_THREE if len(episodes) > 1 else config.options.trajectory_steps
    return "".join(
        f"## {title} (return {e.rewards.sum():.5g}, {len(e.rewards)} steps)\n\n"
        f"{episode_text(spec, e, steps)}\n\n"
        for title, e in episodes
    )


def default_threshold(spec: EnvSpec) -> float | None:
    """Return 5% below the best possible mean return, of the way from random actions to it."""
    optimum, chance = (spec.reference_scores.get(name) for name in ("optimum", "random"))
    if optimum is None:
        return None
    worst = chance.mean_return if chance is not None else 0.0
    return optimum.mean_return - 0.05 * abs(optimum.mean_return - worst)


def critic_example(spec: EnvSpec, config: RunConfig, space: Vectors) -> Messages:
    """Return the Critic's prompt with what only a run knows in <brackets>."""
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


def episode_text(spec: EnvSpec, episode: Trajectory, most: int) -> str:
    """Return a line a step: the observation, the action, its reward; three digits each.

    Of more than ``most`` steps the middle ones are left out. What is the same in all lines stands
    once, above them.
    """
    names = observed_names(spec)
    seen = [[_shown(x) for x in row] for row in episode.observations.tolist()]
    moving = [i for i, column in enumerate(zip(*seen, strict=True)) if len(set(column)) > 1]
    still = [f"{names[i]} {seen[0][i]}" for i in range(len(names)) if i not in set(moving)]
    rows = [", ".join(row[i] for i in moving) for row in seen]
    acts = [", ".join(map(_shown, row)) for row in episode.actions.tolist()]
    gains = [_shown(x) for x in episode.rewards.tolist()]
    steps = [f"{t} | {rows[t]} | {acts[t]} | {gains[t]}" for t in range(len(gains))]
    if len(steps) > most:
        first = most // 2
        left = len(steps) - most
        cut = f"... ({left} steps are left out)"
        steps = [*steps[:first], cut, *steps[len(steps) - (most - first) :]]
    head = f"step | {', '.join(names[i] for i in moving)} | action | reward"
    same = [f"The same in every step: {', '.join(still)}."] if still else []
    return "\n".join([*same, head, *steps, f"{len(gains)} | {rows[-1]} | {_end(episode)}"])


def observed_names(spec: EnvSpec) -> list[str]:
    """Return a name for each number of an observation: ``speed``, ``position[0]``."""
    from promptpo.spec import layout

    return [
        f"{item.name}[{i}]" if item.kind == "array" else item.name
        for item in layout(spec.observation)
        for i in range(item.stop - item.start)
    ]


def _end(episode: Trajectory) -> str:
    how = "terminated" if episode.terminated else "the step limit"
    success = {True: ", a success", False: ", no success", None: ""}[episode.success]
    return f"the end: {how}{success}"


def _shown(x: float) -> str:
    return f"{x + 0.0:.3g}"
