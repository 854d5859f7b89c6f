"""How filming goes, in a terminal: a bar for each episode, and a line where its files are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import say
from promptpo.common.text import near_path, plural
from promptpo.video.options import Watcher


class Bars(Watcher):
    """A Watcher for the length of a ``with`` block; bars only where standard error is a terminal.

    The files' names go to standard output, everything else to standard error.
    """

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars = Progress(
            TextColumn("{task.description:12}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("steps"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def scoring(self, episodes: int) -> None:
        """Say that episodes are played first."""
        self._say(f"playing {plural(episodes, 'held-out episode')} to choose from")

    def filming(self, labels: Mapping[str, int]) -> None:
        """One bar for each episode."""
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
