"""The prompts of ProPS and ProPS+, and the words on parameters that R2PO shares with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptpo.common import bounds
from promptpo.common.plaintext import clean, shortened
from promptpo.common.text import plural
from promptpo.config import RunConfig
from promptpo.llm.messages import Message
from promptpo.policies import Entry, Vectors
from promptpo.prompts.task import Messages, filled, task_text, template

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

#: Stands for the history where there is none to show.
SOME_HISTORY = (
    "<a line for each set of parameters that has played: params = [...]: mean ... of ...>"
)


def search_messages(
    spec: EnvSpec,
    config: RunConfig,
    space: Vectors,
    history: str,
    iteration: int | str,
    *,
    described: bool = False,
    before_turn: str = "",
) -> Messages:
    """Ask for parameters by the history of parameters and values, as ``history_lines`` has it.

    ``described``: with the task and what the parameters are (ProPS+). ``before_turn`` is said
    between the history and what is asked.
    """
    task = task_text(spec, config) if described else ""
    turn = template("props/turn").substitute(iteration=iteration, count=space.size, form=space.form)
    return filled(
        "props/search",
        "props/system_plus" if described else "props/system",
        task=f"{task}\n\n" if task else "",
        policy=f"## The policy\n\n{space.policy.meaning}\n\n" if described else "",
        what=_what(spec, described=described),
        noise=_noise(config, described=described),
        count=space.size,
        last=space.size - 1,
        allowed=space.allowed,
        optimum=optimum_line(spec, "- The largest mean that can be had is {}.\n"),
        step=step_words(space, config),
        history=history,
        turn=f"{before_turn}{turn}".strip(),
    )


def _what(spec: EnvSpec, *, described: bool) -> str:
    """What is to be large; to who is told nothing of the task it has no name but f."""
    value = "the policy's mean return is" if described else "f(params) is"
    if not spec.success:
        return value
    share = "the share of episodes that succeed" if described else "the share of successes"
    return f"{share} is as large as can be and, where that is equal, {value}"


def _noise(config: RunConfig, *, described: bool) -> str:
    value = "A mean return" if described else "A value of f"
    each, drawn = ("episode", "episodes") if described else ("draw", "draws")
    return (
        f"Chance plays a part: {value[0].lower()}{value[1:]} is the mean of so many {drawn} as the"
        f" list says, {plural(config.first_episodes, each)} for a proposal."
    )


def history_lines(space: Vectors, history: Sequence[Entry], most: int = 1000) -> str:
    """A line for each of the latest entries, the oldest first."""
    lines = [f"{space.shown(e.values)}: {result_words(e)}" for e in history[-most:]]
    return "\n".join(lines) or "(nothing yet)"


def result_words(entry: Entry) -> str:
    """``mean 123.4 of 20, success 0.35``."""
    rate = "" if entry.success_rate is None else f", success {entry.success_rate:.2f}"
    return f"mean {entry.value:.5g} of {entry.episodes}{rate}"


def optimum_line(spec: EnvSpec, words: str) -> str:
    """What a spec states as the best possible mean return, in these words; else empty."""
    optimum = spec.reference_scores.get("optimum")
    return "" if optimum is None else words.format(f"{optimum.mean_return:.6g}")


def step_words(space: Vectors, config: RunConfig) -> str:
    """How far to go from what is good."""
    if space.policy.choices:
        return "a few parameters"
    return f"parameters by about {config.options.step:g}"


def again_messages(asked: Messages, reply: str, error: str, space: Vectors) -> Messages:
    """Continue a conversation whose reply held no parameters."""
    text = template("props/again").substitute(error=error, count=space.size, form=space.form)
    quoted = shortened(clean(reply), bounds.QUOTE) or "(empty reply)"
    return (*asked, Message("assistant", quoted), Message("user", text.strip()))
