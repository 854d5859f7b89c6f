"""What tuning did to policies, ready to show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from promptpo.common import text
from promptpo.common.blocks import Figure
from promptpo.report.chart import bar, marker
from promptpo.report.code import DiffRow, side_by_side
from promptpo.report.figures import tuning_figures
from promptpo.report.others import fitting
from promptpo.report.tables import Cell, Table, blank, without
from promptpo.store.run import Run
from promptpo.store.trials import Trial
from promptpo.tuning import ConstantFound, Standpoint, TuningAccount
from promptpo.ui.tuning import difference_words


@dataclass(frozen=True)
class ConstantView:
    """One constant: ``range`` shows where its values lie, ``bar`` how much it matters."""

    name: str
    line: int
    before: Cell
    after: Cell
    low: str
    high: str
    range: Markup
    share: Cell
    bar: Markup
    moved: bool
    end: str = ""


@dataclass(frozen=True)
class TunedView:
    """A policy's tuning: ``made`` names what came of it, ``diff`` leads from one to the other."""

    name: str
    words: str
    made: str
    constants: tuple[ConstantView, ...]
    failures: tuple[tuple[int, str], ...]
    failed: int
    diff: tuple[DiffRow, ...] = ()
    cut: int = 0

    @property
    def weighed(self) -> bool:
        """Whether it is known what matters."""
        return any(c.share.text for c in self.constants)


@dataclass(frozen=True)
class TuningSection:
    """All of it: ``curves`` by name, the policies at a glance and one by one, and what goes on."""

    curves: tuple[Figure, ...]
    table: Table | None
    policies: tuple[TunedView, ...]
    now: tuple[str, ...]


def tuning_section(run: Run, room: int, prefix: str) -> TuningSection | None:
    """What tuning did to the policies of a run; ``room`` as of ``tuned_views``."""
    now = tuple(under_way(run))
    if not run.tuned and not now:
        return None
    policies = tuple(tuned_views(run, room))
    return TuningSection(tuple(tuning_figures(run)), outcome_table(run, prefix), policies, now)


def tuned_views(run: Run, room: int) -> list[TunedView]:
    """The tunings of which there is anything to tell, in their order.

    The differences of sources may take ``room`` bytes.
    """
    each = max(room // (4 * max(len(run.tuned), 1)), 3000)
    return [_view(run, n, account, each) for n, account in run.tuned.items() if _telling(account)]


def _telling(account: TuningAccount) -> bool:
    """Whether a tuning moved anything, failed in anything, or shows what matters."""
    moved = any(c.before != c.after or c.matters is not None for c in account.constants)
    return moved or bool(account.failures)


def _view(run: Run, name: str, account: TuningAccount, room: int) -> TunedView:
    made, of = _made(run, name, account), run.trials.get(name)
    diff: tuple[DiffRow, ...] = ()
    cut = 0
    if made is not None and of is not None:
        whole = side_by_side(of.candidate.source or "", made.candidate.source or "")
        diff = whole[: fitting(whole, room)]
        cut = len(whole) - len(diff)
    most = max((c.matters or 0.0 for c in account.constants), default=0.0)
    order = sorted(account.constants, key=lambda c: (-(c.matters or 0.0), c.line))
    return TunedView(
        name,
        _words(account),
        made.name if made else "",
        tuple(_constant(c, most) for c in order),
        tuple((count, text.gist(why)) for why, count in account.failures),
        sum(count for _, count in account.failures),
        diff,
        cut,
    )


def _made(run: Run, name: str, account: TuningAccount) -> Trial | None:
    """The latest candidate that came of tuning another one; None where nothing was kept."""
    found = [
        t
        for t in run.policies
        if t.candidate.kind == "tuned" and t.candidate.parents == (name,) and account.kept
    ]
    return found[-1] if found else None


def _words(account: TuningAccount) -> str:
    tried = f"{text.plural(account.samples, 'vector')} of values in {account.steps:,} steps"
    begun = f", {text.plural(account.restarts, 'restart')}" if account.restarts else ""
    return f"{text.plural(len(account.constants), 'constant')}, {tried}{begun}"


def outcome_table(run: Run, prefix: str) -> Table | None:
    """Every policy that was tuned: as written, and with the values found; no empty columns."""
    if not run.tuned:
        return None
    rates = any(a.before and a.before.success_rate is not None for a in run.tuned.values())
    columns = [("Policy", False), ("Steps", True), ("Episodes", True)]
    for when in ("as written", "tuned"):
        columns += [(f"Success {when}", True)] if rates else []
        columns += [(f"Return {when}", True)]
    columns += [("Difference", True), ("Outcome", False)]
    rows = tuple(
        _row(run, name, account, prefix, rates=rates) for name, account in run.tuned.items()
    )
    caption = "As written, and with the values found, on episodes that nothing else has met"
    if all(account.before is None for account in run.tuned.values()):
        caption = "The policies that were tuned"
    empty = {name for i, (name, _) in enumerate(columns) if not any(row[i].text for row in rows)}
    return without(Table(caption, tuple(columns), rows), empty)


def _row(
    run: Run, name: str, account: TuningAccount, prefix: str, *, rates: bool
) -> tuple[Cell, ...]:
    made = _made(run, name, account)
    if account.before is None:
        outcome = Cell("nothing better found", "2")
    elif account.kept:
        outcome = Cell(f"kept, as {made.name}" if made else "kept", "0", kind="won")
    else:
        outcome = Cell("no better beyond noise", "1")
    difference = account.difference
    href = f"#{prefix}tuning-{name}" if _telling(account) else ""
    return (
        Cell(name, name, href=href, strong=account.kept),
        Cell(f"{account.steps:,}", account.steps),
        Cell(f"{account.final}", account.final) if account.final else blank(),
        *_scores(account.before, rates=rates),
        *_scores(account.after, rates=rates),
        blank() if difference is None else Cell(difference_words(account), difference),
        outcome,
    )


def _scores(standing: Standpoint | None, *, rates: bool) -> list[Cell]:
    if standing is None or standing.mean_return is None:
        return [blank()] * (2 if rates else 1)
    mean, rate = standing.mean_return, standing.success_rate
    found = [Cell(text.number(mean), mean)]
    if rates:
        found.insert(0, blank() if rate is None else Cell(f"{rate:.2f}", rate))
    return found


def _constant(c: ConstantFound, most: float) -> ConstantView:
    share = blank() if c.matters is None else Cell(f"{c.matters:.1%}", c.matters)
    return ConstantView(
        c.name,
        c.line,
        Cell(_number(c.before), c.before),
        Cell(_number(c.after), c.after),
        _number(c.low),
        _number(c.high),
        _range(c),
        share,
        Markup("") if c.matters is None else bar(c.matters / (most or 1.0), f"{c.matters:.1%}"),
        c.before != c.after,
        {"low": "at its lower end", "high": "at its upper end"}.get(c.at, ""),
    )


def _number(value: float) -> str:
    return text.number(float(f"{value:.4g}"))


def _range(c: ConstantFound) -> Markup:
    """Return the markers of a range: where the value was, where it is."""
    words = f"{_number(c.low)} to {_number(c.high)}{', by its logarithm' if c.log else ''}"
    words += f": {_number(c.before)} before, {_number(c.after)} after"
    return marker(_place(c, c.before), _place(c, c.after), words, end=bool(c.at))


def _place(c: ConstantFound, value: float) -> float:
    """Where a value lies in its range, from 0 to 1."""
    if c.low == c.high:
        return 0.5
    if c.log and c.low > 0:
        return math.log(max(value, c.low) / c.low) / math.log(c.high / c.low)
    return (value - c.low) / (c.high - c.low)


def under_way(run: Run) -> list[str]:
    """How far the tunings are that have not ended, in words."""
    found: dict[str, list[dict[str, object]]] = {}
    for data in run.tunings.values():
        name = f"r{data['key']['round']:02d}_c{data['key']['candidate']:02d}"
        found.setdefault(name, []).extend(data["runs"])
    return [
        words for name, runs in found.items() if (words := _so_far(name, runs, run.tuned.get(name)))
    ]


def _so_far(name: str, runs: Sequence[dict[str, object]], account: TuningAccount | None) -> str:
    steps = sum(int(str(r["steps"])) for r in runs)
    if account is not None and steps <= account.steps:
        return ""
    failed = sum(r["error"] is not None for r in runs)
    words = f"{name}: {steps:,} steps so far, {text.plural(len(runs), 'play')} of vectors of values"
    return words + (f", {failed:,} of which failed" if failed else "")
