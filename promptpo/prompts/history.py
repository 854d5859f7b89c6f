"""The history of a search, as text.

``render_memory``: what helps in full, the rest in a line each. A table of all scores; the best
policy with its worst, median and best episode; the promising one that behaves most unlike it; how
the last round's others differ and where they did worst.

``render_history``: as published, every round's winner in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from promptpo.common.plaintext import fenced
from promptpo.common.text import success_count
from promptpo.prompts.task import CHARS_PER_TOKEN, quoted
from promptpo.prompts.words import (
    MORE,
    first_line,
    lengths_words,
    metric_words,
    paired_words,
    preparation_line,
    preparation_words,
    score_words,
    shortened,
    source_difference,
    strategy_line,
    what_differs,
)
from promptpo.racing import Paired, met_before, paired
from promptpo.types import Candidate, Note, Rollout, Round, best_round

#: Titles of notes: of a round, what its author thought of the last one; of candidates, episodes.
REFLECTION = "Reflection before it"
WORST, MEDIAN, BEST = "Worst episode", "Median episode", "Best episode"
SECOND = "Second line of attack"
HARD, FAILED = "Hard episode", "Another failed episode"
NEVER = "Of its lines"

#: Characters of a strategy in the table and of a policy that was written anew, of an episode beside
#: the worst, of an error.
_STRATEGY, _ANEW, _BESIDE, _ERROR = 45, 120, 110, 500

#: Characters of a worst episode of another policy than the best: authors are told this number.
LOSER = 340

#: Characters of an episode beside the worst, and of another policy's, where there is room; and the
#: share of the budget up to which there is.
_ROOMY, _ROOM = 600, 0.2

#: Characters of the second line's difference to the best, for who goes on from it.
_SECOND = 2000

_LINES = "Its lines that are not those of {name}:"

_HEAD = """\
## What has been tried

Mean returns ± standard errors (episodes). A round's policies met the same fresh episodes as the
best before them; "better" and "worse" are differences to it beyond noise. {best}
"""

#: A part of the text in full, and shorter forms that may stand for it, the last perhaps empty.
Forms = tuple[str, ...]


@dataclass(frozen=True)
class Memory:
    """The rounds so far, and what is worth telling of them.

    Attributes:
        rounds: all that have ended; their candidates' notes are what Feedback made of episodes.
        second: the promising policy that behaves most unlike the best; None where there is none.
        probes: zero and random actions, played as policies.
        reflection: the last reflection on it; empty where nothing was asked.
        feedback: the Feedback class in force; empty where there is none.
        tuned: what the last round's tunings found, a paragraph each.
    """

    rounds: tuple[Round, ...] = ()
    second: Candidate | None = None
    probes: tuple[Candidate, ...] = ()
    reflection: str = ""
    feedback: str = ""
    tuned: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate | None:
        """The best policy so far; None where nothing has played."""
        best = best_round(self.rounds).winner if self.rounds else None
        return None if best is None or best.score.failed else best


def render_memory(memory: Memory, horizon: int, budget: int) -> str:
    """Return the text, in about ``budget`` tokens; empty where nothing has been played.

    Episodes are told at length while that takes no more than half of it. What does not fit the
    whole is told shorter still, the least helpful first; scores stay, unless those of hundreds of
    policies alone are more: then the oldest go.
    """
    if not memory.rounds and not memory.probes:
        return ""
    best, second = memory.best, memory.second
    table = _table(memory, horizon)
    parts: list[Forms] = [(table, table, _table(memory, horizon, most=60))]
    if best is not None:
        parts.append(_best(best))
    if memory.tuned:
        head = "### What tuning found in the last round"
        parts.append(("\n\n".join([head, *memory.tuned]), f"{head}\n\n{memory.tuned[-1]}"))
    if second is not None:
        parts.append(_second(second, best))
    if memory.rounds:
        parts.append(_last(memory.rounds[-1], best, second))
    if memory.probes:
        parts.append(_probes(memory, horizon))
    chosen = [0] * len(parts)
    for level, share in ((1, _ROOM), (2, 1.0), (3, 1.0)):
        for i in reversed(range(len(parts))):
            size = sum(len(forms[c]) for forms, c in zip(parts, chosen, strict=True))
            if size <= share * budget * CHARS_PER_TOKEN:
                break
            chosen[i] = min(level, len(parts[i]) - 1)
    texts = (forms[c].strip() for forms, c in zip(parts, chosen, strict=True))
    return _joined(*texts) + "\n\n"


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _table(memory: Memory, horizon: int, most: int = 10**9) -> str:
    """Return a line for every policy, the latest ``most`` of them."""
    policies = [c for r in memory.rounds for c in sorted(r.candidates, key=lambda c: c.key)]
    if not policies:
        return ""
    marks: dict[str, list[str]] = {}
    for marked, mark in ((memory.best, "best so far"), (memory.second, "second line")):
        if marked is not None:
            marks.setdefault(marked.name, []).append(mark)
    others, latest = challenged(memory.rounds), memory.rounds[-1].number
    left_out = len(policies) - most
    best = memory.best
    says = f"The best so far is {best.name}." if best else "Nothing has got through its episodes."
    lines = [_HEAD.format(best=says)]
    if left_out > 0:
        lines.append(f"({left_out} older policies are left out for space.)")
    for candidate in policies[-most:]:
        mark = f" ({', '.join(marks[candidate.name])})" if candidate.name in marks else ""
        row = _row(candidate, others, latest, horizon)
        lines.append(f"- {candidate.name}{mark}: {row}")
    return "\n".join(lines)


def _row(
    candidate: Candidate, others: Mapping[int, Sequence[Candidate]], latest: int, horizon: int
) -> str:
    """Return the line of a policy; ``latest`` is the number of the last round."""
    parts = [score_words(candidate)]
    run = candidate.pooled
    if not candidate.score.failed and run is not None and run.lengths:
        parts.append(lengths_words(run, horizon))
        if run.clipped >= 0.05:
            parts.append(f"{run.clipped:.0%} clipped")
    if candidate.parents and candidate.kind == "policy":
        return "; ".join([*parts, f"the same text as {candidate.parents[0]}"])
    if (pair := against_incumbent(candidate, others)) is not None:
        parts.append(paired_words(pair))
    if not candidate.parents:
        most = _STRATEGY if candidate.key.round > latest - 2 else _STRATEGY // 2
        parts.append(shortened(strategy_line(candidate.source), most))
    return "; ".join(filter(None, parts))


def challenged(rounds: Sequence[Round]) -> dict[int, list[Candidate]]:
    """Return the policies that went on to play episodes of later rounds, by the seeds they met."""
    by_seed: dict[int, list[Candidate]] = {}
    for candidate in (c for r in rounds for c in r.candidates if c.later):
        for seed in candidate.pooled.seeds if candidate.pooled else ():
            by_seed.setdefault(seed, []).append(candidate)
    return by_seed


def against_incumbent(
    candidate: Candidate, others: Mapping[int, Sequence[Candidate]]
) -> Paired | None:
    """Return a candidate less the policy of an earlier round that played its episodes, if one did.

    ``others``: those that were ``challenged``.
    """
    seeds = candidate.rollout.seeds if candidate.rollout else ()
    incumbent = met_before(candidate, others.get(seeds[0], ()) if seeds else ())
    if incumbent is None or incumbent.pooled is None or candidate.pooled is None:
        return None
    return paired(candidate.pooled, incumbent.pooled)


def _best(best: Candidate) -> Forms:
    head = f"### The best so far, {best.name}"
    lengths = ((_episodes(best, _ROOMY), preparation_words(best)),
               (_episodes(best), preparation_words(best)),
               (_episodes(best)[:1], preparation_words(best, _ROOMY)))  # fmt: skip
    return tuple(_joined(head, _code(best), learned, *notes) for notes, learned in lengths)


def _second(second: Candidate, best: Candidate | None) -> Forms:
    scores = "scores as much" if best and second.score == best.score else "scores less"
    head = (
        f"### A second line of attack, {second.name}\n\nIt {scores}, and behaves most unlike the"
        f" best of those that show promise: {_promise(second, best)}."
    )
    worst = [shortened(line, LOSER) for line in _episodes(second)[:1]]
    return (
        _joined(head, preparation_words(second), *_episodes(second, _ROOMY)),
        _joined(head, preparation_words(second, _SECOND), *worst),
        head,
    )


def second_in_full(second: Candidate, best: Candidate | None) -> str:
    """Return the second line of attack for who goes on from it: its source and its episodes."""
    base = (best.source if best else None) or ""
    changed = source_difference(base, second.source or "", _SECOND) if base else ""
    if best and changed and MORE not in changed:
        source = _changes(best.name, changed)
    else:
        source = _code(second)
    return _joined(source, preparation_words(second), *_episodes(second, _ROOMY))


def _promise(second: Candidate, best: Candidate | None) -> str:
    run, other = second.pooled, best.pooled if best else None
    if run is None or other is None or not run.returns:
        return "look at its episodes"
    if not run.seeds:  # of a prompt that is shown before any run
        return "<its best episode and what it gains in a step, beside the best policy's>"
    rates = [sum(r.returns) / max(sum(r.lengths), 1) for r in (run, other)]
    return (
        f"its best episode has {max(run.returns):.5g} (the best policy's: {max(other.returns):.5g})"
        f", in a step it gains {rates[0]:.3g} (the best policy: {rates[1]:.3g})"
    )


def _last(last: Round, best: Candidate | None, second: Candidate | None) -> Forms:
    """Describe the policies of the last round that are not told of elsewhere."""
    apart = {c.name for c in (best, second) if c}
    others = [c for c in last.candidates if not c.parents and c.name not in apart]
    if not others:
        return ("",)
    head, base = f"### The others of round {last.number}", best or last.winner
    kinds = ((_ROOMY, True), (LOSER, True), (LOSER, False))
    texts = [
        _joined(head, *(_other(c, base, most, difference=difference) for c in others))
        for most, difference in kinds
    ]
    return (*texts, "")


def _other(candidate: Candidate, base: Candidate, most: int, *, difference: bool) -> str:
    parts = []
    if difference and candidate.source and base.source and candidate.source != base.source:
        changed = source_difference(base.source, candidate.source)
        if changed and MORE not in changed:
            parts.append(_changes(base.name, changed))
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


def _probes(memory: Memory, horizon: int) -> Forms:
    lines, texts = [], []
    for probe in memory.probes:
        run, name = probe.pooled, strategy_line(probe.source).rstrip(".")
        steps = f"; {lengths_words(run, horizon)}" if run and run.lengths else ""
        lines.append(f"{name}: {score_words(probe)}{steps}.")
        texts += [f"{name}. {_line(note)}" for note in probe.notes]
    scores = " ".join(lines)
    described = scores if memory.rounds else "\n\n".join([scores, *texts])
    return described, described, scores


def _episodes(candidate: Candidate, beside: int = _BESIDE) -> list[str]:
    """Describe its episodes; of the later ones what differs from the first, in short."""
    if not candidate.notes:
        return []
    first, *others = candidate.notes
    lines = [_line(first)]
    for note in others:
        most = 10**6 if note.title.startswith((HARD, FAILED, NEVER)) else beside
        lines.append(shortened(f"{note.title}: {what_differs(note.text, first.text)}", most))
    return lines


def _changes(name: str, changed: str) -> str:
    return f"{_LINES.format(name=name)}\n\n{fenced(changed, 'diff')}"


def _code(candidate: Candidate) -> str:
    return fenced((candidate.source or "").strip(), "python")


def _line(note: Note) -> str:
    return f"{note.title}: {quoted(note.text)}"


#: How much of a round is told in the history as published.
_FULL, _SUMMARIES, _SCORES, _WINNER, _GONE = range(5)


def render_history(rounds: Sequence[Round], budget: int) -> str:
    """Return all earlier rounds, the best so far marked, in about ``budget`` tokens.

    What does not fit goes in this order: the sources of the oldest winners, their summaries and
    reflections, last those of the best so far. The scores stay, unless a history of hundreds of
    candidates is longer than the budget by its scores alone: then those of the oldest losers go,
    at last whole rounds but the best. Empty for no rounds.
    """
    if not rounds:
        return ""
    best = best_round(rounds)
    texts = {r.number: _published_round(r, r is best, _FULL) for r in rounds}
    line = f"Best so far: the winner of round {best.number}, {score_line(best.winner)}."
    head = f"## What has been tried\n\n{line}"
    size = sum(len(text) + 1 for text in (*texts.values(), head)) + 1
    levels = (_SUMMARIES, _SCORES, _WINNER, _GONE)
    oldest_first = sorted(rounds, key=lambda r: (r is best, r.number))
    for level, round_ in ((level, round_) for level in levels for round_ in oldest_first):
        if size // CHARS_PER_TOKEN + 1 <= budget:
            break
        text = _published_round(round_, round_ is best, level)
        size += len(text) - len(texts[round_.number])
        texts[round_.number] = text
    omitted = sum(not text for text in texts.values())
    left_out = f"\n({omitted} rounds are left out for space.)" if omitted else ""
    return "\n".join(filter(None, [head, left_out, *texts.values()])) + "\n\n"


def _published_round(round_: Round, is_best: bool, detail: int) -> str:
    if detail == _GONE and not is_best:
        return ""
    winner, summaries = round_.winner, detail < _SCORES
    lines = [f"\n### Round {round_.number}{' (best so far)' if is_best else ''}\n"]
    opening = [note for note in round_.notes if note.title == REFLECTION]
    if summaries:
        lines += [f"{_line(note)}\n" for note in opening]
    lines.append(f"Winner: candidate {winner.key.candidate}, {score_line(winner)}.")
    if detail >= _WINNER:
        return "\n".join(lines)
    if winner.rollout is not None and winner.error is None:
        lines.append(_episodes_line(winner.rollout))
    if detail == _FULL and winner.source:
        lines.append(f"\n{_code(winner)}\n")
    else:
        lines.append(f"({strategy_line(winner.source) or 'source'}: source left out for space)")
    if summaries and (learned := preparation_words(winner)):
        lines.append(f"{learned}\n")
    if summaries and len(round_.notes) > len(opening):
        lines.append("What its episodes looked like:\n")
        lines += [_line(note) for note in round_.notes if note not in opening]
    others = [c for c in round_.candidates if c.name != winner.name]
    if others:
        lines.append("\nThe other candidates:\n")
    for other in others:
        strategy = strategy_line(other.source)
        words = f" ({strategy})" if strategy else ""
        lines.append(f"- candidate {other.key.candidate}, {score_line(other)}{words}")
    return "\n".join(lines)


def score_line(candidate: Candidate) -> str:
    """Return a candidate's search score in words, or why it has none."""
    run = candidate.rollout
    if candidate.error is not None or run is None:
        return f"failed: {first_line(candidate.error or 'not rolled out')}"
    has_run = bool(run.seeds)  # not of a prompt that is shown before any run
    mean = f"mean return {f'{run.score.mean_return:.6g}' if has_run else '<number>'}"
    if run.worst_tenth is not None:
        mean = f"worst tenth {run.worst_tenth:.6g}, {mean}"
    mean = ", ".join([mean, *metric_words(run)])
    if not _defines_success(run):
        return mean
    return f"success {success_count(run.successes) if has_run else '<number>/<number>'}, {mean}"


def _episodes_line(run: Rollout) -> str:
    returns = lengths = "<numbers>"
    successes = "<yes or no each>"
    if run.seeds:
        returns = ", ".join(f"{x:.6g}" for x in run.returns)
        lengths = ", ".join(map(str, run.lengths))
        successes = ", ".join("yes" if s else "no" for s in run.successes)
    hits = f"; successes {successes}" if _defines_success(run) else ""
    clipped = f"; {run.clipped:.0%} of the actions were clipped" if run.clipped >= 0.005 else ""
    return f"By episode: returns {returns}{hits}; steps {lengths}{clipped}."


def _defines_success(run: Rollout) -> bool:
    return bool(run.successes) and run.successes[0] is not None
