"""The history of a run as published: every round's winner in full, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from promptpo.common.plaintext import fenced
from promptpo.common.text import success_count
from promptpo.prompts.promptpo.memory import REFLECTION
from promptpo.prompts.promptpo.prepared import preparation_words
from promptpo.prompts.promptpo.words import first_line, strategy_line
from promptpo.prompts.quoting import quoted
from promptpo.prompts.task import CHARS_PER_TOKEN
from promptpo.types import Candidate, Note, Rollout, Round, best_round


class Detail(IntEnum):
    """How much of a round is told."""

    GONE = -2
    WINNER = -1
    SCORES = 0
    SUMMARIES = 1
    FULL = 2


def render_history(rounds: Sequence[Round], budget: int) -> str:
    """All earlier rounds, the best so far marked, in about ``budget`` tokens.

    What does not fit goes in this order: the sources of the oldest winners, their summaries and
    reflections, last those of the best so far. The scores stay, unless a history of hundreds of
    candidates is longer than the budget by its scores alone: then those of the oldest losers go,
    at last whole rounds but the best. Empty for no rounds.
    """
    if not rounds:
        return ""
    best = best_round(rounds)
    told = {r.number: _render_round(r, r is best, Detail.FULL) for r in rounds}
    line = f"Best so far: the winner of round {best.number}, {score_line(best.winner)}."
    head = f"## What has been tried\n\n{line}"
    size = sum(len(text) + 1 for text in (*told.values(), head)) + 1
    expendable = sorted(rounds, key=lambda r: (r is best, r.number))
    for level in (Detail.SUMMARIES, Detail.SCORES, Detail.WINNER, Detail.GONE):
        for round_ in expendable:
            if size // CHARS_PER_TOKEN + 1 <= budget:
                return _joined(head, told)
            text = _render_round(round_, round_ is best, level)
            size += len(text) - len(told[round_.number])
            told[round_.number] = text
    return _joined(head, told)


def score_line(candidate: Candidate) -> str:
    """A candidate's search score in words, or why it has none."""
    if candidate.error is not None or candidate.rollout is None:
        return f"failed: {first_line(candidate.error or 'not rolled out')}"
    told = _figures(candidate.rollout)
    text = f"mean return {told.mean_return}"
    return f"success {told.success}, {text}" if told.success else text


def _joined(head: str, told: Mapping[int, str]) -> str:
    gone = sum(not text for text in told.values())
    left_out = [f"\n({gone} rounds are left out for space.)"] if gone else []
    parts = [head, *left_out, *filter(None, told.values())]
    return "\n".join(parts) + "\n\n"


def _render_round(round_: Round, is_best: bool, detail: Detail) -> str:
    if detail is Detail.GONE and not is_best:
        return ""
    winner = round_.winner
    lines = [f"\n### Round {round_.number}{' (best so far)' if is_best else ''}\n"]
    opening = [note for note in round_.notes if note.title == REFLECTION]
    if detail > Detail.SCORES:
        lines += [f"{_note_line(note)}\n" for note in opening]
    lines.append(f"Winner: candidate {winner.key.candidate}, {score_line(winner)}.")
    if detail <= Detail.WINNER:
        return "\n".join(lines)
    if winner.rollout is not None and winner.error is None:
        lines.append(_episodes_line(winner.rollout))
    if detail is Detail.FULL and winner.source:
        lines.append(f"\n{fenced(winner.source.strip(), 'python')}\n")
    else:
        lines.append(f"({strategy_line(winner.source) or 'source'}: source left out for space)")
    if detail > Detail.SCORES and (learned := preparation_words(winner)):
        lines.append(f"{learned}\n")
    if len(round_.notes) > len(opening) and detail > Detail.SCORES:
        lines.append("What its episodes looked like:\n")
        lines += [_note_line(note) for note in round_.notes if note not in opening]
    others = [c for c in round_.candidates if c.name != winner.name]
    if others:
        lines.append("\nThe other candidates:\n")
        lines += [_other_line(c) for c in others]
    return "\n".join(lines)


@dataclass(frozen=True)
class _Figures:
    """What a rollout came to, as it is told; the successes are empty where none are defined."""

    mean_return: str
    returns: str
    lengths: str
    success: str = ""
    successes: str = ""


def _figures(run: Rollout) -> _Figures:
    """The figures of a rollout; placeholders where it was asked for no seed, as no real one was."""
    defined = bool(run.successes) and run.successes[0] is not None
    if not run.seeds:
        blank = _Figures("<number>", "<numbers>", "<numbers>")
        if defined:
            blank = replace(blank, success="<number>/<number>", successes="<yes or no each>")
        return blank
    return _Figures(
        mean_return=f"{run.score.mean_return:.6g}",
        returns=", ".join(f"{x:.6g}" for x in run.returns),
        lengths=", ".join(map(str, run.lengths)),
        success=success_count(run.successes) if defined else "",
        successes=", ".join("yes" if s else "no" for s in run.successes) if defined else "",
    )


def _note_line(note: Note) -> str:
    return f"{note.title}: {quoted(note.text)}"


def _episodes_line(run: Rollout) -> str:
    told = _figures(run)
    parts = [f"returns {told.returns}"]
    if told.successes:
        parts.append(f"successes {told.successes}")
    parts.append(f"steps {told.lengths}")
    if run.clipped >= 0.005:
        parts.append(f"{run.clipped:.0%} of the actions were clipped")
    return f"By episode: {'; '.join(parts)}."


def _other_line(candidate: Candidate) -> str:
    strategy = strategy_line(candidate.source)
    return f"- candidate {candidate.key.candidate}, {score_line(candidate)}" + (
        f" ({strategy})" if strategy else ""
    )
