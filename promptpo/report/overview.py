"""The sections of a page on a run as a whole: figures, curves, tables, settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpo.common import text
from promptpo.common.blocks import (
    Block,
    Details,
    Entries,
    Figure,
    Prose,
    Section,
    Text,
)
from promptpo.common.plaintext import clean_line
from promptpo.report import tables
from promptpo.report.code import Source, compared, strategy
from promptpo.report.figures import DRAWN_LIVES, curve_figures, life_chart, measures
from promptpo.report.rounds import call_texts, trajectories
from promptpo.stats import Interval
from promptpo.store.evals import OWN
from promptpo.store.run import Run
from promptpo.store.standings import FeedbackClass, feedback_classes
from promptpo.types import Rollout
from promptpo.ui.plain import isolation_words

#: Search episodes of the best policy that its plots may show, beside the usual three.
_EPISODES = 7


@dataclass(frozen=True)
class Fact:
    """One tile: a label, a figure, and a line below it."""

    label: str
    figure: str
    note: str = ""


def facts(run: Run) -> list[Fact]:
    """Return what the score is worth and what it took: expert, episodes, steps, cost, author."""
    usage = run.usage
    failed = sum(t.state == "failed" for t in run.policies)
    rounds = sum(r.done for r in run.round_records)
    steps, count = f"{sum(usage.steps.values()):,}", f"{len(run.policies):,}"
    wanted = text.plural(run.settings.get("rounds", rounds), "round")
    played = run.test
    episodes = []
    if played is not None and played.returns:
        mean = sum(played.lengths) / len(played.lengths) if played.lengths else 0.0
        words = f"{text.number(round(mean, 1))} steps long on average"
        episodes = [Fact("Held-out episodes", f"{len(played.returns):,}", words)]
    return [
        *_to_expert(run),
        *episodes,
        Fact("Environment steps", steps, text.steps(usage.steps, test="held-out")),
        *([_price(run)] if run.asks_model and not run.policy_file else []),
        _author(run),
        Fact("Candidates", count, f"{failed:,} failed, {rounds} of {wanted}"),
        Fact("Time", text.duration(run.elapsed)),
    ]


#: References that show what is possible, the first that a task has counts.
_EXPERTS = ("expert", "optimum")


def _to_expert(run: Run) -> Iterator[Fact]:
    """Yield how far the policy is from the expert: over the same episodes where both played them.

    That is so after ``promptpo eval --keep``; else it is the difference from the reference value.
    """
    for evaluation in reversed(run.evaluations):
        for test in evaluation.tests:
            if {test.a, test.b} == {OWN, "expert"} and test.paired:
                sign = 1 if test.a == OWN else -1
                ends = sorted(sign * end for end in (test.low, test.high) if end is not None)
                form = ".2f" if test.measure == "success" else ""
                between = text.between(Interval(*ends), form) if len(ends) == 2 else ""
                words = f"paired, over {test.count_a} episodes of {test.measure}"
                number = _signed(sign * test.difference, form)
                yield Fact("To the expert", number, ", ".join(filter(None, (between, words))))
                return
    name = next((name for name in _EXPERTS if name in run.references), None)
    played = run.test
    if name is None or played is None or played.error is not None or not played.returns:
        return
    ours, theirs, form = played.score.success_rate, run.references[name].success_rate, ".2f"
    if ours is None or theirs is None or ours == theirs:  # then returns rank
        ours, theirs, form = played.score.mean_return, run.references[name].mean_return, ""
    what = "success" if form else "return"
    words = f"of mean {what}, less the spec's own value of {_plain(theirs, form)}: not paired"
    yield Fact(f"To the {name}", _signed(ours - theirs, form), words)


def _plain(value: float, form: str) -> str:
    return format(value, form) if form else text.number(value)


def _signed(value: float, form: str) -> str:
    words = _plain(value, form)
    return f"+{words}" if value > 0 else words.replace("-", "\N{MINUS SIGN}", 1)


def _author(run: Run) -> Fact:
    """Return who wrote the policies, by which method, from which seed."""
    models = Counter(c.reply.model for c in run.calls.values() if c.reply and c.reply.model)
    name = Path(run.policy_file).name or (models.most_common(1)[0][0] if models else run.model)
    if run.synthesized:
        name = "builtin synthesizer"
    words = [run.method, f"seed {run.settings.get('seed')}"]
    words += ["replayed"] * run.replayed + ["without facts"] * run.facts_withheld
    return Fact("Author", clean_line(name) or "no model", ", ".join(filter(None, words)))


def _price(run: Run) -> Fact:
    usage = run.usage
    calls = f"{usage.calls:,} {'reply' if usage.calls == 1 else 'replies'}"
    if run.replayed or run.synthesized:
        why = "replayed" if run.replayed else "no language model"
        return Fact("Cost", "$0.00", f"{calls}, {why}")
    sent, received, cached = usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens
    tokens = "tokens unknown: the provider does not count all"
    if sent is not None and received is not None:
        read = "" if cached is None else f" ({cached:,} from the provider's cache)"
        tokens = f"{sent:,} tokens in{read}, {received:,} out"
    if usage.cost is None:
        return Fact("Cost", "unknown", f"a price is not known; {calls}, {tokens}")
    return Fact("Cost", text.money(usage.cost), f"{calls}, {tokens}")


def figures(rollout: Rollout | None) -> list[Fact]:
    """Return success rate, if the task has one, and mean return; each with how sure it is."""
    if rollout is None or rollout.error is not None or not rollout.returns:
        return []
    tiles = []
    score = rollout.score
    for title, value, interval in measures(
        score.success_rate is not None, score.worst_tenth is not None
    ):
        number = value(score)
        form = ".2f" if title == "Success rate" else ""
        if number is not None:
            words = f"{number:.2f}" if form else text.number(number)
            tiles.append(Fact(title.lower(), words, _sure(rollout, interval(rollout), form)))
    return tiles


def _sure(rollout: Rollout, interval: Interval | None, form: str) -> str:
    count = len(rollout.returns)
    if interval is None:
        return f"{text.plural(count, 'episode')}: too few for an interval"
    if interval.low == interval.high:
        return f"in every one of {count} episodes"
    return f"{text.between(interval, form)}, {count} episodes"


def policy_section(run: Run) -> Section | None:
    """Return the best policy's source; None as long as there is none."""
    best = run.best_trial
    if best is None or best.candidate.source is None:
        return None
    counted = run.coverage_of.get(best.name) or run.coverage_of.get(run.folder_of(best))
    source = Source.of(best.candidate.source, "best/policy.py", counted)
    words = strategy(best.candidate.source)
    blocks = (*([Prose(words, "strategy")] if words else []), source)
    return Section("policy", "The policy", blocks, "policy")


def trajectories_section(run: Run) -> Section | None:
    """Return the best policy's search episodes; None as long as there is none."""
    best = run.best_trial
    if best is None or best.candidate.source is None:
        return None
    plots = trajectories(run, best, _EPISODES)
    return Section("trajectories", f"Trajectories of {best.name}", (plots,))


def metrics_section(run: Run) -> Section | None:
    """Return metrics and constraints of the held-out episodes; None where the task has none."""
    table = tables.metrics_table(run.test) if run.test is not None else None
    return Section("metrics", "What else was measured", (table,)) if table else None


def learning_sections(run: Run) -> Iterator[Section]:
    """Yield what was learned within a life, and over the rounds of the search."""
    test = run.test
    if test is not None and test.error is None and test.life_curve:
        count = len(test.lives)
        thin = ", thin lines single lives" if count <= DRAWN_LIVES else ""
        yield Section("life", "Learning within a life", (
            Figure("Mean return of each episode of a life", life_chart(test, run.references)),
            Prose(
                f"One policy object plays {test.life} episodes, one after another: a life. Each of"
                f" the {count} held-out ones began with a fresh object. Bars are 95% intervals over"
                f" lives{thin}. The score counts every episode, the first ones too."
            ),
            Details("life-table", "The curve as a table", (tables.life_table(test),), small=True),
        ))  # fmt: skip
    curves = curve_figures(run)
    if curves:
        below = (tables.standings_table(run), tables.selection_table(run))
        ties = text.tie_words(run.selection)
        blocks = (
            *curves, Prose(_search_words(run)), *(table for table in below if table),
            *([Prose(f"{ties}.")] if ties else []),
        )  # fmt: skip
        yield Section("curve", "Learning curve", blocks)


def method_section(run: Run) -> Section | None:
    """Return the tables of the method's own facts; None where it has none."""
    blocks: list[Block] = []
    for table, words in tables.method_tables(run):
        blocks += [table, Prose(f"{words}.")] if words else [table]
    return Section("method", "Facts of the method", tuple(blocks)) if blocks else None


def _search_words(run: Run) -> str:
    """Return which episodes the scores of the learning curve are of."""
    if run.corrected:
        return (
            "Mean returns are corrected for the luck of each round's episodes, by the policies that"
            " played in several rounds; raw ones are in the tables. The bar through a winner is the"
            " 95% interval of its difference from the average of all corrected scores. Success"
            " rates, and scores without a corrected one in the tables, are raw."
        )
    played = [t.candidate.rollout.seeds for t in run.policies if t.candidate.rollout]
    rounds = {t.key.round for t in run.policies if t.candidate.rollout}
    if any(t.candidate.later for t in run.policies):
        return (
            "Search scores: of all search episodes that a policy has played. Each round's"
            " candidates and the best before them meet the same new ones; the bar through a"
            " winner is the 95% interval."
        )
    if len(rounds) > 1 and len(set(played)) == 1:
        return "Search scores: all candidates play the same episodes."
    if len(set(played)) > len(rounds):
        return "Search scores: each candidate plays new episodes."
    return "Search scores: each round plays new episodes, shared by its candidates."


def other_sections(run: Run) -> Iterator[Section]:
    """Yield later evaluations, hard episodes, and what was played before the first round."""
    if run.evaluations:
        yield Section("evaluations", "Scored again", (
            *map(tables.evaluation_table, reversed(run.evaluations)),
            Prose(
                "By `promptpo eval --keep`, after the run; the held-out score above is the run's"
                " own. All policies of a table met the same episodes; intervals are 95% ones of"
                " the mean return."
            ),
        ))  # fmt: skip
    if hard := tables.hard_table(run):
        words = "Challengers play them besides the fresh ones; they are no part of their scores."
        yield Section("hard", "Hard episodes", (hard, Prose(words)))
    if any(t.candidate.pooled for t in run.probes):
        yield _probes(run)


def _probes(run: Run) -> Section:
    """Return what zero and random actions do, or random policies."""
    samples = any(t.candidate.kind == "sample" for t in run.probes)
    named = []
    for trial in run.probes:
        words = "" if trial.candidate.kind == "sample" else strategy(trial.candidate.source)
        named.append((words.rstrip(".") or trial.name, trial))
    title, first, caption, who = (
        ("Warm-up", "Policy", "Random policies before round 1", "policies with random parameters")
        if samples
        else ("Without any policy", "Actions", "Episodes without any policy",
              "zero and random actions")
    )  # fmt: skip
    played = [(name, trial) for name, trial in named if trial.candidate.pooled]
    notes = (Text(f"{n}. {note.title}", note.text) for n, t in named for note in t.candidate.notes)
    words = f"Played before round 1 and told to the first authors: what {who} do."
    table = tables.probes_table(played, first, caption)
    return Section("probes", title, (table, *notes, Prose(words)))


def about_section(run: Run) -> Section:
    """Return how the run was made: its Feedback classes, first calls, notices and settings."""
    blocks: list[Block] = []
    before = ""
    for i, written in enumerate(feedback_classes(run), 1):
        diff = compared(before, written.source, "the one before", "the revised one")
        part = diff if before and diff else Source.of(written.source)
        title, note = _class_title(written), text.plural(len(written.source.splitlines()), "line")
        blocks.append(Details(f"feedback-class-{i}", title, (part,), note, small=True))
        before = written.source
    blocks += [t for call in run.shared_calls(0) for t in call_texts(call)]
    if notices := [*run.notices, *run.unread]:
        lines = tuple(Prose(words, "notice") for words in notices)
        blocks.append(Details("notices", "Notices", lines, str(len(notices)), small=True))
    for name, entries in settings(run):
        if entries:
            parts = (Entries(tuple(entries), short=True),)
            blocks.append(Details(f"about-{name.lower()}", name, parts, small=True))
    return Section("about", "How it was run", tuple(blocks), "about")


def _class_title(written: FeedbackClass) -> str:
    """Return ``Feedback class``, ``Feedback class as revised before round 3``."""
    if written.key.role.startswith("reflection"):
        return f"Feedback class as revised before round {written.key.round}"
    if written.key.role == "feedback":
        return "Feedback class"
    when = f"in round {written.key.round}" if written.key.round else "before round 1"
    return f"Feedback class as repaired {when}"


def settings(run: Run) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return settings that have a value, versions, and the sandbox, as labelled lines."""
    chosen = {k: v for k, v in run.settings.items() if v is not None and k != "out"}
    isolation = isolation_words(run.header.get("isolation"))
    return [
        ("Settings", _entries(chosen)),
        ("Versions", _entries(run.header.get("versions", {}))),
        ("Sandbox", [("isolation", isolation)] if isolation else []),
    ]


def _entries(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), _setting_words(value)) for name, value in values.items()]


def _setting_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text.number(value) if isinstance(value, int | float) else str(value)
