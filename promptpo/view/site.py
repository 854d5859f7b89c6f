"""What the server answers to a path: pages and files of runs, and nothing else.

Addresses are looked up in the runs that exist, never joined to a folder, so that no address
leads out of them.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from promptpo.common.plaintext import clean_line
from promptpo.errors import PromptPOError
from promptpo.report.page import render_index, render_report
from promptpo.store.folder import RunFolder
from promptpo.store.reading import read_record
from promptpo.store.summary import Summary, summary_of
from promptpo.version import __version__

#: What a video may be called: nothing hidden, nothing with a separator.
_VIDEO = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,200}\.mp4")

#: Pages that are kept; a page is about a megabyte.
_KEPT = 8


@dataclass(frozen=True)
class Answer:
    """A status, a type and a body or a file; ``etag`` names the version of a page."""

    status: int = 200
    kind: str = "text/html; charset=utf-8"
    body: bytes = b""
    file: Path | None = None
    etag: str = ""
    location: str = ""


@dataclass
class Site:
    """The runs that ``find`` lists, oldest first; with ``only`` the start page is that run's.

    ``where`` says in words where the runs lie.
    """

    find: Callable[[], Sequence[Path]]
    where: str
    only: bool = False
    _pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _summaries: dict[Path, tuple[str, Summary]] = field(default_factory=dict)
    _busy: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, seen: str = "") -> Answer:
        """What ``path`` (as in the request, without a query) leads to.

        ``seen`` is the version that the browser has already.
        """
        runs = {_address(folder): folder for folder in self.find()}
        parts = tuple(unquote(part, errors="surrogateescape") for part in path.split("/"))
        try:
            if path == "/":
                if self.only and len(runs) == 1:
                    return Answer(302, location=_location(next(iter(runs))))
                return self._index(list(runs.values()), seen)
            if len(parts) >= 5 and parts[:2] == ("", "runs"):
                folder = runs.get((parts[2], parts[3]))
                if folder is not None:
                    return self._within(folder, parts[4:], seen)
        except (PromptPOError, OSError) as e:
            return plain_answer(500, str(e))
        return plain_answer(404, "Nothing here. The runs are listed at /")

    def _within(self, folder: Path, rest: tuple[str, ...], seen: str) -> Answer:
        if rest == ("",):
            version = _version([folder])
            return self._page(
                str(folder), version, seen, lambda: render_report([read_record(folder)], live=True)
            )
        if rest == ("best", "policy.py"):
            return _file(folder / "best" / "policy.py", "text/plain; charset=utf-8")
        if len(rest) == 2 and rest[0] == "videos" and _VIDEO.fullmatch(rest[1]):
            return _file(folder / "videos" / rest[1], "video/mp4")
        return plain_answer(404, "Nothing here. The runs are listed at /")

    def _index(self, folders: list[Path], seen: str) -> Answer:
        def render() -> str:
            rows = [
                (found, folder.name, _location(_address(folder)))
                for folder in reversed(folders)
                if (found := self._summary(folder))
            ]
            return render_index(rows, self.where)

        return self._page("", _version(folders), seen, render)

    def _page(self, name: str, version: str, seen: str, render: Callable[[], str]) -> Answer:
        if seen == version:
            return Answer(304, etag=version)
        with self._busy:  # two browsers that follow one run share the work
            kept = self._pages.get(name)
            if kept is None or kept[0] != version:
                while len(self._pages) >= _KEPT:
                    del self._pages[next(iter(self._pages))]
                kept = self._pages[name] = (version, render().encode())
        return Answer(body=kept[1], etag=version)

    def _summary(self, folder: Path) -> Summary | None:
        """A run for the list; None where it cannot be read."""
        version = _version([folder])
        kept = self._summaries.get(folder)
        if kept is None or kept[0] != version:
            try:
                kept = self._summaries[folder] = (version, summary_of(folder))
            except Exception:  # whatever a damaged run does: the others are listed
                return None
        return kept[1]


def _address(folder: Path) -> tuple[str, str]:
    """The two names that a run goes by: its task's and its own."""
    whole = folder.resolve()
    return whole.parent.name, whole.name


def _location(address: tuple[str, str]) -> str:
    """The path of a run's page; a name may be of any bytes."""
    return f"/runs/{quote(os.fsencode('/'.join(address)))}/"


def _version(folders: Sequence[Path]) -> str:
    """Changes whenever a run has something new to show."""
    state = hashlib.sha256(__version__.encode())
    for folder in folders:
        state.update(os.fsencode(folder))
        for name in ("events.jsonl", "run.json", "videos", "best"):
            try:
                found = (folder / name).stat()
            except OSError:
                continue
            state.update(f"{name} {found.st_mtime_ns} {found.st_size};".encode())
        state.update(str(RunFolder(folder).is_running).encode())
    return f'"{state.hexdigest()[:24]}"'


def _file(path: Path, kind: str) -> Answer:
    inside = path.resolve().is_relative_to(path.parent.parent.resolve())
    if not inside or not path.is_file():
        return plain_answer(404, "No such file")
    return Answer(kind=kind, file=path)


def plain_answer(status: int, words: str) -> Answer:
    """A line of plain text."""
    return Answer(status, "text/plain; charset=utf-8", f"{clean_line(words)}\n".encode())
