"""The messages of every kind of model call."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template
from typing import TYPE_CHECKING

from promptpo.common import bounds
from promptpo.common.plaintext import clean, fenced, shortened
from promptpo.config import RunConfig
from promptpo.llm.messages import Message
from promptpo.prompts.promptpo.focused import LOSER, render_memory, second_in_full
from promptpo.prompts.promptpo.history import render_history
from promptpo.prompts.promptpo.memory import BEST, MEDIAN, WORST, Memory
from promptpo.prompts.promptpo.prepared import (
    LOSERS,
    LOSERS_AND_PROBES,
    NOTHING_FIRST,
    PREPARING,
    PROBES_FIRST,
    probes_of,
)
from promptpo.prompts.promptpo.tuned import DECLARING
from promptpo.prompts.quoting import quoted
from promptpo.prompts.task import filled, imports_text, task_text, template
from promptpo.types import Candidate, Episode, Key, Note, Rollout, Round, best_round

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

Messages = tuple[Message, ...]

_FIRST = "Write the policy now."
_ON = "Write the next policy now, better than all before it."
_SECOND = (
    "Write the next policy now. Other authors go on from the best so far; go on from the second"
    " line of attack, $name, instead: keep what makes it promising, and find out what its failures"
    " lack. It is:\n\n"
)

_LASTS = """all {} episodes

    def reset(self): ...  # may be left out; called between two episodes"""

_TRACE = """
- A class attribute `TRACE = ("phase", "push_at")` names up to 8 attributes of `self`, numbers or
  strings of up to 24 characters, that are recorded at every step for the next policy's author."""

_TRACED = """
- `traj.trace["phase"]`: list of T values of an attribute that the policy chose to record, None
  where it did not; `traj.trace` has the names that it chose. Tell what helps of them."""

_OTHERS = f"""

Of every other policy the authors see the worst episode alone, and of its text the first {LOSER} or
so characters: begin with how the episode ended, and what led to it."""

#: With the reflection a model may send another Feedback class; it sees the one in force.
_REVISION = """
The episodes above were described by this class:

{source}

If it leaves out what the next author needs to know, send a better one after your sentences, whole,
in one fenced Python code block: the same interface, a text of at most {chars} characters an
episode, nothing that stays alike from episode to episode. Send no code if it serves.
"""


def policy_messages(
    spec: EnvSpec,
    config: RunConfig,
    memory: Memory = Memory(),  # noqa: B008 - frozen
    *,
    second: bool = False,
) -> Messages:
    """Ask for a policy, given what earlier rounds showed.

    With ``second`` its author is to go on from the second line of attack, if there is one.

    The task comes first, which never changes, then what has been found, as in the reflection that
    was asked for just before; last what one candidate alone is told: so a provider's prompt cache
    serves as much as can be.
    """
    reflection = ""
    if memory.reflection:
        reflection = f"## Reflection on the last round\n\n{quoted(memory.reflection)}\n\n"
    said = _ON if memory.rounds else _FIRST
    if second and memory.second is not None:
        said = _SECOND.replace("$name", memory.second.name) + second_in_full(
            memory.second, memory.best
        )
    if memory.rounds and config.options.history != "published":
        said = f"This is round {memory.rounds[-1].number + 1} of at most {config.rounds}. {said}"
    return filled(
        "promptpo/policy",
        task=task_text(spec, config),
        history=history_text(spec, config, memory),
        reflection=reflection,
        turn=f"## Your turn\n\n{said}",
        trace=_TRACE if _traces(config) else "",
        lasts=_LASTS.format(life) if (life := config.for_spec(spec).life) > 1 else "one episode",
        prepare=_preparing(config),
        tuning=DECLARING if config.tune else "",
        imports=imports_text(spec),
        act_timeout=f"{config.act_timeout:g}",
        episode_timeout=f"{config.episode_timeout:g}",
    )


def feedback_messages(spec: EnvSpec, config: RunConfig) -> Messages:
    """Ask for the class that turns episodes into text."""
    return filled(
        "promptpo/feedback",
        task=task_text(spec, config),
        imports=imports_text(spec),
        text_chars=bounds.SUMMARY,
        others=_OTHERS if getattr(config.options, "history", "") == "focused" else "",
        trace=_TRACED if _traces(config) else "",
        success="True or False" if spec.success else "None (this task defines no success)",
    )


def reflection_messages(spec: EnvSpec, config: RunConfig, memory: Memory) -> Messages:
    """Ask what the last round has shown."""
    told = {
        "task": task_text(spec, config),
        "history": history_text(spec, config, memory),
        "round": memory.rounds[-1].number,
    }
    if config.options.history == "published":
        return filled("promptpo/published_reflection", **told)
    second = " and on the second line of attack" if memory.second else ""
    revision = ""
    if config.options.revise_feedback and memory.feedback and _unclear(memory):
        source = fenced(memory.feedback.strip(), "python")
        revision = _REVISION.format(source=source, chars=bounds.SUMMARY)
    return filled("promptpo/reflection", **told, second=second, feedback=revision)


def _unclear(memory: Memory) -> bool:
    """Whether texts have been read for the first time, or two rounds brought nothing better."""
    best = best_round(memory.rounds)
    return len(memory.rounds) == 1 or len(memory.rounds) - best.number == 2


def repair_messages(
    asked: Messages,
    reply: str,
    what: str,
    error: str,
    output: str = "",
) -> Messages:
    """Continue a conversation: the reply to ``asked`` failed with ``error``."""
    output, error = _quoted(output, bounds.ERROR), _quoted(error, bounds.ERROR)
    printed = f"\nIt had printed:\n\n{fenced(output)}\n" if output else ""
    text = template("promptpo/repair").substitute(what=what, error=fenced(error), output=printed)
    quoted = shortened(clean(reply), bounds.QUOTE)
    return (*asked, Message("assistant", quoted), Message("user", text.strip()))


def repair_policy_messages(asked: Messages, reply: str, error: str, output: str) -> Messages:
    """The same of a policy."""
    return repair_messages(asked, reply, "policy", error, output)


def reflection_text(reply: str) -> str:
    """What the prompts after a reflection quote of it: its sentences, without code."""
    kept, inside = [], False
    for line in reply.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            inside = not inside
        elif not inside:
            kept.append(line)
    return _quoted("\n".join(kept), bounds.REFLECTION)


def _quoted(text: str, most: int) -> str:
    """Text that a prompt quotes: without what surrounds it, control characters and excess."""
    return shortened(clean(text.strip()), most)


def render_all(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
    """Every stage's messages; what only a run can fill in stands in angle brackets."""
    memory = placeholder_memory(spec, config)
    first = policy_messages(spec, config)
    code = "```python\n<the source that failed>\n```"
    stages = [
        ("feedback", feedback_messages(spec, config)),
        ("policy, round 1", first),
        ("reflection, after round 1", reflection_messages(spec, config, memory)),
        ("policy, round 2 and later", policy_messages(spec, config, memory)),
        ("repair of a policy", repair_messages(first, code, "policy", "<the error>")),
    ]
    if memory.second is not None:
        second = policy_messages(spec, config, memory, second=True)
        stages.insert(4, ("policy, from the second line of attack", second))
    return stages


def placeholder_memory(spec: EnvSpec, config: RunConfig) -> Memory:
    """What a first round might leave, what only a run can fill in in angle brackets."""
    episode = Episode(0, float("nan"), spec.horizon, False if spec.success else None)
    blank = Rollout("search", (), (episode,))
    told = tuple(
        Note(title, f"<what Feedback made of the {title.lower()}>")
        for title in (WORST, MEDIAN, BEST)
    )
    winner = Candidate(Key(1, 1), "<the source of the best policy>", blank, notes=told)
    loser = Candidate(Key(1, 2), None, error="<why candidate 2 failed, or its score>")
    second = None
    if config.options.second_line:
        second = Candidate(Key(1, 3), "<the source of the second line>", blank, notes=told)
    others = (winner, loser, *filter(None, [second]))
    notes = episode_notes(["<what Feedback made of this episode>"])
    published = config.options.history == "published"
    return Memory(
        rounds=(Round(1, others, winner, notes if published else ()),),
        second=second,
        reflection="<the reply to the reflection prompt>",
        feedback="<the Feedback class in force>",
        tuned=("<what tuning a policy found, a paragraph each>",) if config.tune else (),
    )


def episode_notes(texts: Sequence[str]) -> tuple[Note, ...]:
    """What a Feedback class made of a winner's episodes, as notes of its round."""
    return tuple(Note(f"Episode {i}", text) for i, text in enumerate(texts, 1))


def _traces(config: RunConfig) -> bool:
    """Whether policies are told of traces; a method without the option tells nothing."""
    return bool(getattr(config.options, "trace", False))


def _preparing(config: RunConfig) -> str:
    """How a policy learns before it acts; empty where it may not."""
    if not config.prepare_time:
        return ""
    probes = probes_of(config)
    return Template(PREPARING).substitute(
        seconds=f"{config.prepare_time:g}",
        transitions=f"{config.prepare_transitions:,}",
        losers=LOSERS_AND_PROBES if probes else LOSERS,
        first=PROBES_FIRST if probes else NOTHING_FIRST,
    )


def history_text(spec: EnvSpec, config: RunConfig, memory: Memory) -> str:
    """What has been found so far; empty before anything has."""
    if not memory.rounds and not memory.probes:
        return ""  # of another method, too, whose options say nothing of a history
    options = config.options
    if options.history == "published":
        return render_history(memory.rounds, options.history_tokens)
    return render_memory(memory, spec.horizon, options.history_tokens)
