"""The rounds of a run: candidates, sources and what changed, trajectories, prompts and replies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from promptpo.common import text
from promptpo.common.blocks import (
    Block,
    Details,
    Entries,
    Group,
    Items,
    Links,
    Prose,
    Section,
    Text,
)
from promptpo.report.code import Source, compared, strategy
from promptpo.report.tables import headline, kind_words, paired_words, trials_table
from promptpo.report.traces import Plots, read_plots
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run
from promptpo.store.standings import meeting
from promptpo.store.trials import Call, RoundRecord, Trial
from promptpo.types import Note

#: The share of lines that two sources must have in common for their difference to tell anything.
_ALIKE = 0.35


def round_sections(run: Run) -> Iterator[Section]:
    """Yield the rounds, in order."""
    before: Trial | None = None
    for record in run.round_records:
        blocks = _blocks(run, record, before)
        yield Section(f"round-{record.number}", f"Round {record.number}", (*blocks,), "round")
        before = record.winner or before


def _blocks(run: Run, record: RoundRecord, before: Trial | None) -> Iterator[Block]:
    number, winner = record.number, record.winner
    yield Prose(_headline(run, record, before), "meta")
    if words := strategy(winner.candidate.source if winner else None):
        yield Prose(words, "strategy")
    groups = [g for t in record.trials if (g := _group(t, record)).blocks or not t.ended]
    yield trials_table(run, record)
    met = next((m for t in record.trials if (m := meeting(run, t)) is not None), None)
    if met is not None:
        yield Prose(
            f"All met {met.incumbent.name}, the best before them, on the same fresh episodes:"
            " differences are means over pairs ± standard errors, and better or worse is what lies"
            " beyond noise (95%). Scores pool all search episodes that a policy has played."
        )
    feedback = _feedback(run, record)
    notes = []
    for note in record.notes:
        if named := run.trials.get(note.text):  # a note on a candidate is its name
            words = strategy(named.candidate.source)
            yield Prose(f"{note.title}: {named.name}. {words}".strip())
        elif feedback is None or note.text not in feedback.items:
            notes.append(note)
    for i, (title, texts) in enumerate(_grouped(notes), 1):
        part = Prose(texts[0], "prose") if len(texts) == 1 else Items(texts, numbered=True)
        yield Details(f"note-{number}-{i}", title, (part,))
    if winner is not None:
        yield from _winner(run, record, winner, before)
        if feedback is not None:
            by = run.feedback[winner.name].by
            who = "the built-in summary" if by == "built-in" else "by the model's own class"
            yield Details(f"feedback-{number}", f"Feedback on {winner.name}", (feedback,), who)
    yield from _others(run, record)
    if winner is not None and winner is not run.best_trial:
        yield _trajectories(run, record, winner)
    shared = (*_shared_texts(record), *groups)
    if shared:
        title = "Prompts, replies and errors" if run.asks_model else "Candidates"
        yield Details(f"calls-{number}", title, shared, printed=False)


def _headline(run: Run, record: RoundRecord, before: Trial | None) -> str:
    if not record.done:
        done = sum(t.ended for t in record.trials)
        return f"under way: {done} of {len(record.trials)} candidates are done"
    winner = record.winner
    if winner is None:
        return "no candidate got through its episodes"
    words = f"{winner.name} wins, {headline(winner)}"
    if winner.candidate.parents and winner.candidate.kind == "policy":
        words += f"; the same text as {winner.candidate.parents[0]}"
    elif (met := meeting(run, winner)) is not None:
        words += f"; against {met.incumbent.name}: {paired_words(met.difference)}"
    elif before is not None and winner.score == before.score:
        words += f"; the same score as {before.name}"
    elif before is not None:
        rank = "higher" if winner.score > before.score else "lower"
        words += f"; {rank} than {before.name}, on its own episodes"
    best = best_after(run, record)
    return words if best in (None, winner) else f"{words}; {best.name} stays the best so far"


def best_after(run: Run, record: RoundRecord) -> Trial | None:
    """Return the best policy so far when a round had ended, else the round's winner."""
    best = (run.ends.get(record.number) or {}).get("best") or {}
    return run.trials.get(best.get("name", "")) or record.winner


def _grouped(notes: Sequence[Note]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield notes by title; those that differ in a number at the end of it only together."""
    for _, group in groupby(notes, lambda note: re.sub(r" *[0-9]+$", "", note.title)):
        first, *others = group
        last = re.search("[0-9]+$", others[-1].title) if others else None
        title = f"{first.title} to {last[0]}" if last else first.title
        yield title, tuple(note.text for note in (first, *others))


def _feedback(run: Run, record: RoundRecord) -> Items | None:
    """Return those of the notes that a Feedback class made of the winner's episodes."""
    written = run.feedback.get(record.winner.name) if record.winner else None
    if written is None or not written.texts:
        return None
    noted = {note.text for note in record.notes}
    return Items(written.texts, numbered=True) if noted.issuperset(written.texts) else None


def _winner(run: Run, record: RoundRecord, winner: Trial, before: Trial | None) -> Iterator[Block]:
    """Yield the winner's source, what changed since the last winner, and its notes."""
    number, source = record.number, winner.candidate.source or ""
    file = f"candidates/{winner.name}/policy.py"
    counted = run.coverage_of.get(winner.name) or run.coverage_of.get(run.folder_of(winner))
    lines = text.plural(len(source.rstrip().splitlines()), "line")
    if winner is run.best_trial:
        above = (("its source", "#policy"), ("its trajectories", "#trajectories"))
        yield Links("The best of the run; above stand", above)
    else:
        coloured = Source.of(source, file, counted)
        yield Details(f"source-{number}", f"Source of {winner.name}", (coloured,), lines)
    old = before.candidate.source or "" if before else ""
    if before is not None and old == source:
        yield Prose(f"The same source as {before.name}, the winner before it.")
    elif before is not None and (diff := compared(old, source, before.name, winner.name, file)):
        title = f"Changes since {before.name}, the winner before it"
        yield Details(f"diff-{number}", title, (diff,))
    if notes := winner.candidate.notes:
        count = text.plural(len(notes), "note")
        yield Details(f"described-{number}", f"{winner.name} in words", (_entries(notes),), count)


def _entries(notes: Sequence[Note]) -> Entries:
    return Entries(tuple((note.title, note.text) for note in notes))


def _others(run: Run, record: RoundRecord) -> Iterator[Block]:
    """Yield how the policies that are not the winner differ from the best."""
    base = best_after(run, record)
    if base is None or base.candidate.source is None:
        return
    others = tuple(
        Group(f"other-{t.name}", t.name, (*_difference(run, t, base),))
        for t in record.trials
        if t not in (base, record.winner) and t.candidate.source is not None
    )
    if others:
        count = "1 policy" if len(others) == 1 else f"{len(others)} policies"
        title = f"How the others differ from {base.name}"
        yield Details(f"others-{record.number}", title, others, count, printed=False)


def _difference(run: Run, trial: Trial, base: Trial) -> Iterator[Block]:
    met, words = meeting(run, trial), headline(trial)
    if met is not None:
        words += f"; against {met.incumbent.name}: {paired_words(met.difference)}"
    yield Prose(words, "meta")
    if trial.candidate.notes:
        yield _entries(trial.candidate.notes)
    old, new = base.candidate.source or "", trial.candidate.source or ""
    a, b = (Counter(x.strip() for x in s.splitlines() if x.strip()) for s in (old, new))
    shared = (a & b).total() / max(a.total(), b.total(), 1)
    if trial.candidate.parents and trial.candidate.kind == "policy":
        yield Prose(f"The same text as {trial.candidate.parents[0]}.")
    elif old == new:
        yield Prose(f"The same text as {base.name}.")
    elif shared < _ALIKE:
        yield Prose(f"Written anew: it shares few lines with {base.name}.")
    elif diff := compared(old, new, base.name, trial.name, f"candidates/{trial.name}/policy.py"):
        yield diff


def _trajectories(run: Run, record: RoundRecord, winner: Trial) -> Block:
    plots = trajectories(run, winner)
    if isinstance(plots, Prose):
        return plots
    pooled = winner.candidate.pooled
    words = f"{', '.join(plots.words)} search episode"
    if pooled is not None and plots.count < len(pooled.seeds):
        words += f", of {plots.count} kept of {len(pooled.seeds)}"
    return Details(f"traces-{record.number}", f"Trajectories of {winner.name}", (plots,), words)


def trajectories(run: Run, trial: Trial, further: int = 0) -> Plots | Prose:
    """Return plots of a policy's search episodes, or that they are not there."""
    plots = read_plots(RunFolder(run.folder), run.folder_of(trial), run.header, further)
    return plots or Prose(
        f"The episodes of {trial.name} are not in the run's folder, so there are no trajectory"
        " plots."
    )


def _shared_texts(record: RoundRecord) -> Iterator[Text]:
    """Yield the round's own calls, and the prompt that all candidates were given."""
    for call in record.calls:
        yield from call_texts(call)
    first = _first_call(record)
    if first is None:
        return
    prompts = {t.calls[k].prompt for t in record.trials for k in [*t.calls][:1]}
    label = "Prompt for a policy, the same for every candidate"
    if first.key.role != "policy":
        label = f"Prompt: {first.key.role} for {first.key.name}"
    elif len(prompts) > 1:
        label = f"Prompt for {first.key.name}; others are asked for another turn at its end"
    whole = "\n\n".join(f"[{m.role}]\n{m.content.rstrip()}" for m in first.prompt)
    yield Text(label, whole, f"prompts/{first.key}.prompt.md")


def _first_call(record: RoundRecord) -> Call | None:
    return next((c for t in record.trials for c in [*t.calls.values()][:1] if c.prompt), None)


def _group(trial: Trial, record: RoundRecord) -> Group:
    """Return a candidate's error, what it printed, and its calls.

    Prompts of the role that the round's first prompt has are the same for all candidates.
    """
    candidate, first = trial.candidate, _first_call(record)
    texts = []
    if candidate.error:
        texts.append(Text("Error", candidate.error, f"candidates/{trial.name}/feedback.txt"))
    if candidate.rollout is not None and candidate.rollout.output.strip():
        file = f"candidates/{trial.name}/result.json"
        texts.append(Text("Printed", candidate.rollout.output, file))
    for call in trial.calls.values():
        own = call.key.attempt > 0 or first is None or call.key.role != first.key.role
        texts += call_texts(call, prompt=own)
    score = headline(trial) if trial.ended else "under way"
    words = ", ".join(filter(None, (kind_words(trial), score)))
    return Group(trial.name, trial.name, tuple(texts), words)


def call_texts(call: Call, *, prompt: bool = True) -> Iterator[Text]:
    """Yield the last message that was sent, if wanted, and the reply to it."""
    words = call.key.role.replace("_", " ")
    if call.key.attempt:
        words += f" {call.key.attempt}"
    if prompt and call.prompt:
        yield Text(f"Prompt: {words}", call.prompt[-1].content, f"prompts/{call.key}.prompt.md")
    if call.reply is not None:
        reason = call.reply.finish_reason
        ended = "" if reason == "stop" else f" (ended by: {reason})"
        yield Text(f"Reply: {words}{ended}", call.reply.text, f"prompts/{call.key}.reply.md")
