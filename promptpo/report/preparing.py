"""The section on what policies computed before they acted: scores, values, outputs, errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpo.common import text
from promptpo.common.blocks import Block, Cell, Details, Prose, Section, Table, Text, num
from promptpo.report.tables import difference_cell
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run
from promptpo.types import Candidate, Preparation

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Values that are shown of one policy, and of all of a run; of each policy a few all the same.
_MOST, _ALL, _FEW = 40, 1000, 4

#: An array with so many numbers is shown whole; characters of a string that are shown.
_WHOLE, _CHARACTERS = 16, 200


@dataclass(frozen=True)
class Prepared:
    """An attempt that prepared; ``candidate`` is None as long as nothing else is known of it."""

    name: str
    outcome: Preparation
    candidate: Candidate | None

    @property
    def id(self) -> str:
        """Its place on the page."""
        return "prepared-" + self.name.replace(", repair ", "-repair-")


def preparing_section(run: Run) -> Section | None:
    """Return what the policies of a run prepared; equal ones once. None where none did."""
    attempts = [*_attempts(run)]
    if not attempts:
        return None
    first: dict[str, Prepared] = {}
    for one in attempts:
        first.setdefault(one.outcome.digest, one)
    most = min(max(_ALL // len(attempts), _FEW), _MOST)
    words = (
        "Each ran once, before its policy's first episode, on what search had recorded before the"
        " round; computing is processor time."
    )
    if any(one.outcome.predicted is not None for one in attempts):
        words += (
            " The difference is the mean return of the search episodes less what `prepare`"
            " predicted."
        )
    details = (
        Details(
            one.id,
            f"What {one.name} computed",
            (*_blocks(run, one, most),),
            _words(one.outcome),
            open=len(first) == 1,
        )
        for one in first.values()
    )
    table = _table([(one, first[one.outcome.digest]) for one in attempts])
    blocks = (table, Prose(words), *details)
    return Section("preparing", "Computed before acting", blocks, "preparing")


def _attempts(run: Run) -> Iterator[Prepared]:
    """Yield attempts that prepared, by round and candidate; then those under way."""
    digests = set()
    for trial in sorted(run.policies, key=lambda t: t.key):
        for number, attempt in sorted(trial.attempts.items()):
            if attempt.preparation is not None:
                digests.add(attempt.preparation.digest)
                yield Prepared(_name(trial.name, number), attempt.preparation, attempt)
    for digest, outcome in run.preparations.items():
        if digest not in digests:
            key = run.prepared_by[digest]
            yield Prepared(_name(key.name, key.attempt), outcome, None)


def _name(name: str, attempt: int) -> str:
    return f"{name}, repair {attempt}" if attempt else name


def _table(attempts: Sequence[tuple[Prepared, Prepared]]) -> Table:
    """Return all attempts, each beside the first one that prepared the same."""
    rows = []
    for one, first in attempts:
        outcome, candidate, real = one.outcome, one.candidate, None
        if candidate is not None and not candidate.score.failed:
            real = candidate.score.mean_return
        off = None
        if outcome.predicted is not None and real is not None:
            off = real - outcome.predicted
        rows.append((
            Cell(one.name, href=f"#{first.id}"),
            num(outcome.episodes),
            num(outcome.transitions),
            num(outcome.seconds, f"{outcome.seconds:.3g} s"),
            num(outcome.predicted),
            num(real),
            difference_cell(off, ".4g"),
            _outcome_cell(one, first),
        ))  # fmt: skip
    columns = ("Policy", "Episodes", "Transitions", "Computing", "Predicted return",
               "Mean return", "Difference", "Outcome")  # fmt: skip
    caption = "prepare(data) of each policy: on how much it ran, and what its policy then got"
    return Table(caption, columns, tuple(rows)).trimmed()


def _outcome_cell(one: Prepared, first: Prepared) -> Cell:
    if one.outcome.error is not None:
        return Cell(f"failed: {text.gist(one.outcome.error)}", "2", kind="failed")
    if one.candidate is None:
        return Cell("not played yet", "1")
    if one.candidate.error is not None:
        return Cell("prepared; the policy failed", "2", kind="failed")
    return Cell() if one is first else Cell(f"prepared as {first.name}", "0")


def _blocks(run: Run, one: Prepared, most: int) -> Iterator[Block]:
    """Yield the error, the output and the first values of an attempt."""
    outcome = one.outcome
    if outcome.error is not None:
        yield Prose(outcome.error, "error")
    if outcome.output.strip():
        yield Text("Printed", outcome.output.strip("\n"), "events.jsonl")
    if outcome.values is None:
        return
    folder = RunFolder(run.folder)
    name = run.values_in.get(outcome.values, "")
    file = folder.prepared(name, outcome.values).relative_to(folder.path).as_posix()
    values = _unpacked(folder.read_prepared(name, outcome.values))
    if values is None:
        lost = f"Its values are missing or damaged (`{file}`); `promptpo --resume`"
        yield Prose(f"{lost} computes them again.")
        return
    first = f"the first {most} of " if len(values) > most else ""
    few = dict([*values.items()][:most])
    yield values_table(few, f"What it returned: {first}{_count(values)}, in {file}")


def _unpacked(packed: bytes | None) -> dict[str, Any] | None:
    """Return the values of a file; None where it cannot be read."""
    import sandbox

    try:
        return None if packed is None else dict(sandbox.unpack(packed))
    except ValueError:
        return None


def _count(values: Mapping[str, Any]) -> str:
    import numpy as np

    count = sum(np.size(v) for v in values.values() if not isinstance(v, str))
    return f"{text.plural(len(values), 'value')}, {text.plural(int(count), 'number')}"


def _words(outcome: Preparation) -> str:
    words = f"{outcome.seconds:.3g} s"
    return words if outcome.error is None else f"failed after {words}"


def values_table(values: Mapping[str, Any], caption: str) -> Table:
    """Return values with their kinds; of a long array the first numbers, range and mean."""
    rows = []
    for name, value in values.items():
        kind, content, summary = _value(value)
        content_cell = Cell(content, kind="code")
        rows.append((Cell(name, kind="code"), Cell(kind), content_cell, Cell(summary)))
    return Table(caption, ("Value", "Kind", "Content", "Summary"), tuple(rows)).trimmed()


def _value(value: Any) -> tuple[str, str, str]:  # noqa: ANN401 - a value of the codec
    import numpy as np

    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, str):
        cut = value if len(value) <= _CHARACTERS else f"{value[: _CHARACTERS - 3]}..."
        return "str", cut, ""
    return type(value).__name__, repr(value), ""


def _array(value: NDArray[Any]) -> tuple[str, str, str]:
    """Return an array's shape, its numbers or the first and last of them, and their range."""
    import numpy as np

    kind = "array " + " \N{MULTIPLICATION SIGN} ".join(map(str, value.shape))
    content = np.array2string(value, precision=4, threshold=_WHOLE, edgeitems=3, separator=", ")
    if value.size <= _WHOLE:
        return kind, content, "" if value.size else "empty"
    if value.dtype == bool:
        return kind, content, f"{np.count_nonzero(value):,} of {value.size:,} true"
    finite = value[np.isfinite(value)]
    if not finite.size:
        return kind, content, "none finite"
    low, high, mean = (f"{float(v):.4g}" for v in (finite.min(), finite.max(), finite.mean()))
    missing = value.size - finite.size
    rest = f"; {missing:,} not finite" if missing else ""
    return kind, content, f"{low} to {high}, mean {mean}{rest}"
