"""What policies computed before they acted, ready to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from promptpo.common import text
from promptpo.report.tables import Cell, Table, blank, without
from promptpo.report.texts import Text
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run
from promptpo.types import Candidate, Preparation

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Values that are shown of one policy, and of all of a run; of each policy a few all the same.
_MOST, _ALL, _FEW = 40, 1000, 4

#: An array with so many numbers is shown whole, and of a longer one the first few.
_WHOLE, _FIRST = 16, 6

#: Characters of a string that are shown.
_CHARACTERS = 200


@dataclass(frozen=True)
class ValueView:
    """One value: what it is (``array 3 x 4``), and its numbers or the first of them.

    ``spread`` has the range and the mean of an array that is not shown whole.
    """

    name: str
    kind: str
    shown: str
    spread: str = ""


@dataclass(frozen=True)
class PreparedView:
    """What came of one ``prepare``.

    ``more`` is how many values are not shown, all of which are in the file ``kept``; ``lost`` says
    that this cannot be read.
    """

    name: str
    id: str
    words: str
    error: str
    output: Text | None
    values: tuple[ValueView, ...] = ()
    more: int = 0
    kept: str = ""
    lost: bool = False


@dataclass(frozen=True)
class PreparingSection:
    """All policies at a glance, and what each computed; equal ones once."""

    table: Table
    policies: tuple[PreparedView, ...]

    @property
    def predicting(self) -> bool:
        """Whether any policy said what it expects."""
        return any(name == "Predicted return" for name, _ in self.table.columns)


@dataclass(frozen=True)
class _Found:
    """An attempt that prepared; ``candidate`` is None as long as nothing else is known of it."""

    name: str
    done: Preparation
    candidate: Candidate | None
    first: bool

    @property
    def id(self) -> str:
        return self.name.replace(", repair ", "-repair-")


def preparing_section(run: Run, room: int, prefix: str) -> PreparingSection | None:
    """What the policies of a run prepared; outputs of at most ``room`` characters."""
    found = _found(run)
    if not found:
        return None
    most = min(max(_ALL // len(found), _FEW), _MOST)
    views = tuple(_view(run, f, room, most) for f in found if f.first)
    return PreparingSection(_table(found, prefix), views)


def _found(run: Run) -> list[_Found]:
    """Attempts that prepared, in the order of rounds and candidates; then those under way."""
    found: list[_Found] = []
    for trial in sorted(run.policies, key=lambda t: t.key):
        for number, attempt in sorted(trial.attempts.items()):
            if attempt.preparation is not None:
                name = _named(trial.name, number)
                found.append(_Found(name, attempt.preparation, attempt, first=False))
    told = {f.done.digest for f in found}
    for digest, done in run.preparations.items():
        if digest not in told:
            key = run.prepared_by[digest]
            found.append(_Found(_named(key.name, key.attempt), done, None, first=False))
    seen: set[str] = set()
    for i, one in enumerate(found):
        found[i] = _Found(one.name, one.done, one.candidate, one.done.digest not in seen)
        seen.add(one.done.digest)
    return found


def _named(name: str, attempt: int) -> str:
    return f"{name}, repair {attempt}" if attempt else name


def _table(found: Sequence[_Found], prefix: str) -> Table:
    columns = [("Policy", False), ("Episodes", True), ("Transitions", True), ("Computing", True)]
    columns += [("Predicted return", True), ("Mean return", True), ("Difference", True)]
    columns += [("Outcome", False)]
    first = {f.done.digest: f for f in found if f.first}
    rows = tuple(_row(f, first[f.done.digest], prefix) for f in found)
    caption = "prepare(data) of each policy: on how much it ran, and what its policy then got"
    table = Table(caption, tuple(columns), rows)
    if all(f.done.predicted is None for f in found):
        table = without(table, {"Predicted return", "Difference"})
    return table if any(row[-1].text for row in table.rows) else without(table, {"Outcome"})


def _row(found: _Found, first: _Found, prefix: str) -> tuple[Cell, ...]:
    done, candidate = found.done, found.candidate
    real = None
    if candidate is not None and not candidate.score.failed:
        real = candidate.score.mean_return
    return (
        Cell(found.name, found.name, href=f"#{prefix}prepared-{first.id}"),
        Cell(f"{done.episodes:,}", done.episodes),
        Cell(f"{done.transitions:,}", done.transitions),
        Cell(f"{done.seconds:.3g} s", done.seconds),
        _number(done.predicted),
        _number(real),
        _difference(done.predicted, real),
        _outcome(found, first),
    )


def _number(value: float | None) -> Cell:
    return blank() if value is None else Cell(text.number(value), value)


def _difference(predicted: float | None, real: float | None) -> Cell:
    if predicted is None or real is None:
        return blank()
    off = real - predicted
    return Cell(f"{'+' if off > 0 else ''}{text.number(float(f'{off:.4g}'))}", off)


def _outcome(found: _Found, first: _Found) -> Cell:
    done, candidate = found.done, found.candidate
    if done.error is not None:
        return Cell(f"failed: {text.gist(done.error)}", "2", kind="failed")
    if candidate is None:
        return Cell("not played yet", "1")
    if candidate.error is not None:
        return Cell("prepared; the policy failed", "2", kind="failed")
    return blank() if found is first else Cell(f"prepared as {first.name}", "0")


def _view(run: Run, found: _Found, room: int, most: int) -> PreparedView:
    done, output = found.done, None
    if done.output.strip():
        output = Text("Printed", done.output.strip("\n")).within(room)
    view = PreparedView(found.name, found.id, _words(done), done.error or "", output)
    if done.values is None:
        return view
    folder = RunFolder(run.folder)
    name = run.values_in.get(done.values, "")
    kept = folder.prepared(name, done.values).relative_to(folder.path).as_posix()
    values = _unpacked(folder.read_prepared(name, done.values))
    if values is None:
        return replace(view, kept=kept, lost=True)
    shown = tuple(_value(n, v) for n, v in list(values.items())[:most])
    more = len(values) - len(shown)
    return replace(view, words=_words(done, values), values=shown, more=more, kept=kept)


def _unpacked(packed: bytes | None) -> dict[str, Any] | None:
    """The values of a file; None where it cannot be read."""
    import sandbox

    try:
        return None if packed is None else dict(sandbox.unpack(packed))
    except ValueError:
        return None


def _words(done: Preparation, values: dict[str, Any] | None = None) -> str:
    if done.error is not None:
        return f"failed after {done.seconds:.3g} s"
    if values is None:
        return f"{done.seconds:.3g} s"
    import numpy as np

    count = sum(np.size(v) for v in values.values() if not isinstance(v, str))
    names = text.plural(len(values), "value")
    return f"{names}, {count:,} number{'s' * (count != 1)}"


def _value(name: str, value: Any) -> ValueView:  # noqa: ANN401 - a value of the codec
    import numpy as np

    if isinstance(value, np.ndarray):
        return _array(name, value)
    if isinstance(value, str):
        cut = value if len(value) <= _CHARACTERS else f"{value[: _CHARACTERS - 3]}..."
        return ValueView(name, "str", cut)
    return ValueView(name, type(value).__name__, repr(value))


def _array(name: str, value: NDArray[Any]) -> ValueView:
    import numpy as np

    kind = "array " + " \N{MULTIPLICATION SIGN} ".join(map(str, value.shape))
    flat = value.reshape(-1)
    if not value.size:
        return ValueView(name, kind, "", "empty")
    if value.size <= _WHOLE:
        rows = value.reshape(-1, value.shape[-1]) if value.ndim else [flat]
        return ValueView(name, kind, "\n".join(", ".join(_numbers(row)) for row in rows))
    shown = ", ".join([*_numbers(flat[:_FIRST]), "..."])
    if value.dtype == bool:
        return ValueView(name, kind, shown, f"{np.count_nonzero(value):,} of {value.size:,} true")
    known = flat[np.isfinite(flat)]
    if not known.size:
        return ValueView(name, kind, shown, "none finite")
    low, high, mean = (_short(float(v)) for v in (known.min(), known.max(), known.mean()))
    spread = f"{low} to {high}, mean {mean}"
    missing = value.size - known.size
    return ValueView(name, kind, shown, f"{spread}; {missing:,} not finite" if missing else spread)


def _numbers(row: NDArray[Any]) -> Iterator[str]:
    for number in row.tolist():
        yield _short(number) if isinstance(number, float) else str(number)


def _short(number: float) -> str:
    return f"{number:.4g}"
