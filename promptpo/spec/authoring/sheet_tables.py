"""Numbers, places and tables of a data sheet; rows that say the same become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

#: A ``mujoco.MjModel``, which is untyped.
Model: TypeAlias = Any

#: A point, in m, rounded.
Place: TypeAlias = tuple[float, ...]

#: What stands in a table: words, or points as "here to there".
Cell: TypeAlias = str | tuple[Place, ...]
Row: TypeAlias = Sequence[Cell]


def number(value: float) -> str:
    """Three significant digits, without an exponent from a thousand on."""
    return f"{float(f'{_exact(value):.3g}') + 0.0:g}"


def place(point: Iterable[float], decimals: int) -> Place:
    """A point's numbers: three significant digits, and no more than so many decimals."""
    return tuple(float(number(round(_exact(value), decimals))) for value in point)


def _exact(value: float) -> float:
    """Without the last digits, which hang on the way that a number was computed on."""
    return float(f"{value:.9g}")


def places(points: Sequence[Place]) -> str:
    """One point of several that are the same but for signs: (0.1, +-0.2)."""
    coordinates = (
        f"{values[0]:.6g}" if len(set(values)) == 1 else f"+-{abs(values[0]):.6g}"
        for values in zip(*points, strict=True)
    )
    return f"({', '.join(coordinates)})"


def together(rows: Sequence[Row]) -> list[list[int]]:
    """Which rows are the same but for signs in their points, in the order of the first of each."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(tuple(map(_unsigned, row)), []).append(index)
    return list(groups.values())


def _unsigned(cell: Cell) -> object:
    return cell if isinstance(cell, str) else tuple(tuple(map(abs, point)) for point in cell)


def merged(rows: Sequence[Row]) -> list[str]:
    """The cells of rows that are the same but for signs, as one row's."""
    cells = []
    for column in zip(*rows, strict=True):
        if isinstance(column[0], str):
            cells.append(column[0])
        else:
            cells.append(" to ".join(map(places, zip(*column, strict=True))))
    return cells


def folded(rows: Sequence[Sequence[str]]) -> tuple[list[list[str]], str]:
    """A table without those columns that hold the same number in all rows, and these in words."""
    columns = list(zip(*rows, strict=True))
    same = [
        at > 0 and len(rows) > 2 and len(set(column[1:])) == 1 and column[1][:1].isdigit()
        for at, column in enumerate(columns)
    ]
    left = [column for column, alike in zip(columns, same, strict=True) if not alike]
    told = (_named(column) for column, alike in zip(columns, same, strict=True) if alike)
    return [list(row) for row in zip(*left, strict=True)], ", ".join(told)


def _named(column: Sequence[str]) -> str:
    name, _, unit = column[0].partition(" ")
    return f"{name} {column[1]}{f' {unit}' if unit else ''}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
