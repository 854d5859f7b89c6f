"""A terminal's view of filming: a bar for each episode, and a line where its files are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import say
from promptpo.common.text import near_path, plural
from promptpo.video.render import Watcher


class Bars(Watcher):
    """A Watcher with bars on standard error, where that is a terminal.

    The files' names go to standard output, everything else to standard error.
    """

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def scoring(self, episodes: int) -> None:
        """Say that episodes are played first."""
        self._say(f"playing {plural(episodes, 'held-out episode')} to choose from")

    def filming(self, labels: Mapping[str, int]) -> None:
        """Show one bar for each episode."""
        for label, steps in labels.items():
            self._tasks[label] = self._bars.add_task(label, total=steps or None)

    def step(self, label: str, steps: int) -> None:
        """Move a bar."""
        self._bars.update(self._tasks[label], completed=steps)

    def done(self, label: str, files: Sequence[Path]) -> None:
        """Print where the files are."""
        self._bars.update(self._tasks[label], visible=False)
        for file in files:
            self._bars.console.file.flush()
            say(near_path(file))

    def warning(self, line: str) -> None:
        """Print a line that begins with ``warning``."""
        self._say(f"warning: {line}")

    def _say(self, line: str) -> None:
        self._bars.console.print(clean_line(line), soft_wrap=True, markup=False, emoji=False)


@contextmanager
def bars() -> Iterator[Bars]:
    """Show bars for the length of a ``with`` block."""
    console = Console(stderr=True, highlight=False)
    columns = TextColumn("{task.description:12}"), BarColumn(bar_width=30), MofNCompleteColumn()
    hidden = not console.is_terminal
    with Progress(
        *columns, TextColumn("steps"), console=console, transient=True, disable=hidden
    ) as progress:
        yield Bars(progress)
