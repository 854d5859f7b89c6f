"""How policies stand against each other: tables by round, of hard episodes, of probes."""

from __future__ import annotations

from dataclasses import replace

from promptpo.common import text
from promptpo.prompts.words import strategy_line
from promptpo.racing import Difference, Paired, standard_error
from promptpo.report.tables import Cell, Table, blank, return_cell, success_cell, without
from promptpo.report.texts import has_details
from promptpo.stats import success_interval
from promptpo.store.codec import score_of
from promptpo.store.run import Run
from promptpo.store.standings import HardEpisode, Meeting, hard_episodes, meeting
from promptpo.store.trials import RoundRecord, Trial
from promptpo.types import Episode, Rollout, Score

#: Rows of a table of the method's own that a page shows, at most: the latest.
_MOST_ROWS = 400

_WORDS = {1: "better", -1: "worse", 0: "not told apart"}


def paired_words(told: Paired) -> str:
    """``better, +120 ± 30``, ``not told apart, -3 ± 9``, or that both did alike."""
    if told.same:
        return "alike in every episode"
    parts = [_difference(told.returns)]
    if told.successes is not None and (told.successes.mean or told.successes.error):
        parts = [f"success {_difference(told.successes)}", f"return {parts[0]}"]
    return f"{_WORDS[told.sign]}, {', '.join(parts)}"


def _difference(told: Difference) -> str:
    sign = "+" if told.mean > 0 else ""
    return f"{sign}{text.number(told.mean)} ± {_two_digits(told.error)}"


def _two_digits(value: float) -> str:
    return text.number(float(f"{value:.2g}"))


def against_cell(found: Meeting | None) -> Cell:
    """A policy against the best before it."""
    if found is None:
        return blank()
    kind = {1: "won", -1: "failed", 0: ""}[found.difference.sign]
    return Cell(paired_words(found.difference), found.difference.returns.mean, kind=kind)


def with_error(run: Rollout | None) -> str:
    """A mean return with its standard error, where it has one."""
    if run is None or not run.returns:
        return ""
    error = standard_error(run.life_returns)
    mean = text.number(sum(run.returns) / len(run.returns))
    return f"{mean} ± {_two_digits(error)}" if error > 0 else mean


def rounds_table(run: Run) -> Table | None:
    """The best policy after each round by its pooled score; None before the first has ended."""
    rows = [row for r in run.round_records if r.done and (row := _round_row(run, r))]
    columns = (
        ("Round", False), ("Best so far", False), ("Success", True), ("Mean return", True),
        ("Episodes", True), ("The winner against the best before it", False),
    )  # fmt: skip
    hidden = set() if run.defines_success else {"Success"}
    if not any(row[-1].text for row in rows):
        hidden.add(columns[-1][0])
    caption = "The best so far after each round, by all its search episodes; 95% intervals"
    return without(Table(caption, columns, tuple(rows)), hidden) if rows else None


def _round_row(run: Run, record: RoundRecord) -> tuple[Cell, ...] | None:
    best = run.trials.get(((run.ends.get(record.number) or {}).get("best") or {}).get("name", ""))
    if best is None or best.score.failed:
        return None
    pooled = best.candidate.pooled
    winner = record.winner
    found = meeting(run, winner) if winner else None
    told = f"{winner.name}: {paired_words(found.difference)}" if winner and found else ""
    kind = {1: "won", -1: "failed", 0: ""}[found.difference.sign] if found else ""
    rates, returns = _intervals(pooled)
    count = len(pooled.whole) if pooled else 0
    return (
        Cell(f"{record.number}", record.number),
        Cell(best.name, best.name),
        _within(success_cell(best.score), rates),
        _within(return_cell(best.score), returns),
        Cell(f"{count}", count),
        Cell(told, told, kind=kind),
    )


def _within(cell: Cell, interval: str) -> Cell:
    return replace(cell, text=f"{cell.text} ({interval})") if cell.text and interval else cell


def _intervals(run: Rollout | None) -> tuple[str, str]:
    """Of the success rate and of the mean return, in words; empty where there is none."""
    if run is None or not run.returns:
        return "", ""
    returns = run.return_interval
    words = f"{text.number(returns.low)} to {text.number(returns.high)}" if returns else ""
    rates = run.success_interval
    return (f"{rates.low:.2f} to {rates.high:.2f}" if rates else ""), words


def hard_table(run: Run) -> Table | None:
    """The hard episodes, and how the best so far and each challenger did; None without any."""
    rows = tuple(_hard_row(episode) for episode in hard_episodes(run))
    columns = (("Seed", False), ("The best so far", False), ("Its challengers", False))
    caption = "Hard episodes: the best so far had failed in them"
    return Table(caption, columns, rows) if rows else None


def _hard_row(episode: HardEpisode) -> tuple[Cell, ...]:
    own = f"{episode.incumbent}: {_ended(episode.own)}" if episode.own else episode.incumbent
    others = "; ".join(f"{name}: {_ended(e)}" for name, e in episode.challengers)
    return Cell(f"{episode.seed}", episode.seed), Cell(own, own), Cell(others, others)


def _ended(episode: Episode) -> str:
    success = {True: "success, ", False: "no success, ", None: ""}[episode.success]
    return f"{success}return {text.number(episode.return_)}, {text.plural(episode.length, 'step')}"


def probes_table(run: Run) -> Table | None:
    """What zero and random actions do, or random policies; None where it was not looked at."""
    played = [t for t in run.probes if t.candidate.pooled is not None]
    what, title = (
        ("Policy", "Random policies before round 1")
        if warmed_up(run)
        else ("Actions", "Episodes without any policy")
    )
    columns = ((what, False), ("Success", True), ("Mean return", True), ("Episodes", True),
               ("Steps", True))  # fmt: skip
    hidden = set() if run.defines_success else {"Success"}
    table = Table(title, columns, tuple(map(_probe_row, played)))
    return without(table, hidden) if played else None


def warmed_up(run: Run) -> bool:
    """Whether random policies were played before round 1, and not policies that do nothing."""
    return any(t.candidate.kind == "sample" for t in run.probes)


def probe_name(trial: Trial) -> str:
    """What a probe does; the name of a random policy."""
    if trial.candidate.kind == "sample":
        return trial.name
    return strategy_line(trial.candidate.source).rstrip(".") or trial.name


def _probe_row(trial: Trial) -> tuple[Cell, ...]:
    run, name = trial.candidate.pooled, probe_name(trial)
    lengths = run.lengths if run else ()
    steps = (
        " to ".join(f"{n:,}" for n in dict.fromkeys((min(lengths), max(lengths))))
        if lengths
        else ""
    )
    return (
        Cell(name, name),
        success_cell(trial.score),
        Cell(with_error(run), trial.score.mean_return),
        Cell(f"{len(lengths)}", len(lengths)),
        Cell(steps, min(lengths, default=0)),
    )


def selection_table(run: Run) -> Table | None:
    """How the winners of the rounds did on the selection episodes; None where there were none."""
    finalists = (run.selection or {}).get("finalists")
    if not finalists:
        return None
    ranked = sorted(finalists, key=lambda f: score_of(f["score"]).key, reverse=True)
    rows = []
    for finalist in ranked:
        score, chosen = score_of(finalist["score"]), finalist["name"] == run.best_name
        note = Cell("chosen" if chosen else "", "", strong=chosen, kind="won" if chosen else "")
        name = Cell(finalist["name"], finalist["name"], strong=chosen)
        failed = Cell("failed", "", kind="failed") if score.failed else note
        count = finalist.get("episodes")
        rows.append(
            (
                name,
                success_cell(score),
                _bound_cell(score, count),
                return_cell(score),
                Cell(f"{count}", count) if count else blank(),
                failed,
            )
        )
    columns = (("Candidate", False), ("Success", True), ("At the least", True),
               ("Mean return", True), ("Episodes", True), ("Outcome", False))  # fmt: skip
    winners = {r.winner.name for r in run.round_records if r.winner}
    who = "Winners of the rounds" if winners >= {f["name"] for f in finalists} else "Finalists"
    caption = f"{who} on the selection episodes"
    hidden = set() if run.defines_success else {"Success", "At the least"}
    if not any(finalist.get("episodes") for finalist in ranked):
        hidden |= {"Episodes", "At the least"}
    return without(Table(caption, columns, tuple(rows)), hidden)


def _bound_cell(score: Score, episodes: int | None) -> Cell:
    """The lower bound of a success rate, by which finalists are chosen first."""
    if not episodes or score.failed or score.success_rate is None:
        return blank()
    interval = success_interval(round(score.success_rate * episodes), episodes)
    return Cell(f"{interval.low:.2f}", interval.low) if interval else blank()


def method_tables(run: Run, prefix: str) -> list[tuple[Table, str]]:
    """Return the tables of the method's own facts, the latest rows of each, and their summaries.

    A cell that holds the name of a policy leads to it.
    """
    shown = []
    for title, by_round in run.tables.items():
        last = by_round[max(by_round)]
        parts = [by_round[number] for number in sorted(by_round)] if last.adds else [last]
        rows = [row for part in parts for row in part.rows][-_MOST_ROWS:]
        cells = [tuple(_method_cell(run, value, prefix) for value in row) for row in rows]
        numbers = [
            bool(column) and all(isinstance(value, int | float | None) for value in column)
            for column in zip(*rows, strict=False)
        ]
        columns = tuple(zip(last.columns, numbers, strict=False))
        shown.append(
            (Table(title, columns, tuple(row[: len(columns)] for row in cells)), last.text)
        )
    return shown


def _method_cell(run: Run, value: str | float | None, prefix: str) -> Cell:
    if value is None:
        return blank()
    if not isinstance(value, str):
        return Cell(text.number(value), value)
    trial = run.trials.get(value)
    linked = trial is not None and has_details(run, trial)
    return Cell(value, value, href=f"#{prefix}{value}" if linked else "")
