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
from promptpo.prompts.task import Messages, filled, objective_words, task_text, template

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
    options, task = config.options, f"{task_text(spec, config)}\n\n" if described else ""
    turn = template("props/turn").substitute(iteration=iteration, count=space.size, form=space.form)
    # To who is told nothing of the task its value has no name but f.
    goal = f"the policy's {objective_words(spec, config)} is" if described else "f(params) is"
    if spec.defines_success:
        share = "the share of episodes that succeed" if described else "the share of successes"
        goal = f"{share} is as large as can be and, where that is equal, {goal}"
    value, each = ("a mean return", "episode") if described else ("a value of f", "draw")
    return filled(
        "props/search",
        "props/system_plus" if described else "props/system",
        task=task,
        policy=f"## The policy\n\n{space.policy.meaning}\n\n" if described else "",
        what=goal,
        noise=f"Chance plays a part: {value} is the mean of so many {each}s as the list says,"
        f" {plural(config.first_episodes, each)} for a proposal.",
        count=space.size,
        last=space.size - 1,
        allowed=space.allowed,
        optimum=optimum_line(spec, "- The largest mean that can be had is {}.\n"),
        step="a few parameters"
        if space.policy.choices
        else f"parameters by about {options.step:g}",
        history=history,
        turn=f"{before_turn}{turn}".strip(),
    )


def history_lines(space: Vectors, history: Sequence[Entry], most: int = 1000) -> str:
    """Return a line for each of the latest entries, the oldest first."""
    return "\n".join(result_line(space, e) for e in history[-most:]) or "(nothing yet)"


def result_line(space: Vectors, entry: Entry) -> str:
    """Return ``params = [...]: mean 123.4 of 20, success 0.35``."""
    rate = "" if entry.success_rate is None else f", success {entry.success_rate:.2f}"
    result = f"mean {entry.value:.5g} of {entry.episodes}{rate}"
    return f"{space.shown(entry.values)}: {result}"


def optimum_line(spec: EnvSpec, words: str) -> str:
    """Return what a spec states as the best possible mean return, in these words; else empty."""
    optimum = spec.reference_scores.get("optimum")
    return "" if optimum is None else words.format(f"{optimum.mean_return:.6g}")


def again_messages(asked: Messages, reply: str, error: str, space: Vectors) -> Messages:
    """Continue a conversation whose reply held no parameters."""
    text = template("props/again").substitute(error=error, count=space.size, form=space.form)
    quoted = shortened(clean(reply), bounds.QUOTE) or "(empty reply)"
    return (*asked, Message("assistant", quoted), Message("user", text.strip()))
