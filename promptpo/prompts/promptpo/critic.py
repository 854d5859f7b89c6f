"""The prompts of R2PO's Critic, on code: a policy, what it did step by step, and its revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from promptpo.common.plaintext import fenced
from promptpo.config import RunConfig
from promptpo.llm.messages import Message
from promptpo.prompts.promptpo.memory import Memory
from promptpo.prompts.promptpo.prepared import preparation_words
from promptpo.prompts.promptpo.stages import history_text, placeholder_memory, repair_messages
from promptpo.prompts.promptpo.words import lengths_words, paired_words, score_words
from promptpo.prompts.r2po import default_threshold
from promptpo.prompts.r2po.episodes import episode_text
from promptpo.prompts.task import CHARS_PER_TOKEN, filled, imports_text, task_text
from promptpo.racing import paired
from promptpo.types import Candidate, Trajectory

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

Messages = tuple[Message, ...]

_REVISE = (
    "Make the few edits that the episodes justify, one to three; what nothing in them speaks"
    " against stays as it is."
)
_SOLVED = (
    "Its {what} is {value:.5g}, and {least:.5g} counts as solved: leave it as it is, or make one"
    " very small edit for which the episodes give a reason."
)


def critic_messages(
    spec: EnvSpec,
    config: RunConfig,
    memory: Memory,
    of: Candidate,
    best: Candidate | None,
    shown: Mapping[str, Trajectory],
) -> Messages:
    """Ask for a revision of a policy that has played.

    ``best`` is the best policy before it, None where there is none; ``shown`` are episodes of the
    policy by their titles.
    """
    texts = _texts(spec, shown, config.options.critic_tokens * CHARS_PER_TOKEN)
    told = "".join(f"## {title}\n\n{text}\n\n" for title, text in texts.items())
    return _filled(
        spec, config, memory,
        name=of.name,
        source=fenced((of.source or "").strip(), "python"),
        statistics=_statistics(spec, of, best),
        shown=told,
        episodes=len(of.rollout.whole) if of.rollout else 0,
        rule=_rule(spec, config, of),
    )  # fmt: skip


def critic_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
    """The critic's prompts after round 1, what only a run knows in <brackets>."""
    titles = ["The median episode"]
    if config.options.critic_shows == "three":
        titles = ["The worst episode", *titles, "The best episode"]
    told = "".join(f"## {title} (<its result>)\n\n<step by step>\n\n" for title in titles)
    asked = _filled(
        spec, config, placeholder_memory(spec, config),
        name="<its name>", source=fenced("<the source of the policy>", "python"), shown=told,
        episodes="<number>",
        statistics="<score, returns, lengths and successes of all episodes, and beside the best>",
        rule=_REVISE,
    )  # fmt: skip
    again = critic_again(asked, "<the edits that failed>", "<the error>", "")
    return [("critic", asked), ("critic, after a revision that failed", again)]


def critic_again(asked: Messages, reply: str, error: str, output: str) -> Messages:
    """Ask once more after a revision that could not be read or played."""
    return repair_messages(asked, reply, "", error, output, form="promptpo/critic_again")


def _filled(spec: EnvSpec, config: RunConfig, memory: Memory, **values: object) -> Messages:
    return filled(
        "promptpo/critic",
        task=task_text(spec, config),
        history=history_text(spec, config, memory),
        imports=imports_text(spec),
        act_timeout=f"{config.act_timeout:g}",
        episode_timeout=f"{config.episode_timeout:g}",
        **values,
    )


def _statistics(spec: EnvSpec, of: Candidate, best: Candidate | None) -> str:
    """The score with its error, its spread, the lengths, and the difference to the best."""
    run = of.pooled
    if run is None:
        return ""
    lines = [f"- Its score (mean ± standard error, episodes): {score_words(of)}"]
    if (interval := run.return_interval) is not None:
        lines[0] += f"; 95% interval of the mean return {interval.low:.5g} to {interval.high:.5g}"
    lines.append(f"- Returns: lowest {min(run.returns):.5g}, highest {max(run.returns):.5g}")
    mean = sum(run.lengths) / len(run.lengths)
    lines.append(f"- Lengths: {lengths_words(run, spec.horizon)}, mean {mean:.4g}")
    if run.clipped >= 0.05:
        lines.append(f"- {run.clipped:.0%} of its actions were clipped")
    if best is not None and best.pooled is not None and best.name != of.name:
        told = paired(run, best.pooled)
        beside = f" on their common episodes: {paired_words(told)}" if told else ""
        lines.append(f"- Beside the best before it, {best.name} ({score_words(best)}){beside}")
    learned = preparation_words(of)
    return "\n".join(lines) + (f"\n\n{learned}" if learned else "")


def _rule(spec: EnvSpec, config: RunConfig, of: Candidate) -> str:
    """How far the revision is to go: R2PO's rule with a threshold."""
    least = config.target if config.target is not None else default_threshold(spec)
    by_success = of.score.success_rate is not None and config.target is not None
    value = of.score.value if by_success else of.score.mean_return
    if least is None or value < least:
        return _REVISE
    what = "success rate" if by_success else "mean return"
    return _SOLVED.format(what=what, value=value, least=least)


def _texts(spec: EnvSpec, shown: Mapping[str, Trajectory], budget: int) -> dict[str, str]:
    """Episodes step by step, in about so many characters together.

    What does not fit loses steps in its middle.
    """
    each = budget // max(len(shown), 1)
    found = {}
    for title, episode in shown.items():
        steps = len(episode.rewards)
        text = episode_text(spec, episode, steps)
        if len(text) > each:
            text = episode_text(spec, episode, max(2, steps * each // len(text)))
        found[title] = text
    return found
