"""PromptPO's prompts: for Feedback, policies, reflections and repairs; and their size in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from promptpo.common import bounds
from promptpo.common.plaintext import clean, fenced, shortened
from promptpo.config import RunConfig
from promptpo.llm.messages import Message
from promptpo.prompts.history import (
    BEST,
    LOSER,
    MEDIAN,
    REFLECTION,
    WORST,
    Memory,
    render_history,
    render_memory,
    second_in_full,
)
from promptpo.prompts.task import (
    Messages,
    filled,
    imports_text,
    message_tokens,
    quoted,
    task_text,
    template,
)
from promptpo.types import Candidate, Episode, Key, Note, Rollout, Round, best_round

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

#: Episodes of each probe where nothing is said and candidates may prepare: their first data.
_PROBES = 2

#: Candidates and episodes of each round, in the history, that the size of prompts is taken from,
#: where there are more; and rounds.
_LOOKED_AT, _ROUNDS = 20, 200


def probes_of(config: RunConfig) -> int:
    """Return how many episodes each probe plays; a method without the option has none."""
    asked: int | None = getattr(config.options, "probe", 0)
    if asked is None:
        return _PROBES if config.prepare_time else 0
    return asked


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
    turn = "Write the policy now."
    if second and memory.second is not None:
        turn = (
            "Write the next policy now. Other authors go on from the best so far; go on from the"
            f" second line of attack, {memory.second.name}, instead: keep what makes it promising,"
            " and find out what its failures lack. It is:\n\n"
        ) + second_in_full(memory.second, memory.best)
    elif memory.rounds:
        turn = "Write the next policy now, better than all before it."
    if memory.rounds and config.options.history != "published":
        turn = f"This is round {memory.rounds[-1].number + 1} of at most {config.rounds}. {turn}"
    lasts, life = "one episode", config.for_spec(spec).life
    if life > 1:
        lasts = (
            f"all {life} episodes\n\n"
            "    def reset(self): ...  # may be left out; called between two episodes"
        )
    return filled(
        "promptpo/policy",
        task=task_text(spec, config),
        history=_history(spec, config, memory),
        reflection=reflection,
        turn=f"## Your turn\n\n{turn}",
        trace=_part("trace", getattr(config.options, "trace", False)),
        lasts=lasts,
        prepare=_part("prepare", config.prepare_time, **_data_words(config)),
        tuning=_part("tuning", config.tune),
        imports=imports_text(spec),
        act_timeout=f"{config.act_timeout:g}",
        episode_timeout=f"{config.episode_timeout:g}",
    )


def _part(name: str, wanted: object, **values: object) -> str:
    """Return a part of a prompt, after a line break; empty where it is not wanted."""
    if not wanted:
        return ""
    return "\n" + template(f"promptpo/{name}").substitute(values).rstrip("\n")


def _data_words(config: RunConfig) -> dict[str, str]:
    """Return what is said of the data from which a policy learns before it acts."""
    probed = bool(probes_of(config))
    return {
        "seconds": f"{config.prepare_time:g}",
        "transitions": f"{config.prepare_transitions:,}",
        "losers": "of losers, zero and random actions" if probed else "of losers",
        "first": "before round 1 there are the few episodes of zero and random actions only"
        if probed
        else "before round 1 there is nothing (`data.episodes` is empty then)",
    }


def feedback_messages(spec: EnvSpec, config: RunConfig) -> Messages:
    """Ask for the class that turns episodes into text."""
    focused = getattr(config.options, "history", "") == "focused"
    return filled(
        "promptpo/feedback",
        task=task_text(spec, config),
        imports=imports_text(spec),
        text_chars=bounds.SUMMARY,
        others="\n" * focused + _part("others", focused, chars=LOSER),
        trace=_part("traced", getattr(config.options, "trace", False)),
        success="True or False" if spec.defines_success else "None (this task defines no success)",
    )


def reflection_messages(spec: EnvSpec, config: RunConfig, memory: Memory) -> Messages:
    """Ask what the last round has shown, and perhaps for another Feedback class.

    The class is asked for where texts have been read for the first time, or two rounds brought
    nothing better.
    """
    since = len(memory.rounds) - best_round(memory.rounds).number
    unclear = len(memory.rounds) == 1 or since == 2
    revised = config.options.revise_feedback and memory.feedback and unclear
    source = fenced(memory.feedback.strip(), "python")
    published = config.options.history == "published"
    return filled(
        "promptpo/published_reflection" if published else "promptpo/reflection",
        task=task_text(spec, config),
        history=_history(spec, config, memory),
        round=memory.rounds[-1].number,
        second=" and on the second line of attack" if memory.second else "",
        feedback=_part("revision", revised, source=source, chars=bounds.SUMMARY),
    )


def _history(spec: EnvSpec, config: RunConfig, memory: Memory) -> str:
    """Return what has been found so far; empty before anything has."""
    if not memory.rounds and not memory.probes:
        return ""  # of another method, too, whose options say nothing of a history
    options = config.options
    if options.history == "published":
        return render_history(memory.rounds, options.history_tokens)
    return render_memory(memory, spec.horizon, options.history_tokens)


def repair_messages(
    asked: Messages, reply: str, what: str, error: str, output: str = ""
) -> Messages:
    """Continue a conversation: the reply to ``asked`` failed with ``error``."""
    output, error = (shortened(clean(text.strip()), bounds.ERROR) for text in (output, error))
    printed = f"\nIt had printed:\n\n{fenced(output)}\n" if output else ""
    text = template("promptpo/repair").substitute(what=what, error=fenced(error), output=printed)
    quoted = shortened(clean(reply), bounds.QUOTE)
    return (*asked, Message("assistant", quoted), Message("user", text.strip()))


def reflection_text(reply: str) -> str:
    """Return what the prompts after a reflection quote of it: its sentences, without code."""
    lines, inside = [], False
    for line in reply.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            inside = not inside
        elif not inside:
            lines.append(line)
    return shortened(clean("\n".join(lines).strip()), bounds.REFLECTION)


def episode_notes(texts: Sequence[str]) -> tuple[Note, ...]:
    """Return what a Feedback class made of a winner's episodes, as notes of its round."""
    return tuple(Note(f"Episode {i}", text) for i, text in enumerate(texts, 1))


def render_all(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
    """Return every stage's messages; what only a run can fill in stands in angle brackets."""
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
    """Return what a first round might leave, what only a run can fill in in angle brackets."""
    episode = Episode(0, float("nan"), spec.horizon, False if spec.defines_success else None)
    blank = Rollout("search", (), (episode,))
    texts = tuple(
        Note(title, f"<what Feedback made of the {title.lower()}>")
        for title in (WORST, MEDIAN, BEST)
    )
    winner = Candidate(Key(1, 1), "<the source of the best policy>", blank, notes=texts)
    loser = Candidate(Key(1, 2), None, error="<why candidate 2 failed, or its score>")
    second = Candidate(Key(1, 3), "<the source of the second line>", blank, notes=texts)
    others = (winner, loser, second) if config.options.second_line else (winner, loser)
    notes = episode_notes(["<what Feedback made of this episode>"])
    published = config.options.history == "published"
    return Memory(
        rounds=(Round(1, others, winner, notes if published else ()),),
        second=second if config.options.second_line else None,
        reflection="<the reply to the reflection prompt>",
        feedback="<the Feedback class in force>",
        tuned=("<what tuning a policy found, a paragraph each>",) if config.tune else (),
    )


def prompt_tokens(spec: EnvSpec, config: RunConfig, reply_tokens: int) -> int:
    """Return about how many tokens the prompts of a run have, with replies of so many each.

    Of many rounds some are looked at.
    """
    step = max((config.rounds - 1) / (_LOOKED_AT - 1), 1)
    numbers = [round(1 + step * i) for i in range(min(config.rounds, _LOOKED_AT))]
    tokens = [_round_tokens(spec, config, number, reply_tokens) for number in numbers]
    between = zip(pairwise(numbers), pairwise(tokens), strict=True)
    area = sum((b - a) * (x + y) / 2 for (a, b), (x, y) in between)
    first = message_tokens(feedback_messages(spec, config))
    return first + round(area + (tokens[0] + tokens[-1]) / 2)


def _round_tokens(spec: EnvSpec, config: RunConfig, number: int, reply_tokens: int) -> int:
    """Return about how many tokens the prompts of a round have."""
    options = config.options
    rounds = _typical_rounds(number - 1, config, reply_tokens)
    second = rounds[-1].candidates[-1] if rounds and options.second_line else None
    reflection = "." * 700 if rounds and options.reflection else ""
    memory = Memory(rounds, second, reflection=reflection, feedback="#" * (reply_tokens * 3))
    tokens = config.candidates * message_tokens(policy_messages(spec, config, memory))
    if reflection:
        tokens += message_tokens(reflection_messages(spec, config, memory))
    return tokens


def _typical_rounds(count: int, config: RunConfig, reply_tokens: int) -> tuple[Round, ...]:
    """Return rounds with sources and summaries of typical length."""
    run = Rollout("search", (0,), (Episode(0, 0.0, 1),), 1)
    few = config.candidates if count <= _LOOKED_AT else min(config.candidates, _LOOKED_AT)
    texts = tuple(Note(title, "." * 600) for title in (WORST, MEDIAN, BEST))
    candidates = tuple(
        Candidate(Key(1, i + 1), f"# {i}\n" + "#" * (reply_tokens * 3), run, notes=texts)
        for i in range(few)
    )
    notes: tuple[Note, ...] = (Note(REFLECTION, "." * 500),)
    if config.options.history == "published":
        notes += episode_notes(["." * 600] * min(config.first_episodes, _LOOKED_AT))
    rounds = range(1, min(count, _ROUNDS) + 1)
    return tuple(Round(i, candidates, candidates[0], notes) for i in rounds)
