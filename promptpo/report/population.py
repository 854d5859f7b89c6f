"""The instructions that policies were written under, ready to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from promptpo.common.blocks import Chart, Line
from promptpo.report.tables import Cell, Table, blank, return_cell, success_cell, without
from promptpo.report.texts import has_details
from promptpo.store.reading import RunRecord
from promptpo.store.trials import Trial
from promptpo.types import Draw, Instruction, Population

#: Policies in the table of what was drawn, at most: the latest.
_MOST = 400

#: Instructions that are shown, at most: those that stand, then the latest.
_SHOWN = 60


@dataclass(frozen=True)
class InstructionView:
    """An instruction in full; ``words`` say how it stands, ``why`` what that rests on."""

    name: str
    text: str
    words: str
    why: str
    strong: bool


@dataclass(frozen=True)
class PopulationSection:
    """All of it: the weights by round, the instructions, what became of them, and who drew what.

    ``left_out`` is how many earlier policies the last table leaves out.
    """

    chart: Chart
    table: Table
    instructions: tuple[InstructionView, ...]
    changes: Table | None
    draws: Table
    left_out: int


@dataclass(frozen=True)
class _History:
    """One instruction through the rounds: as it last stood, and with which weights before."""

    last: Instruction
    ended: int
    weights: tuple[tuple[int, float], ...]
    draws: tuple[Draw, ...]

    @property
    def stands(self) -> bool:
        return self.last.state in ("active", "on trial")

    @property
    def words(self) -> str:
        """How it stands, and since when where it is gone."""
        if self.stands:
            return self.last.state
        return f"{self.last.state} after round {self.ended}"


def population_section(run: RunRecord, prefix: str) -> PopulationSection | None:
    """What a run's record tells of its instructions; None where its method has none."""
    told = [population for _, population in sorted(run.populations.items())]
    if not told:
        return None
    found = sorted(_histories(told), key=_order)[:_SHOWN]
    draws = [(p.round, draw) for p in told for draw in p.draws]
    lines = [_line(h, lead=i == 0) for i, h in enumerate(found)]
    return PopulationSection(
        Chart(
            "Weight of each instruction after each round",
            "rounds",
            tuple(sorted(lines, key=lambda line: (line.css == "lead", not line.dropped))),
            whole=True,
        ),
        _table(run, found, prefix),
        tuple(
            InstructionView(h.last.name, h.last.text, h.words, h.last.why, h.stands) for h in found
        ),
        _changes_table(told, prefix),
        _draws_table(run, draws[-_MOST:], prefix),
        max(len(draws) - _MOST, 0),
    )


def _line(history: _History, *, lead: bool) -> Line:
    name = history.last.name
    numbers, weights = zip(*history.weights, strict=True)
    return Line(
        name,
        numbers,
        weights,
        css="lead" if lead else "" if history.stands else "gone",
        tips=[f"{name} after round {number}: {weight:+.2f}" for number, weight in history.weights],
        named=True,
        dropped=not history.stands,
    )


def _order(history: _History) -> tuple[bool, float, str]:
    """Those that stand by their weight, then the others, the latest first."""
    return (not history.stands, -(history.last.weight if history.stands else history.ended),
            history.last.name)  # fmt: skip


def _histories(told: Sequence[Population]) -> Iterator[_History]:
    latest: dict[str, Instruction] = {}
    ended: dict[str, int] = {}
    weights: dict[str, list[tuple[int, float]]] = {}
    for population in told:
        for one in population.instructions:
            first = [] if one.since or population.round > 1 else [(0, 0.0)]
            weights.setdefault(one.name, first).append((population.round, one.weight))
            latest[one.name], ended[one.name] = one, population.round
    for name, one in latest.items():
        draws = tuple(d for p in told for d in p.draws if d.instruction == name)
        yield _History(one, ended[name], tuple(weights[name]), draws)


def _table(run: RunRecord, found: Sequence[_History], prefix: str) -> Table:
    columns = (
        ("Instruction", False), ("Since round", True), ("Weight", True), ("Policies", True),
        ("Mean standing", True), ("Best success", True), ("Best return", True), ("Of", False),
        ("State", False),
    )  # fmt: skip
    hidden = set() if run.defines_success else {"Best success"}
    caption = "The instructions, the heaviest first"
    return without(Table(caption, columns, tuple(_row(run, h, prefix) for h in found)), hidden)


def _row(run: RunRecord, history: _History, prefix: str) -> tuple[Cell, ...]:
    one = history.last
    scores = [d.score for d in history.draws if d.score is not None]
    trials = [t for d in history.draws if (t := run.trials.get(d.candidate)) is not None]
    best = max(trials, key=lambda t: t.score, default=None)
    scored = best is not None and not best.score.failed
    return (
        Cell(one.name, one.name, href=f"#{prefix}instruction-{one.name}", strong=history.stands),
        Cell(str(one.since or 1), one.since),
        _signed(one.weight),
        Cell(str(len(scores)), len(scores)),
        _standing(sum(scores) / len(scores) if scores else None),
        success_cell(best.score) if best else blank(),
        return_cell(best.score) if best else blank(),
        _named(run, best, prefix) if best and scored else blank(),
        Cell(history.words, history.words, kind="" if history.stands else "failed"),
    )


def _changes_table(told: Sequence[Population], prefix: str) -> Table | None:
    """What was proposed, admitted, rejected and pruned; None where nothing was."""
    rows = [row for population in told for row in _changes(population, prefix)]
    columns = (("Round", False), ("Instruction", False), ("Outcome", False), ("Because", False))
    caption = "What became of instructions"
    return Table(caption, columns, tuple(rows)) if rows else None


def _changes(population: Population, prefix: str) -> Iterator[tuple[Cell, ...]]:
    number = population.round
    if population.failed:
        yield _change(number, blank(), "none proposed", population.failed, "failed")
    for one in population.instructions:
        name = Cell(one.name, one.name, href=f"#{prefix}instruction-{one.name}")
        if one.name in population.admitted:
            yield _change(number, name, "admitted", "" if one.state == "pruned" else one.why, "won")
        if one.state in ("rejected", "pruned"):
            yield _change(number, name, one.state, one.why, "failed")
        if one.state == "on trial":
            yield _change(number, name, "still on trial", "nothing was played under it", "")


def _change(number: int, name: Cell, what: str, why: str, kind: str) -> tuple[Cell, ...]:
    return Cell(f"round {number}", number), name, Cell(what, what, kind=kind), Cell(why, why)


def _draws_table(run: RunRecord, draws: Sequence[tuple[int, Draw]], prefix: str) -> Table:
    columns = (("Policy", False), ("Instruction", False), ("Drawn with", True), ("Success", True),
               ("Mean return", True), ("Standing", True))  # fmt: skip
    rows = []
    for _, draw in draws:
        trial = run.trials.get(draw.candidate)
        chance = draw.chance
        rows.append((
            _named(run, trial, prefix) if trial else Cell(draw.candidate, draw.candidate),
            Cell(draw.instruction, draw.instruction,
                 href=f"#{prefix}instruction-{draw.instruction}"),
            Cell("on trial", 2) if chance is None else Cell(f"{chance:.0%}", chance),
            success_cell(trial.score) if trial else blank(),
            return_cell(trial.score) if trial else blank(),
            _standing(draw.score),
        ))  # fmt: skip
    hidden = set() if run.defines_success else {"Success"}
    return without(Table("The policies in their order", columns, tuple(rows)), hidden)


def _standing(score: float | None) -> Cell:
    return blank() if score is None else _signed(score)


def _signed(value: float) -> Cell:
    return Cell("0.00" if abs(value) < 0.005 else f"{value:+.2f}", value)


def _named(run: RunRecord, trial: Trial, prefix: str) -> Cell:
    href = f"#{prefix}{trial.name}" if has_details(run, trial) else ""
    return Cell(trial.name, trial.name, href=href)
