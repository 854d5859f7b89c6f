"""What a search has found, as text: what helps in full, the rest in a line each.

A table of all scores; the best policy with its worst, median and best episode; the promising one
that behaves most unlike it; how the last round's others differ and where they did worst.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from promptpo.common.plaintext import fenced
from promptpo.prompts.promptpo.memory import (
    FAILED,
    HARD,
    NEVER,
    Memory,
    against_incumbent,
    challenged,
)
from promptpo.prompts.promptpo.prepared import preparation_line, preparation_words
from promptpo.prompts.promptpo.words import (
    MORE,
    lengths_words,
    paired_words,
    score_words,
    shortened,
    source_difference,
    strategy_line,
    what_differs,
)
from promptpo.prompts.quoting import quoted
from promptpo.prompts.task import CHARS_PER_TOKEN
from promptpo.types import Candidate, Note, Round

#: Characters of a strategy in the table and of a policy that was written anew, of an episode beside
#: the worst, of an error.
_STRATEGY, _ANEW, _BESIDE, _ERROR = 45, 120, 110, 500

#: Characters of a worst episode of another policy than the best: authors are told this number.
LOSER = 340

#: Characters of an episode beside the worst, and of another policy's, where there is room.
_ROOMY = 600

#: The share of the budget up to which there is room.
_ROOM = 0.2

#: Characters of the second line's difference to the best, for who goes on from it.
_SECOND = 2000

_LINES = "Its lines that are not those of {name}:"

_HEAD = """\
## What has been tried

Mean returns ± standard errors (episodes). A round's policies met the same fresh episodes as the
best before them; "better" and "worse" are differences to it beyond noise. {best}
"""


@dataclass(frozen=True)
class _Section:
    """A part of the text, and shorter ones that may stand for it, the last perhaps empty."""

    forms: tuple[str, ...]


def render_memory(memory: Memory, horizon: int, budget: int) -> str:
    """The text, in about ``budget`` tokens; empty where nothing has been played.

    Episodes are told at length while that takes no more than half of it. What does not fit the
    whole is told shorter still, the least helpful first; scores stay, unless those of hundreds of
    policies alone are more: then the oldest go.
    """
    if not memory.rounds and not memory.probes:
        return ""
    sections = [
        _table_section(memory, horizon),
        *([_best(memory)] if memory.best else []),
        *([_Section(_tuned(memory))] if memory.tuned else []),
        *([_second(memory)] if memory.second else []),
        *([_last(memory.last, memory)] if memory.last else []),
        _probes(memory, horizon),
    ]
    chosen = [0] * len(sections)
    order = [*reversed(range(len(sections)))]

    def size() -> int:
        return sum(len(s.forms[c]) for s, c in zip(sections, chosen, strict=True))

    for level, share in ((1, _ROOM), (2, 1.0), (3, 1.0)):
        for i in order:
            if size() <= share * budget * CHARS_PER_TOKEN:
                break
            chosen[i] = min(level, len(sections[i].forms) - 1)
    texts = (s.forms[c].strip() for s, c in zip(sections, chosen, strict=True))
    return "\n\n".join(filter(None, texts)) + "\n\n"


def _table_section(memory: Memory, horizon: int) -> _Section:
    whole = _table(memory, horizon)
    return _Section((whole, whole, _table(memory, horizon, most=60)))


def _table(memory: Memory, horizon: int, most: int = 10**9) -> str:
    """A line for every policy, the latest ``most`` of them."""
    best, second = memory.best, memory.second
    others, latest = challenged(memory.rounds), memory.rounds[-1].number if memory.rounds else 0
    all_of_them = [c for r in memory.rounds for c in sorted(r.candidates, key=lambda c: c.key)]
    left_out = len(all_of_them) - most
    lines = [f"({left_out} older policies are left out for space.)"] if left_out > 0 else []
    for candidate in all_of_them[-most:]:
        marks = [
            *(["best so far"] if best and candidate.name == best.name else []),
            *(["second line"] if second and candidate.name == second.name else []),
        ]
        name = candidate.name + (f" ({', '.join(marks)})" if marks else "")
        lines.append(f"- {name}: {_row(candidate, others, latest, horizon)}")
    told = f"The best so far is {best.name}." if best else "Nothing has got through its episodes."
    if not lines:
        return ""
    return "\n".join([_HEAD.format(best=told), *lines])


def _row(
    candidate: Candidate, others: Mapping[int, Sequence[Candidate]], latest: int, horizon: int
) -> str:
    """What is told of a policy; ``latest`` is the number of the last round."""
    parts = [score_words(candidate)]
    run = candidate.pooled
    if not candidate.score.failed and run is not None and run.lengths:
        parts.append(lengths_words(run, horizon))
        if run.clipped >= 0.05:
            parts.append(f"{run.clipped:.0%} clipped")
    if candidate.parents and candidate.kind == "policy":
        parts.append(f"the same text as {candidate.parents[0]}")
        return "; ".join(parts)
    if (told := against_incumbent(candidate, others)) is not None:
        parts.append(paired_words(told))
    strategy = ""
    if not candidate.parents:
        recent = candidate.key.round > latest - 2
        most = _STRATEGY if recent else _STRATEGY // 2
        strategy = shortened(strategy_line(candidate.source), most)
    return "; ".join(parts) + (f"; {strategy}" if strategy else "")


def _best(memory: Memory) -> _Section:
    best = memory.best
    assert best is not None  # noqa: S101 - asked for only where there is one
    head = f"### The best so far, {best.name}"
    episodes = (_episodes(best, _ROOMY), _episodes(best), _episodes(best)[:1])
    prepared = [preparation_words(best), preparation_words(best), preparation_words(best, _ROOMY)]
    return _Section(
        tuple(
            "\n\n".join(filter(None, [head, _code(best), learned, *told]))
            for told, learned in zip(episodes, prepared, strict=True)
        )
    )


def _tuned(memory: Memory) -> tuple[str, str]:
    """What tuning found in the last round; in short, of the best of them alone."""
    head = "### What tuning found in the last round"
    return "\n\n".join([head, *memory.tuned]), f"{head}\n\n{memory.tuned[-1]}"


def _second(memory: Memory) -> _Section:
    second = memory.second
    assert second is not None  # noqa: S101
    best = memory.best
    scores = "scores as much" if best and second.score == best.score else "scores less"
    head = (
        f"### A second line of attack, {second.name}\n\nIt {scores}, and behaves most unlike the"
        f" best of those that show promise: {_promise(second, best)}."
    )
    worst = [shortened(line, LOSER) for line in _episodes(second)[:1]]
    forms: tuple[list[str], ...] = (
        [preparation_words(second), *_episodes(second, _ROOMY)],
        [preparation_words(second, _SECOND), *worst],
        [],
    )
    return _Section(tuple("\n\n".join(filter(None, [head, *told])) for told in forms))


def second_in_full(second: Candidate, best: Candidate | None) -> str:
    """The second line of attack for who goes on from it: its source and its episodes."""
    base = (best.source if best else None) or ""
    changed = source_difference(base, second.source or "", _SECOND) if base else ""
    if changed and MORE not in changed:
        source = f"{_LINES.format(name=best.name if best else '')}\n\n{fenced(changed, 'diff')}"
    else:
        source = _code(second)
    told = [source, preparation_words(second), *_episodes(second, _ROOMY)]
    return "\n\n".join(filter(None, told))


def _promise(second: Candidate, best: Candidate | None) -> str:
    run, other = second.pooled, best.pooled if best else None
    if run is None or other is None or not run.returns:
        return "look at its episodes"
    if not run.seeds:  # of a prompt that is shown before any run
        return "<its best episode and what it gains in a step, beside the best policy's>"
    rates = [sum(r.returns) / max(sum(r.lengths), 1) for r in (run, other)]
    words = (
        f"its best episode has {max(run.returns):.5g} (the best policy's: {max(other.returns):.5g})"
    )
    return f"{words}, in a step it gains {rates[0]:.3g} (the best policy: {rates[1]:.3g})"


def _last(last: Round, memory: Memory) -> _Section:
    """The policies of the last round that are not told of elsewhere."""
    shown = {c.name for c in (memory.best, memory.second) if c}
    others = [c for c in last.candidates if not c.parents and c.name not in shown]
    if not others:
        return _Section(("",))
    head = f"### The others of round {last.number}"
    base = memory.best or last.winner

    def told(render: Callable[[Candidate], str]) -> str:
        return "\n\n".join([head, *(render(c) for c in others)])

    return _Section(
        (
            told(lambda c: _other(c, base, _ROOMY, difference=True)),
            told(lambda c: _other(c, base, LOSER, difference=True)),
            told(lambda c: _other(c, base, LOSER, difference=False)),
            "",
        )
    )


def _other(candidate: Candidate, base: Candidate, most: int, *, difference: bool) -> str:
    parts = []
    if difference and candidate.source and base.source and candidate.source != base.source:
        changed = source_difference(base.source, candidate.source)
        if changed and MORE not in changed:
            parts.append(f"{_LINES.format(name=base.name)}\n\n{fenced(changed, 'diff')}")
        else:  # the first lines of many say little: how it fared takes their place
            how = "Much of it differs from" if changed else "Written anew, not from"
            strategy = shortened(strategy_line(candidate.source), _ANEW)
            parts.append(f"{how} {base.name}. {strategy}".strip())
    if candidate.error:
        parts.append(shortened(quoted(candidate.error.strip()), _ERROR))
    if learned := preparation_line(candidate, most):
        parts.append(learned)
    parts += [shortened(_line(note), most) for note in candidate.notes[:1]]
    parts += [_line(note) for note in candidate.notes if note.title.startswith(HARD)]
    return f"**{candidate.name}** " + "\n\n".join(parts)


def _probes(memory: Memory, horizon: int) -> _Section:
    if not memory.probes:
        return _Section(("",))
    lines, texts = [], []
    for probe in memory.probes:
        run, name = probe.pooled, strategy_line(probe.source).rstrip(".")
        steps = f"; {lengths_words(run, horizon)}" if run and run.lengths else ""
        lines.append(f"{name}: {score_words(probe)}{steps}.")
        texts += [f"{name}. {_line(note)}" for note in probe.notes]
    scores = " ".join(lines)
    full = "\n\n".join([scores, *texts])
    told = scores if memory.rounds else full
    return _Section((told, told, scores))


def _episodes(candidate: Candidate, beside: int = _BESIDE) -> list[str]:
    """What its episodes looked like; of the later ones what differs from the first, in short."""
    if not candidate.notes:
        return []
    first, *others = candidate.notes
    told = [_line(first)]
    for note in others:
        differing = what_differs(note.text, first.text)
        most = 10**6 if note.title.startswith((HARD, FAILED, NEVER)) else beside
        told.append(shortened(f"{note.title}: {differing}", most))
    return told


def _code(candidate: Candidate) -> str:
    return fenced((candidate.source or "").strip(), "python")


def _line(note: Note) -> str:
    return f"{note.title}: {quoted(note.text)}"
