"""``promptpo view``: the pages of runs on a local address.

The server only reads and answers this machine alone. It looks addresses up among the runs that
exist and never joins them to a folder, so that no address leads out of the folder of runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from promptpo.common import text
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import say
from promptpo.comparison import Comparison
from promptpo.comparison.page import Row, comparison_page, index_page
from promptpo.errors import UsageError
from promptpo.report.page import render_report
from promptpo.store.folder import RunFolder
from promptpo.store.run import load_run
from promptpo.store.summary import Summary, summary_of
from promptpo.version import __version__

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_HTML, _PLAIN = "text/html; charset=utf-8", "text/plain; charset=utf-8"

#: A run's page, or one of the files that the page links to.
_PATH = re.compile(
    r"/runs/(.+)/(|best/policy\.py|videos/[\w-][\w.-]{0,200}\.mp4)", re.ASCII | re.DOTALL
)

#: All runs of a task side by side.
_COMPARED = re.compile(r"/compare/(.+)/", re.DOTALL)

#: Names of this machine. The page of another site that points its own name here (DNS rebinding)
#: sends that name.
_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class PageServer(ThreadingHTTPServer):
    """Serves the runs under ``root`` that ``find`` lists, oldest first.

    With ``only`` the start page leads to the single run. Port 0 takes a free one. Raises UsageError
    where the port cannot be had.
    """

    daemon_threads = True

    def __init__(
        self, find: Callable[[], Iterable[Path]], root: Path, port: int, *, only: bool = False
    ) -> None:
        self.root, self.only = root, only
        self._find = find
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as e:
            raise UsageError(
                f"http://127.0.0.1:{port}: {e.strerror}; choose another --port (0: a free one)"
            ) from None

    @property
    def url(self) -> str:
        """The address of the start page."""
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def runs(self) -> dict[str, Path]:
        """Run folders by their path below ``root``, without links that lead out of it."""
        root = self.root.resolve()
        folders = [(folder.resolve(), folder / "events.jsonl") for folder in self._find()]
        return {
            str(folder.relative_to(root)): folder
            for folder, log in folders
            if folder.is_relative_to(root) and log.resolve().is_relative_to(root)
        }

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Print a line; nothing where the client has gone."""
        error = sys.exception()
        if not isinstance(error, OSError):
            say(clean_line(f"promptpo view: {type(error).__name__}: {error}"), sys.stderr)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = f"promptpo/{__version__}", ""
    timeout = 30

    def do_GET(self) -> None:
        """Send a page, a policy or a video."""
        if re.sub(r":[0-9]+$", "", self.headers.get("Host", "")).lower() not in _HOSTS:
            self._send(403, b"Open this address as localhost\n")
            return
        try:
            self._answer(os.fsdecode(unquote_to_bytes(self.path.partition("?")[0])))
        except (ConnectionError, TimeoutError):
            raise  # the client has gone
        except Exception as e:  # a damaged run must not hide the others
            self._send(500, f"{clean_line(f'{type(e).__name__}: {e}')}\n".encode())

    do_HEAD = do_GET  # noqa: N815 - http.server's name

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: an open page asks every few seconds."""

    def end_headers(self) -> None:
        """Add the headers that every answer has."""
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def _answer(self, path: str) -> None:
        runs = self.server.runs()
        match = _PATH.fullmatch(path)
        folder = runs.get(match[1]) if match else None
        if path == "/" and self.server.only and runs:
            self._send(302, Location=_location(next(iter(runs))))
        elif path == "/":
            self._send_page(runs.values(), lambda state: self._index(runs, state))
        elif (compared := _COMPARED.fullmatch(path)) and not self.server.only:
            self._compare(runs, compared[1])
        elif match is None or folder is None:
            self._send(404, b"Nothing here. The runs are listed at /\n")
        elif match[2]:
            self._send_file(folder, folder / match[2])
        else:
            self._send_page([folder], lambda state: render_report(load_run(folder), state=state))

    def _index(self, runs: dict[str, Path], state: str) -> str:
        rows = [
            Row(summary, folder.name, _location(name))
            for name, folder in reversed(runs.items())
            if (summary := _summary(folder))
        ]
        counts = Counter(row.run.spec for row in rows)
        tasks = {s: _location(s, "compare") for s, count in sorted(counts.items()) if count > 1}
        where = text.near_path(self.server.root)
        return index_page(rows, where, tasks).render(state)

    def _compare(self, runs: dict[str, Path], task: str) -> None:
        """Send the comparison of all runs of a task that can be read."""
        summaries = ((name, folder, _summary(folder)) for name, folder in runs.items())
        chosen = {folder: name for name, folder, s in summaries if s and s.spec == task}
        if not chosen:
            self._send(404, b"No runs of this task\n")
            return

        def render(state: str) -> str:
            compared = Comparison.of(chosen)
            address = {folder: _location(name) for folder, name in chosen.items()}
            return comparison_page(compared, task, "Comparison", address.__getitem__).render(state)

        self._send_page(chosen, render)

    def _send_page(self, folders: Iterable[Path], render: Callable[[str], str]) -> None:
        """Send a page under the state that it shows; a HEAD request renders nothing."""
        state = _state(folders)
        body = render(state).encode() if self.command == "GET" else b""
        self._send(200, body, _HTML, ETag=f'"{state}"')

    def _send_file(self, folder: Path, file: Path) -> None:
        """Send a file, or the range of it that was asked for: browsers seek in videos by ranges."""
        if not file.resolve().is_relative_to(folder) or not file.is_file():
            self._send(404, b"No such file\n")
            return
        body, kind = file.read_bytes(), "video/mp4" if file.suffix == ".mp4" else _PLAIN
        wanted = re.fullmatch(r"bytes=([0-9]{1,18})-([0-9]{0,18})", self.headers.get("Range", ""))
        part = slice(int(wanted[1]), int(wanted[2] or len(body)) + 1) if wanted else slice(None)
        if wanted and (piece := body[part]):
            place = f"bytes {part.start}-{part.start + len(piece) - 1}/{len(body)}"
            self._send(206, piece, kind, Content_Range=place)
        else:
            self._send(200, body, kind, Accept_Ranges="bytes")

    def _send(self, status: int, body: bytes = b"", kind: str = _PLAIN, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content_Type": kind, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        if self.command == "GET":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def _location(name: str, kind: str = "runs") -> str:
    """Return the path of a run's page, or of a comparison; a name may be of any bytes."""
    return f"/{kind}/{quote(os.fsencode(name))}/"


def _summary(folder: Path) -> Summary | None:
    """Return the summary of a run; None where it cannot be read."""
    try:
        return summary_of(folder)
    except Exception:  # whatever a damaged run does: the others are listed
        return None


def _state(folders: Iterable[Path]) -> str:
    """Return a digest that changes whenever one of the runs has something new to show."""
    digest = hashlib.sha256()
    for folder in folders:
        digest.update(os.fsencode(folder))
        for name in ("events.jsonl", "run.json", "videos", "best"):
            file = folder / name
            if file.exists():
                stat = file.stat()
                digest.update(f"{name} {stat.st_mtime_ns} {stat.st_size};".encode())
        digest.update(str(RunFolder(folder).is_running).encode())
    return digest.hexdigest()[:24]
