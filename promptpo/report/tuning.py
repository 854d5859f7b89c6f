"""The section on tuning: scores over its steps, before and after, constant by constant."""

from __future__ import annotations

from collections.abc import Iterator

from promptpo.common import text
from promptpo.common.blocks import Block, Cell, Details, Items, Prose, Section, Table, num
from promptpo.report.code import compared
from promptpo.report.figures import tuning_figures
from promptpo.store.run import Run
from promptpo.store.trials import Trial
from promptpo.tuning import ConstantFound, Standpoint, TuningAccount
from promptpo.ui.plain import difference_words


def tuning_section(run: Run) -> Section | None:
    """Return what tuning did to the policies of a run; None where it did nothing yet."""
    under_way = [*_under_way(run)]
    if not run.tuned and not under_way:
        return None
    telling = {name: account for name, account in run.tuned.items() if _is_telling(account)}
    blocks: list[Block] = [*tuning_figures(run)]
    if blocks:
        kept = " In colour: policies whose new values were kept in the end."
        blocks.append(Prose(
            "Each step is a judgement: from it on, these values stood, with the 95% interval of"
            f" what they had played.{kept if len(run.tuned) > 1 else ''}"
        ))  # fmt: skip
    going = "; it goes on" if run.status == "running" else ""
    blocks += [Prose(f"{words}{going}.", "notice") for words in under_way]
    if run.tuned:
        blocks.append(outcome_table(run))
        words = "The difference is the mean over the same episodes ± its standard error. "
        paired = any(account.difference is not None for account in run.tuned.values())
        rule = "What is better beyond noise is kept, and plays on as a candidate of its own."
        if any(account.open for account in run.tuned.values()):
            rule += " What is open, neither better nor worse beyond noise, counts by its estimate:"
            rule += " where that is the better one, the tuned copy plays on beside the written one."
        blocks.append(Prose(f"{words if paired else ''}{rule}"))
    for name, account in telling.items():
        blocks.append(_details(run, name, account, alone=len(telling) == 1))
    return Section("tuning", "Tuning", tuple(blocks), "tuning")


def _is_telling(account: TuningAccount) -> bool:
    """Return whether a tuning moved anything, failed in anything, or shows what matters."""
    moved = any(c.before != c.after or c.matters is not None for c in account.constants)
    return moved or bool(account.failures)


def outcome_table(run: Run) -> Table:
    """Return every policy that was tuned: as written, and with the values found."""
    caption = "As written, and with the values found, on episodes that nothing else has met"
    if all(account.before is None for account in run.tuned.values()):
        caption = "The policies that were tuned"
    standings = (s for account in run.tuned.values() for s in (account.before, account.after) if s)
    what = "Worst tenth" if any(s.by_tail for s in standings) else "Return"
    columns = ("Policy", "Steps", "Episodes", "Success as written", f"{what} as written",
               "Success tuned", f"{what} tuned", "Difference", "Outcome")  # fmt: skip
    rows = []
    for name, account in run.tuned.items():
        result, difference = _tuned(run, name, account), account.difference
        outcome = Cell("no better beyond noise", "1")
        if account.before is None:
            outcome = Cell("nothing better found", "2")
        elif account.kept:
            outcome = Cell(f"kept, as {result.name}" if result else "kept", "0", kind="won")
        elif account.open:
            name_of_copy = f" as {result.name}" if result else ""
            outcome = Cell(f"open: its estimate counts{name_of_copy}", "0.5")
        href = f"#tuning-{name}" if _is_telling(account) else ""
        rows.append((
            Cell(name, href=href, strong=account.plays_on),
            num(account.steps),
            num(account.final or None),
            *_scores(account.before),
            *_scores(account.after),
            Cell() if difference is None else num(difference, difference_words(account)),
            outcome,
        ))  # fmt: skip
    return Table(caption, columns, tuple(rows)).trimmed()


def _scores(standing: Standpoint | None) -> tuple[Cell, Cell]:
    if standing is None or standing.mean_return is None:
        return Cell(), Cell()
    rate = standing.success_rate
    return num(rate, "" if rate is None else f"{rate:.2f}"), num(standing.ranked)


def _tuned(run: Run, name: str, account: TuningAccount) -> Trial | None:
    """Return the latest candidate that came of tuning another one; None: nothing was kept."""
    tuned = (t for t in reversed(run.policies) if t.candidate.kind == "tuned" and account.plays_on)
    return next((t for t in tuned if t.candidate.parents == (name,)), None)


def _details(run: Run, name: str, account: TuningAccount, *, alone: bool) -> Details:
    blocks: list[Block] = [constants_table(account)]
    if account.failures:
        count = text.plural(sum(count for _, count in account.failures), "play")
        reasons = tuple(
            f"{count:,} \N{MULTIPLICATION SIGN} {text.gist(why)}" for why, count in account.failures
        )
        blocks += [Prose(f"{count} of other values failed:"), Items(reasons)]
    result, of = _tuned(run, name, account), run.trials.get(name)
    if result is not None and of is not None:
        old, new = of.candidate.source or "", result.candidate.source or ""
        diff = compared(old, new, name, result.name, f"candidates/{result.name}/policy.py")
        blocks += [diff] if diff else []
    words = f"{text.plural(account.samples, 'vector')} of values in {account.steps:,} steps"
    words = f"{text.plural(len(account.constants), 'constant')}, {words}"
    if account.restarts:
        words += f", {text.plural(account.restarts, 'restart')}"
    return Details(f"tuning-{name}", f"Constants of {name}", tuple(blocks), words, open=alone)


def constants_table(account: TuningAccount) -> Table:
    """Return the constants of a policy, what matters most first, with their ranges."""
    caption = "In the order of the source: vectors were too few to tell what matters"
    if any(c.matters is not None for c in account.constants):
        caption = "What matters most comes first: the share of what told vectors of values apart"
    order = sorted(account.constants, key=lambda c: (-(c.matters or 0.0), c.line))
    columns = ("Constant", "Line", "Before", "After", "Matters", "Range", "At")
    return Table(caption, columns, tuple(map(_constant_row, order))).trimmed()


def _constant_row(c: ConstantFound) -> tuple[Cell, ...]:
    low, high, before, after = (
        text.number(float(f"{value:.4g}")) for value in (c.low, c.high, c.before, c.after)
    )
    ends = {"low": "its lower end", "high": "its upper end"}
    return (
        Cell(c.name, strong=c.before != c.after, kind="code"),
        num(c.line),
        num(c.before, before),
        num(c.after, after),
        num(c.matters, f"{c.matters or 0.0:.1%}"),
        Cell(f"{low} to {high}{', logarithmic' if c.log else ''}", c.low),
        Cell(ends.get(c.at, ""), kind="end" if c.at else ""),
    )


def _under_way(run: Run) -> Iterator[str]:
    """Yield how far the tunings are that have not ended."""
    plays: dict[str, list[dict[str, object]]] = {}
    for data in run.tunings.values():
        name = f"r{data['key']['round']:02d}_c{data['key']['candidate']:02d}"
        plays.setdefault(name, []).extend(data["runs"])
    for name, runs in plays.items():
        steps = sum(int(str(r["steps"])) for r in runs)
        account = run.tuned.get(name)
        if account is None or steps > account.steps:
            failed = sum(r["error"] is not None for r in runs)
            count = text.plural(len(runs), "play")
            words = f"{name}: {steps:,} steps so far, {count} of vectors of values"
            yield words + (f", {failed:,} of which failed" if failed else "")
