"""Runs side by side as one object: what ``promptpo compare`` prints and writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.common import text
from promptpo.common.files import write_atomically
from promptpo.common.plaintext import clean_line
from promptpo.common.text import task_words
from promptpo.comparison.groups import Panel, panels, read_history
from promptpo.comparison.records import (
    Record,
    contrast_records,
    csv_files,
    curve_records,
    score_records,
)
from promptpo.comparison.tables import notes, tables
from promptpo.errors import UsageError
from promptpo.ui.tables import html_heading, html_remarks, html_table, print_table, printed

if TYPE_CHECKING:
    from rich.console import Console

#: What can be written of a comparison.
FORMATS = ("csv", "png", "svg")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Runs side by side: a panel for each task, a group for all runs that differ in seed only.

    ``print(comparison)`` shows the tables of ``promptpo compare``. ``scores``, ``tests`` and
    ``curves`` are the same numbers as lists of plain dicts, as ``pandas.DataFrame`` takes them.
    """

    panels: tuple[Panel, ...]

    @classmethod
    def of(cls, folders: Iterable[Path]) -> Comparison:
        """Compare the runs in these folders, each once. Raises RunError where one is no run."""
        unique = {folder.resolve(): folder for folder in folders}
        if not unique:
            raise UsageError("no runs to compare; name at least one")
        return cls(panels([read_history(folder) for folder in unique.values()]))

    @property
    def scores(self) -> list[Record]:
        """One dict for each run: what it was, how it stands, what it scored and spent."""
        return score_records(self.panels)

    @property
    def tests(self) -> list[Record]:
        """One dict for each pair of groups and measure: difference, interval and p-values."""
        return contrast_records(self.panels)

    @property
    def curves(self) -> list[Record]:
        """One dict for each step of each learning curve, with its interval."""
        return curve_records(self.panels)

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers must know of these runs."""
        return notes(self.panels)

    def files(self, formats: Sequence[str] = FORMATS) -> dict[str, str | bytes]:
        """The content of what ``save`` writes, by the files' names.

        Raises UsageError for a format that is none of FORMATS, and for a figure where matplotlib
        is missing.
        """
        unknown = [name for name in formats if name not in FORMATS]
        if unknown:
            raise UsageError(f"{unknown[0]}: no such format; choose from {', '.join(FORMATS)}")
        contents: dict[str, str | bytes] = {}
        if "csv" in formats:
            contents |= csv_files(self.panels)
        if drawn := [name for name in formats if name != "csv"]:
            from promptpo.comparison.curves import figures

            contents |= figures(self.panels, drawn)
        return contents

    def save(self, folder: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write CSV files and figures of the learning curves into a folder; returns their paths.

        Raises UsageError as ``files`` does, and OSError where the folder cannot be written.
        """
        contents = self.files(formats)
        for name, content in contents.items():
            write_atomically(Path(folder) / name, content)
        return [Path(folder) / name for name in contents]

    def print(self, console: Console) -> None:
        """Print the tables of each task, then what must be known to read them."""
        for panel in self.panels:
            console.print(_title(panel), style="bold")
            for table in tables(panel):
                print_table(console, table)
        for note in self.notes:
            console.print(f"- {clean_line(note)}", style="dim")

    def __str__(self) -> str:
        return printed(self.print)

    def __repr__(self) -> str:
        groups = [group for panel in self.panels for group in panel.groups]
        runs = sum(len(group.runs) for group in groups)
        size = f"{text.plural(runs, 'run')} in {text.plural(len(groups), 'group')}"
        return f"<Comparison of {size}: {', '.join(panel.name for panel in self.panels)}>"

    def _repr_html_(self) -> str:
        parts = []
        for panel in self.panels:
            parts.append(html_heading(_title(panel)))
            parts += [html_table(table) for table in tables(panel)]
        return "".join([*parts, html_remarks(self.notes)])


def _title(panel: Panel) -> str:
    task = task_words((panel.name, panel.twin_of))
    return f"{clean_line(task)}: held-out scores, mean and 95% interval"
