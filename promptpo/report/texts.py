"""Prompts, replies and errors as a page shows them: whole where there is room, cut where not."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from promptpo.common.python_text import decorating, docstring, tree_of
from promptpo.store.run import Run
from promptpo.store.trials import Call, RoundRecord, Trial

#: No text is cut below this many characters.
_LEAST = 1500


@dataclass(frozen=True)
class Text:
    """A text behind a click. ``cut`` characters are left out of it; ``file`` has them."""

    label: str
    body: str
    file: str = ""
    cut: int = 0

    def within(self, limit: int) -> Text:
        """The text with at most ``limit`` characters."""
        over = len(self.body) - limit
        return self if over <= 0 else replace(self, body=self.body[:limit], cut=over)


def room(lengths: Iterable[int], budget: int) -> int:
    """The longest that a text may be so that all of them together keep to ``budget``."""
    waiting = sorted(lengths)
    for i, length in enumerate(waiting):
        share = budget // (len(waiting) - i)
        if length > share:
            return max(share, _LEAST)
        budget -= length
    return max(waiting, default=_LEAST)


@decorating(str)
def strategy(source: str | None) -> str:
    """What a policy says of itself: the first paragraph of its class's docstring."""
    tree = tree_of(source or "")
    if tree is None:
        return ""
    named: list[ast.ClassDef | ast.Module] = [
        n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Policy"
    ]
    words = next((d for n in [*named, tree] if (d := docstring(n))), "")
    return " ".join(words.split("\n\n")[0].split())[:600]


def round_texts(record: RoundRecord) -> list[Text]:
    """The prompt that all candidates of a round were given, and the round's other calls."""
    texts = [t for call in record.calls for t in call_texts(call)]
    first = next((c for t in record.trials for c in [*t.calls.values()][:1] if c.prompt), None)
    if first is not None:
        whole = "\n\n".join(f"[{m.role}]\n{m.content.rstrip()}" for m in first.prompt)
        file = f"prompts/{first.key}.prompt.md"
        prompts = {t.calls[k].prompt for t in record.trials for k in [*t.calls][:1]}
        label = "Prompt for a policy, the same for every candidate"
        if first.key.role != "policy":
            label = f"Prompt: {first.key.role} for {first.key.name}"
        elif len(prompts) > 1:
            label = f"Prompt for {first.key.name}; others are asked for another turn at its end"
        texts.append(Text(label, whole, file))
    return texts


def has_details(run: Run, trial: Trial) -> bool:
    """Whether a page tells more of a candidate than its row in the table."""
    return run.asks_model or bool(trial_texts(trial))


def kind_words(trial: Trial) -> str:
    """What a candidate is and what it was made from; empty for a policy made from nothing."""
    kind, parents = trial.candidate.kind, " and ".join(trial.candidate.parents)
    if parents:
        if kind == "policy":
            return f"same text as {parents}"
        return f"{kind} of {parents}"
    return "" if kind == "policy" else kind


#: Roles whose prompts speak of one candidate alone, and are shown with it.
_OWN_PROMPT = ("critic",)


def trial_texts(trial: Trial) -> list[Text]:
    """What became of a candidate, what it printed, and its replies; its notes stand elsewhere."""
    candidate = trial.candidate
    texts = []
    if candidate.error:
        texts.append(Text("Error", candidate.error, f"candidates/{trial.name}/feedback.txt"))
    if candidate.rollout is not None and candidate.rollout.output.strip():
        file = f"candidates/{trial.name}/result.json"
        texts.append(Text("Printed", candidate.rollout.output, file))
    for call in trial.calls.values():
        texts += call_texts(call, prompt=call.key.attempt > 0 or call.key.role in _OWN_PROMPT)
    return texts


def call_texts(call: Call, *, prompt: bool = True) -> list[Text]:
    """The last message that was sent, if wanted, and the reply to it."""
    named = {
        "feedback": "feedback class",
        "feedback_repair": "repair of the feedback class",
        "reflection": f"reflection on round {call.key.round - 1}",
        "repair": f"repair {call.key.attempt}",
        "critic": f"critic, again {call.key.attempt}" if call.key.attempt else "critic",
    }
    words = named.get(call.key.role, call.key.role)
    texts = []
    if prompt and call.prompt:
        file = f"prompts/{call.key}.prompt.md"
        texts.append(Text(f"Prompt: {words}", call.prompt[-1].content, file))
    if call.reply is not None:
        label = f"Reply: {words}"
        if call.reply.finish_reason != "stop":
            label += f" (ended by: {call.reply.finish_reason})"
        texts.append(Text(label, call.reply.text, f"prompts/{call.key}.reply.md"))
    return texts
