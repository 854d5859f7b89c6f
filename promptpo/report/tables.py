"""The tables of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptpo.common import text
from promptpo.common.blocks import Cell, Table, num
from promptpo.outcomes import Reading
from promptpo.racing import Difference, Paired, standard_error
from promptpo.stats import Interval, success_interval
from promptpo.store.codec import score_data, score_of
from promptpo.store.evals import OWN, KeptEvaluation, PolicyTest, ScoredPolicy
from promptpo.store.run import LIVE, Run
from promptpo.store.standings import HardEpisode, hard_episodes, meeting
from promptpo.store.trials import RoundRecord, Trial
from promptpo.types import Episode, Rollout, Score

#: Rows of a method's own table, at most: the latest.
_MOST_ROWS = 400


def headline(trial: Trial) -> str:
    """Return a candidate's search score in words."""
    return text.score(score_data(trial.score))


def success_cell(score: Score) -> Cell:
    """Return a cell of a success rate."""
    if score.failed or score.success_rate is None:
        return Cell()
    return num(score.success_rate, f"{score.success_rate:.2f}")


def return_cell(score: Score) -> Cell:
    """Return a cell of a mean return."""
    return Cell() if score.failed else num(score.mean_return)


def tenth_cell(score: Score) -> Cell:
    """Return a cell of the mean return of the worst tenth, where that ranks."""
    return Cell() if score.failed or score.worst_tenth is None else num(score.worst_tenth)


def cost_cell(cost: float | None) -> Cell:
    """Return a cell of US dollars; unknown where a price is."""
    if cost is None:
        return Cell("unknown", -math.inf, numeric=True)
    return num(cost, text.money(cost))


def difference_cell(difference: float | None, digits: str = "") -> Cell:
    """Return a cell of a number with its sign; ``digits`` as of ``format`` round it."""
    if difference is None:
        return Cell()
    rounded = float(format(difference, digits)) if digits else difference
    return num(difference, f"{'+' if difference > 0 else ''}{text.number(rounded)}")


def paired_words(paired: Paired) -> str:
    """Return ``better, +120 ± 30``, ``not told apart, -3 ± 9``, or that both did alike."""
    if paired.same:
        return "alike in every episode"
    parts = [_difference(paired.returns)]
    if paired.successes is not None and (paired.successes.mean or paired.successes.error):
        name = "worst tenth" if paired.tail else "return"
        parts = [f"success {_difference(paired.successes)}", f"{name} {parts[0]}"]
    verdict = {1: "better", -1: "worse", 0: "not told apart"}[paired.sign]
    return f"{verdict}, {', '.join(parts)}"


def _difference(difference: Difference) -> str:
    sign = "+" if difference.mean > 0 else ""
    return f"{sign}{text.number(difference.mean)} ± {_two_digits(difference.error)}"


def _two_digits(value: float) -> str:
    return text.number(float(f"{value:.2g}"))


def _against(run: Run, trial: Trial | None, name: str = "") -> Cell:
    """Return a cell of a policy against the best before it, which begins with ``name``."""
    met = meeting(run, trial) if trial else None
    if met is None:
        return Cell()
    kind = {1: "won", -1: "failed", 0: ""}[met.difference.sign]
    return Cell(f"{name}{paired_words(met.difference)}", met.difference.returns.mean, kind=kind)


def _with_error(trial: Trial) -> Cell:
    """Return a cell of a mean return with its standard error, where it has one."""
    played = trial.candidate.pooled
    if trial.score.failed:
        return Cell()
    error = standard_error(played.life_returns) if played and played.returns else 0.0
    words = text.number(trial.score.mean_return)
    return num(trial.score.mean_return, f"{words} ± {_two_digits(error)}" if error > 0 else words)


def _range_cell(values: Sequence[float]) -> Cell:
    """Return a cell of the lowest and the highest of some values."""
    return num(min(values), text.span(*dict.fromkeys((min(values), max(values)))))


def _interval_words(interval: Interval | None, form: str = "") -> str:
    return "" if interval is None else text.span(interval.low, interval.high, form=form)


def kind_words(trial: Trial) -> str:
    """Return what a candidate was made from; empty for a policy made from nothing."""
    kind, parents = trial.candidate.kind, " and ".join(trial.candidate.parents)
    if kind == "policy":
        return f"same text as {parents}" if parents else ""
    return f"{kind} of {parents}" if parents else kind


def trials_table(run: Run, record: RoundRecord) -> Table:
    """Return the candidates of a round, in their order."""
    columns = ("Candidate", "Kind", "Success", "Worst tenth", "Mean return", "Corrected",
               "Episodes", "Against the best before it", "Lowest to highest", "Mean length",
               "Clipped", "Repairs", "Cost", "Outcome")  # fmt: skip
    used = {
        "Clipped": any(t.candidate.rollout and t.candidate.rollout.clipped for t in record.trials),
        "Repairs": any(t.repairs for t in record.trials),
        "Cost": not run.replayed and any(t.cost for t in record.trials),
    }
    hidden = {columns.index(name) for name, useful in used.items() if not useful}
    readings = [{r.name: r for r in (t.candidate.pooled or _NONE).readings} for t in record.trials]
    names = list(dict.fromkeys(name for each in readings for name in each))
    rows = [
        (
            *(Cell() if i in hidden else cell
              for i, cell in enumerate(_trial_row(run, t, record))),
            *(_reading_cell(own.get(name)) for name in names),
        )
        for t, own in zip(record.trials, readings, strict=True)
    ]  # fmt: skip
    caption = f"Candidates of round {record.number}"
    return Table(caption, (*columns, *names), tuple(rows)).trimmed()


#: What has not played.
_NONE = Rollout("search", ())


def _reading_cell(reading: Reading | None) -> Cell:
    """Return a cell of the mean of a metric, and how often it held where it is a constraint."""
    if reading is None:
        return Cell()
    words = text.with_unit(reading.mean, reading.gauge.unit)
    if reading.gauge.bounded:
        words += f", {text.held_words(reading).partition(',')[0]}"
    return num(reading.mean, words)


def _corrected_cell(run: Run, trial: Trial) -> Cell:
    """Return a cell of a mean return without the luck of its round's episodes, where known."""
    corrected = run.corrected.get(trial.name)
    return num(corrected.mean if corrected else None)


def _trial_row(run: Run, trial: Trial, record: RoundRecord) -> tuple[Cell, ...]:
    won = record.winner is trial
    pooled, lengths, played = trial.candidate.pooled, Cell(), [Cell()] * 3
    if pooled is not None and not trial.score.failed:
        if pooled.lengths:
            mean = sum(pooled.lengths) / len(pooled.lengths)
            lengths = num(mean, text.number(round(mean, 1)))
        clipped = num(pooled.clipped, f"{pooled.clipped:.0%}")
        played = [num(len(pooled.whole)), _range_cell(pooled.returns), clipped]
    return (
        Cell(trial.name, href=f"#{trial.name}", strong=won),
        Cell("" if trial.candidate.kind == "policy" else kind_words(trial)),
        success_cell(trial.score),
        tenth_cell(trial.score),
        _with_error(trial),
        _corrected_cell(run, trial),
        played[0],
        _against(run, trial),
        played[1],
        lengths,
        played[2],
        num(trial.repairs),
        cost_cell(trial.cost) if trial.ended else Cell(),
        _outcome_cell(trial, run, won=won),
    )


def _outcome_cell(trial: Trial, run: Run, *, won: bool) -> Cell:
    """Return winner, scored, or why not."""
    if won:
        return Cell("winner", "0", strong=True, kind="won")
    if trial.state == "failed":
        words = text.gist(trial.candidate.error or "failed")
        short = words if len(words) <= 110 else words[:109] + "…"
        return Cell(short, f"3 {short}", kind="failed")
    states = {"asked": "waiting for a reply", "playing": "being played", "scored": "scored"}
    if run.status != LIVE:
        states |= {"asked": "no reply came", "playing": "not played to the end"}
    words = states[trial.state]
    if trial.candidate.kind == "policy" and (same := kind_words(trial)):
        words += f", {same}"
    return Cell(words, f"{1 if trial.state == 'scored' else 2} {words}")


def metrics_table(run: Rollout) -> Table | None:
    """Return metrics and constraints over episodes; None where the task has none."""
    rows = tuple(
        (
            Cell(reading.name),
            Cell(text.GATHERED[reading.gauge.gather]),
            num(reading.mean, text.with_unit(reading.mean, reading.gauge.unit)),
            num(reading.mean, _interval_words(reading.interval)),
            _range_cell(reading.values),
            Cell(text.bound_words(reading.gauge) or reading.gauge.better),
            _held_cell(reading),
        )
        for reading in run.readings
    )
    columns = ("Metric", "Of an episode", "Mean", "95% interval", "Lowest to highest", "Wanted",
               "Constraint")  # fmt: skip
    caption = f"Over {text.plural(len(run.whole), 'held-out episode')}"
    return Table(caption, columns, rows).trimmed() if rows else None


def _held_cell(reading: Reading) -> Cell:
    """Return how often a constraint held, and by how much it was broken at worst."""
    if not reading.gauge.bounded:
        return Cell()
    worst = max(reading.breaches)
    return Cell(text.held_words(reading), worst, kind="failed" if worst else "won")


def standings_table(run: Run) -> Table | None:
    """Return the best policy after each round by its pooled score; None before the first."""
    rows = []
    for record in run.round_records:
        end = run.ends.get(record.number) or {}
        best = run.trials.get((end.get("best") or {}).get("name", ""))
        if not record.done or best is None or best.score.failed:
            continue
        pooled, winner = best.candidate.pooled, record.winner
        rates = _interval_words(pooled.success_interval, ".2f") if pooled else ""
        returns = _interval_words(pooled.return_interval) if pooled else ""
        rows.append((
            Cell(f"{record.number}", record.number),
            Cell(best.name),
            _within(success_cell(best.score), rates),
            tenth_cell(best.score),
            _within(return_cell(best.score), returns),
            _corrected_cell(run, best),
            num(len(pooled.whole) if pooled else 0),
            _against(run, winner, f"{winner.name}: " if winner else ""),
        ))  # fmt: skip
    columns = ("Round", "Best so far", "Success", "Worst tenth", "Mean return", "Corrected",
               "Episodes", "The winner against the best before it")  # fmt: skip
    caption = "The best so far after each round, by all its search episodes; 95% intervals"
    return Table(caption, columns, tuple(rows)).trimmed() if rows else None


def _within(cell: Cell, interval: str) -> Cell:
    return replace(cell, text=f"{cell.text} ({interval})") if cell.text and interval else cell


def selection_table(run: Run) -> Table | None:
    """Return how the finalists did on the selection episodes; None where there were none."""
    finalists, tied = ((run.selection or {}).get(name) or () for name in ("finalists", "tied"))
    if not finalists:
        return None
    rows = []
    for finalist in sorted(finalists, key=lambda f: score_of(f["score"]).key, reverse=True):
        score, count, name = score_of(finalist["score"]), finalist.get("episodes"), finalist["name"]
        least = None
        if count and score.success_rate is not None and not score.failed:
            least = success_interval(round(score.success_rate * count), count)
        chosen = name == run.best_name
        outcome = "failed" if score.failed else "chosen" if chosen else ""
        outcome = outcome or ("tied" if name in tied else "")
        kind = {"failed": "failed", "chosen": "won"}.get(outcome, "")
        rows.append((
            Cell(name, strong=chosen),
            success_cell(score),
            num(least.low, f"{least.low:.2f}") if least else Cell(),
            tenth_cell(score),
            return_cell(score),
            num(count) if count else Cell(),
            Cell(outcome, kind=kind),
        ))  # fmt: skip
    scores = ("Success", "At the least", "Worst tenth", "Mean return")
    columns = ("Candidate", *scores, "Episodes", "Outcome")
    winners = {r.winner.name for r in run.round_records if r.winner}
    who = "Winners of the rounds" if winners >= {f["name"] for f in finalists} else "Finalists"
    return Table(f"{who} on the selection episodes", columns, tuple(rows)).trimmed()


def hard_table(run: Run) -> Table | None:
    """Return the hard episodes, and how the best so far and each challenger did; None: none."""
    rows = tuple(map(_hard_row, hard_episodes(run)))
    columns = ("Seed", "The best so far", "Its challengers")
    return Table("The best so far had failed in these", columns, rows) if rows else None


def _hard_row(hard: HardEpisode) -> tuple[Cell, ...]:
    own = f"{hard.incumbent}: {_ended(hard.own)}" if hard.own else hard.incumbent
    others = "; ".join(f"{name}: {_ended(e)}" for name, e in hard.challengers)
    return Cell(f"{hard.seed}", hard.seed), Cell(own), Cell(others)


def _ended(episode: Episode) -> str:
    success = {True: "success, ", False: "no success, ", None: ""}[episode.success]
    return f"{success}return {text.number(episode.return_)}, {text.plural(episode.length, 'step')}"


def probes_table(probes: Sequence[tuple[str, Trial]], first: str, caption: str) -> Table:
    """Return what probes did, by name; ``first`` heads the column of names."""
    rows = []
    for name, trial in probes:
        lengths = trial.candidate.pooled.lengths if trial.candidate.pooled else ()
        steps = [f"{n:,}" for n in dict.fromkeys((min(lengths), max(lengths)))] if lengths else []
        rows.append((
            Cell(name),
            success_cell(trial.score),
            _with_error(trial),
            num(len(lengths)),
            num(min(lengths, default=0), " to ".join(steps)),
        ))  # fmt: skip
    columns = (first, "Success", "Mean return", "Episodes", "Steps")
    return Table(caption, columns, tuple(rows)).trimmed()


def method_tables(run: Run) -> Iterator[tuple[Table, str]]:
    """Yield the tables of the method's own facts, the latest rows of each, and their summaries.

    A cell that holds the name of a policy leads to it.
    """
    for title, by_round in run.tables.items():
        last = by_round[max(by_round)]
        parts = [by_round[number] for number in sorted(by_round)] if last.adds else [last]
        rows = [row for part in parts for row in part.rows][-_MOST_ROWS:]
        count = min(map(len, [last.columns, *rows]))
        cells = tuple(tuple(map(_method_cell, row[:count])) for row in rows)
        yield Table(title, last.columns[:count], cells), last.text


def _method_cell(value: str | float | None) -> Cell:
    return Cell(value, href=f"#{value}") if isinstance(value, str) else num(value)


def life_table(test: Rollout) -> Table:
    """Return what a policy returned in each episode of its lives."""
    rows = tuple(
        (
            Cell(str(p.episode), p.episode),
            num(p.mean_return),
            num(p.mean_return, _interval_words(p.interval) or "-"),
            num(p.success_rate, f"{p.success_rate:.2f}" if p.success_rate is not None else ""),
            num(p.lives),
        )
        for p in test.life_curve
    )
    columns = ("Episode of a life", "Mean return", "95% interval", "Success", "Lives")
    caption = "What the policy returned in each episode of its life, over all lives"
    return Table(caption, columns, rows).trimmed()


def evaluation_table(evaluation: KeptEvaluation) -> Table:
    """Return a kept evaluation; differences are those from the run's own policy."""
    count = max((len(p.episodes) for p in evaluation.evaluations), default=0)
    seed = "" if evaluation.seed is None else f" of seed {evaluation.seed}"
    when = evaluation.time.replace("T", " ").removesuffix("Z")
    measure = evaluation.tests[0].measure if evaluation.tests else ""
    tests = {t.b if t.a == OWN else t.a: t for t in evaluation.tests if OWN in (t.a, t.b)
             and t.measure == measure}  # fmt: skip
    metrics = dict.fromkeys(name for p in evaluation.evaluations for name in p.metrics)
    columns = ("Policy", "Success", "Worst tenth", "Mean return", "Interval",
               "best/policy.py leads by", "p (Holm)", *metrics, "Outcome")  # fmt: skip
    rows = tuple(_evaluation_row(p, tests.get(p.policy), metrics) for p in evaluation.evaluations)
    caption = f"{when} UTC: {text.plural(count, 'held-out episode')}{seed}"
    return Table(caption, columns, rows).trimmed()


def _evaluation_row(
    policy: ScoredPolicy, test: PolicyTest | None, metrics: Iterable[str]
) -> tuple[Cell, ...]:
    bounds, lead, p = policy.mean_return_interval or (), Cell(), Cell()
    if test is not None:
        lead = difference_cell(test.difference if test.a == OWN else -test.difference)
        p = num(1.0 if test.p_holm is None else test.p_holm, text.p_value(test.p_holm))
    return (
        Cell(policy.policy, strong=policy.policy == OWN),
        success_cell(policy.score),
        tenth_cell(policy.score),
        return_cell(policy.score),
        num(bounds[0], text.span(*bounds)) if bounds else Cell(),
        lead,
        p,
        *(_kept_cell(policy.metrics.get(name)) for name in metrics),
        Cell(text.gist(policy.error or ""), kind="failed" if policy.error else ""),
    )


def _kept_cell(metric: Mapping[str, Any] | None) -> Cell:
    """Return the mean of a metric of a kept evaluation."""
    if metric is None:
        return Cell()
    return num(metric["value"], text.with_unit(metric["value"], metric["unit"]))
