"""INSPO's prompts: PromptPO's, with an instruction at the end, and the reflection on instructions.

The first instructions are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from promptpo.common import bounds
from promptpo.common.plaintext import clean, clean_line, shortened
from promptpo.llm.extraction import ReplyRejected, extract_blocks
from promptpo.llm.messages import Message, Reply
from promptpo.prompts import promptpo
from promptpo.prompts.history import Memory, render_memory
from promptpo.prompts.task import Messages, filled, quoted, task_text, template

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.spec import EnvSpec

#: Characters of an instruction, at most.
LONGEST = 600

#: Characters of an episode or an error, as a reflection is shown it.
_EPISODE = 900


@dataclass(frozen=True)
class Shown:
    """The outcome of a candidate that was written under an ``instruction``, for a reflection.

    ``text`` is its error, or an episode in words, which ``title`` names.
    """

    candidate: str
    instruction: str
    title: str
    text: str


State = Literal["active", "on trial", "rejected", "pruned"]


@dataclass(frozen=True)
class Instruction:
    """A strategy hint that policies are written under, as it stands after a round.

    Attributes:
        state: "active", "on trial", "rejected" or "pruned".
        weight: decides how often it is drawn.
        written: how many candidates that were written under it have moved the weight.
        since: the round before which it was proposed; 0 for those of the start.
        admitted: the round after which it passed its trial; 0 for others.
        ended: the round after which it was rejected or pruned; 0 while it stands.
        why: what its admission, rejection or pruning rests on.
    """

    name: str
    text: str
    state: State = "active"
    weight: float = 0.0
    written: int = 0
    since: int = 0
    admitted: int = 0
    ended: int = 0
    why: str = ""


def first_instructions() -> list[str]:
    """Return the population that a search begins with."""
    text = template("inspo/instructions").template
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def policy_messages(spec: EnvSpec, config: RunConfig, memory: Memory, instruction: str) -> Messages:
    """Return PromptPO's prompt for a policy, and the instruction, which differs by candidate."""
    *rest, last = promptpo.policy_messages(spec, config, memory)
    turn = template("inspo/instruction").substitute(instruction=instruction).strip()
    return (*rest, replace(last, content=f"{last.content}\n\n{turn}"))


def reflection_messages(
    spec: EnvSpec, config: RunConfig, memory: Memory, population: str, shown: Sequence[Shown]
) -> Messages:
    """Ask for new instructions, after the episodes that are ``shown``.

    ``population`` is what ``instructions_text`` makes of the instructions so far.
    """
    history = render_memory(memory, spec.horizon, config.options.history_tokens)
    episodes = [
        f"**{e.candidate}**, written under {e.instruction}. {e.title}: {_told(e.text, history)}"
        for e in shown
    ]
    return filled(
        "inspo/reflection",
        task=task_text(spec, config),
        history=history,
        population=population,
        episodes="\n\n".join(episodes) or "(none yet)",
        **_asked(config),
    )


def reask_messages(asked: Messages, reply: str, error: str, config: RunConfig) -> Messages:
    """Continue a conversation: the reply to ``asked`` holds no instruction that can be used."""
    text = template("inspo/again").substitute(error=error, **_asked(config))
    quoted = shortened(clean(reply.strip()), bounds.QUOTE) or "(empty reply)"
    return (*asked, Message("assistant", quoted), Message("user", text.strip()))


def instructions_in(reply: Reply) -> list[str]:
    """Return the instructions that a reply holds, each on one line.

    Raises ReplyRejected where there is none, or one that is too long.
    """
    texts = [clean_line(" ".join(block.split())) for block in extract_blocks(reply)]
    texts = [text for text in texts if text]
    if not texts:
        raise ReplyRejected("it holds no fenced block with an instruction")
    if long := [text for text in texts if len(text) > LONGEST]:
        raise ReplyRejected(f"an instruction has {len(long[0]):,} characters")
    return texts


def instructions_text(standing: Sequence[Instruction], gone: Sequence[Instruction]) -> str:
    """Return the instructions, the heaviest first, and those that were tried and dropped."""
    ordered = sorted(standing, key=lambda i: -i.weight)
    lines = [
        f"- {i.name}, weight {i.weight:+.2f} (policies under it: {i.written}): {i.text}"
        for i in ordered
    ]
    if gone:
        lines += ["", "Dropped, not to be proposed again:", ""]
        lines += [f"- {i.name}, {i.state} ({i.why}): {i.text}" for i in gone]
    return "\n".join(lines)


def render_all(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
    """Return every stage's messages; what only a run can fill in stands in angle brackets."""
    memory = replace(promptpo.placeholder_memory(spec, config), reflection="")
    code = "```python\n<the source that failed>\n```"
    texts = first_instructions()
    first = policy_messages(spec, config, Memory(), texts[0])
    named = [f"- i{n:02d}, weight <number>: {text}" for n, text in enumerate(texts, 1)]
    blank = "<a failed episode in words, or an error; the first of several>"
    shown = [Shown("<candidate>", "<instruction>", "Worst episode", blank)]
    return [
        ("feedback", promptpo.feedback_messages(spec, config)),
        ("policy, round 1, by the first instruction", first),
        ("reflection, after round 1",
         reflection_messages(spec, config, memory, "\n".join(named), shown)),
        ("policy, round 2 and later",
         policy_messages(spec, config, memory, "<the instruction that was drawn>")),
        ("repair of a policy", promptpo.repair_messages(first, code, "policy", "<the error>")),
    ]  # fmt: skip


def _told(text: str, history: str) -> str:
    """Return the outcome of a candidate, unless the history before it has that in full."""
    text = quoted(text.strip())
    return "as told above." if text in history else shortened(text, _EPISODE)


def _asked(config: RunConfig) -> dict[str, object]:
    count = config.options.proposals
    words = "one new instruction" if count == 1 else f"{count} new instructions"
    return {"count": words, "chars": LONGEST}
