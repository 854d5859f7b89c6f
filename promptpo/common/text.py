"""Numbers as text, in the terminal and in the files of a run."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from promptpo.common import bounds

if TYPE_CHECKING:
    from promptpo.outcomes import Gauge, Reading, Rollout, Score, Stream
    from promptpo.spec import Reference
    from promptpo.stats import Interval

T = TypeVar("T")


def number(value: float) -> str:
    """Return four digits or more: ``974.9``, ``0.04213``, ``4,868.2``, ``-12,345``."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Return ``0:07``, ``12:30``, ``1:02:03``."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def money(cost: float | None) -> str:
    """Return US dollars; ``cost unknown`` for None."""
    if cost is None:
        return "cost unknown"
    return f"${cost:.2f}" if cost == 0 or cost >= 0.1 else f"${cost:.2g}"


def plural(count: int, noun: str) -> str:
    """Return ``1 call``, ``2 calls``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def p_value(p: float | None) -> str:
    """Return two digits; ``< 0.001`` below that, ``-`` for None."""
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def score(data: Mapping[str, Any] | None) -> str:
    """Return ``success 0.80, return 3021.5``, or ``failed``."""
    if data is None or data.get("failed"):
        return "failed"
    text, rate = f"return {number(data['mean_return'])}", data.get("success_rate")
    if (tenth := data.get("worst_tenth")) is not None:
        text = f"worst tenth {number(tenth)}, {text}"
    return text if rate is None else f"success {rate:.2f}, {text}"


def gist(error: str) -> str:
    """Return the telling line of an error: a traceback's last one, else the first."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    if not lines:
        return ""
    line = lines[-1] if any(each.startswith("Traceback") for each in lines) else lines[0]
    return line if len(line) <= bounds.LINE else f"{line[: bounds.LINE - 3]}..."


def success_count(successes: Sequence[bool | None]) -> str:
    """Return ``"4/5"``, or ``"-"`` where the task defines no success."""
    if not successes or successes[0] is None:
        return "-"
    return f"{sum(map(bool, successes))}/{len(successes)}"


def tie_words(selection: Mapping[str, Any] | None) -> str:
    """Return a sentence on finalists that were tied, from the data of a selection; or nothing."""
    tied, smallest = (selection or {}).get("tied"), (selection or {}).get("smallest_difference")
    if not tied or smallest is None:
        return ""
    margin = f"within {number(smallest)} of return (the smallest difference that matters)"
    how = margin if smallest else "as they did alike in every episode"
    return f"{', '.join(tied)} are tied {how}; the shortest of them was chosen"


def success_words(run: Rollout) -> str:
    """Return ``success 0.96, 95% interval 0.87 to 0.99 (48 of 50 episodes)``, or ""."""
    interval = run.success_interval
    hits, count = sum(map(bool, run.successes)), len(run.successes)
    return (
        f"success {hits / count:.2f}, {between(interval, '.2f')} ({hits} of {count} episodes)"
        if interval
        else ""
    )


def return_words(run: Rollout) -> str:
    """Return ``return 4512.3, 95% interval 4400.1 to 4620.7``; empty without episodes."""
    returns = run.returns
    if not returns:
        return ""
    text = f"mean return {number(sum(returns) / len(returns))}"
    interval = run.return_interval
    if interval is None:
        return f"{text} ({plural(len(returns), 'episode')}: too few for an interval)"
    if interval.low == interval.high and run.life == 1:
        return f"{text} in every one of {len(returns)} episodes"
    lives = f" over {len(run.lives)} lives of {run.life} episodes" if run.life > 1 else ""
    return f"{text}, {between(interval)}{lives}"


def tenth_words(run: Rollout) -> str:
    """Return ``mean return of the worst tenth 3100, 95% interval ...``; empty where none ranks."""
    tenth, interval = run.worst_tenth, run.worst_tenth_interval
    if tenth is None:
        return ""
    sure = f", {between(interval)}" if interval else ""
    return f"mean return of the worst tenth {number(tenth)}{sure}"


def with_unit(value: float, unit: str) -> str:
    """Return ``12.5 kWh``."""
    return f"{number(value)} {unit}".rstrip()


#: Words for a metric of an episode by how its steps are gathered.
GATHERED = {
    "sum": "sum over the steps",
    "mean": "mean over the steps",
    "max": "highest value",
    "min": "lowest value",
    "last": "value of the last step",
}


def bound_words(gauge: Gauge) -> str:
    """Return ``at most 32 C in every step``; empty for what is no constraint."""
    bounds = [
        f"{word} {with_unit(bound, gauge.unit)}"
        for word, bound in (("at least", gauge.at_least), ("at most", gauge.at_most))
        if bound is not None
    ]
    every = {"max": gauge.at_least, "min": gauge.at_most}.get(gauge.gather, 0.0) is None
    when = "in every step" if every else _WHEN[gauge.gather]
    return f"{' and '.join(bounds)} {when}" if bounds else ""


_WHEN = {
    "sum": "in all",
    "mean": "on average",
    "max": "at the highest",
    "min": "at the lowest",
    "last": "in the last step",
}


def held_words(reading: Reading) -> str:
    """Return how often a constraint held, and by how much it was broken; empty for no constraint.

    ``held 48/50, broken by 1.2 C at worst``.
    """
    if not reading.gauge.bounded:
        return ""
    broken = [breach for breach in reading.breaches if breach > 0]
    worst = f", broken by {with_unit(max(broken), reading.gauge.unit)} at worst" if broken else ""
    return f"held {len(reading.values) - len(broken)}/{len(reading.values)}{worst}"


def reading_words(reading: Reading) -> str:
    """Return ``energy 12.5 kWh, 95% interval 12 to 13 (lower is better)``, or how it held."""
    gauge, interval = reading.gauge, reading.interval
    words = f"{reading.name} {with_unit(reading.mean, gauge.unit)}"
    if interval is not None and interval.low < interval.high:
        words += f", {between(interval)}"
    if gauge.bounded:
        return f"{words} ({bound_words(gauge)}: {held_words(reading)})"
    return f"{words} ({gauge.better}er is better)" if gauge.better else words


def life_words(run: Rollout) -> str:
    """Return ``return by episode of a life: 1: -61.2, ..., 10: 196``; empty for lives of one.

    Of a long life these are ten episodes, from the first to the last.
    """
    curve = run.life_curve
    last = len(curve) - 1
    places = dict.fromkeys(round(i * last / 9) for i in range(10)) if last > 9 else range(last + 1)
    words = [f"{curve[i].episode}: {number(curve[i].mean_return)}" for i in places]
    return f"return by episode of a life: {', '.join(words)}" if words else ""


def held_out_rows(run: Rollout) -> list[tuple[str, str]]:
    """Return the score of held-out episodes, or why there is none, as labelled lines."""
    if run.error is not None:
        return [("held-out", f"failed: {gist(run.error)}")]
    scores = (success_words(run), tenth_words(run), return_words(run), life_words(run))
    words = filter(None, (*scores, *map(reading_words, run.readings)))
    return [("held-out" if i == 0 else "", w) for i, w in enumerate(words)]


def reference_rows(references: Mapping[str, Score | Reference]) -> list[tuple[str, str]]:
    """Return the spec's reference values, on the scales of the held-out score."""
    rates = {k: v.success_rate for k, v in references.items() if v.success_rate is not None}
    tenths = {k: v.worst_tenth for k, v in references.items() if v.worst_tenth is not None}
    scales = [
        ("success", [f"{name} {rate:.2f}" for name, rate in rates.items()]),
        ("worst tenth", [f"{name} {number(tenth)}" for name, tenth in tenths.items()]),
        ("return", [f"{k} {number(v.mean_return)}" for k, v in references.items()]),
    ]
    rows = [f"{scale}: {', '.join(parts)}" for scale, parts in scales if parts]
    return [("compare" if i == 0 else "", row) for i, row in enumerate(rows)]


def steps(counts: Mapping[Stream, int], *, test: str = "test") -> str:
    """Return ``search 200, test 100`` for environment steps by stream; ``test`` names the last."""
    parts = [f"{test if k == 'test' else k} {n:,}" for k, n in counts.items() if n]
    return ", ".join(parts) or "none"


def span(*ends: float, form: str = "") -> str:
    """Return ``40 to 70``; ``form`` is a format of the numbers."""
    return " to ".join(f"{v:{form}}" if form else number(v) for v in ends)


def between(interval: Interval | None, form: str = "") -> str:
    """Return ``95% interval 40 to 70``; empty for none."""
    if interval is None:
        return ""
    return f"{interval.level:.0%} interval {span(interval.low, interval.high, form=form)}"


def program() -> str:
    """Return the command that started promptpo: ``.venv/bin/python -m promptpo``."""
    if Path(sys.argv[0]).name == "promptpo":
        return "promptpo"
    executable = sys.executable
    folder = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118 - string prefix, links kept
    if executable.startswith(folder):
        executable = executable[len(folder) :]
    elif shutil.which("python") == executable:
        executable = "python"
    return f"{executable} -m promptpo"


def near_path(path: str | Path) -> str:
    """Return a path relative to the current folder, where it lies below it."""
    path = Path(path)
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):  # OSError: the current folder is gone
        return str(path)


#: A task's name, and that of the task that it is a twin of; empty where it is of none.
Task: TypeAlias = tuple[str, str]


def side_by_side(items: Iterable[T], task_of: Callable[[T], Task]) -> list[T]:
    """Return the items in their order, but those of a task with twins together.

    They stand where the first of them was: the original's, then each twin's, by name.
    """
    unordered = list(items)
    tasks = [task_of(item) for item in unordered]
    with_twins = {original for _, original in tasks if original}
    places: dict[str, int] = {}

    def key(position: int) -> tuple[int, bool, str, int]:
        name, original = tasks[position]
        family = original or name
        if family not in with_twins:
            return (position, False, "", 0)
        return (places.setdefault(family, position), bool(original), name, position)

    keys = [key(position) for position in range(len(unordered))]
    return [unordered[position] for position in sorted(range(len(unordered)), key=keys.__getitem__)]


def task_words(task: Task) -> str:
    """Return a task's heading: ``twin_cartpole, a twin of cartpole``."""
    name, original = task
    return f"{name}, a twin of {original}" if original else name
