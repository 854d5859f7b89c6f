"""The HTTP server behind ``promptpo view``: read-only, and on loopback unless told otherwise."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
import socketserver
import stat
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import BinaryIO

from promptpo.errors import UsageError
from promptpo.version import __version__
from promptpo.view.connections import BoundedServer
from promptpo.view.site import Answer, Site, plain_answer

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_CHUNK = 1 << 16

#: Seconds in which a request must have come whole (the wait for the next one on a connection
#: included), and in which its answer must have gone out.
_REQUEST_SECONDS, _ANSWER_SECONDS = 30, 300


def open_server(site: Site, host: str, port: int, *, public: bool = False) -> ViewServer:
    """A server that listens already; ``serve_forever`` answers.

    Port 0 takes a free one. Raises UsageError where ``host`` is not a loopback address and not
    ``public``, or where the address cannot be had.
    """
    if not public and not _is_loopback(host):
        raise UsageError(
            f"--host {host}: others could read the runs there; add --public if that is meant"
        )
    try:
        return ViewServer(site, host, port)
    except (OSError, OverflowError, ValueError, TypeError) as e:  # a name that is none: several
        reason = getattr(e, "strerror", None) or str(e)
        raise UsageError(
            f"http://{host}:{port}: {reason}; choose another port with --port (0: a free one)"
        ) from None


class ViewServer(BoundedServer):
    """Answers requests for a site; ``url`` is where."""

    def __init__(self, site: Site, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.site = site
        self.host = host
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind without asking the network what this machine is called."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.host, self.server_address[1]

    @property
    def url(self) -> str:
        """The address of the start page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.server_address[1]}/"

    def knows(self, host: str) -> bool:
        """Whether a request's Host header names this server.

        A page of another site that points a name of its own at this machine (DNS rebinding)
        sends that name; an address or the name of this machine cannot be taken so.
        """
        name = re.sub(r":[0-9]+$", "", host.strip()).strip("[]").lower()
        if _is_address(name):
            return _is_loopback(name) or not _is_loopback(self.host)
        return name in ("localhost", self.host.lower())


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    server_version = f"promptpo/{__version__}"
    protocol_version = "HTTP/1.1"
    #: Seconds of one read or write.
    timeout = 30

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        self.server.due(self.connection, _REQUEST_SECONDS)
        super().handle_one_request()

    def version_string(self) -> str:
        """What the Server header says: not which Python this is."""
        return self.server_version

    def do_GET(self) -> None:
        """A page, a policy or a video."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """The headers of the same."""
        self._answer(with_body=False)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request, in the form of all other answers."""
        self.request_version = self.protocol_version  # what was sent may have named none
        self.close_connection = True
        self._send(plain_answer(code, HTTPStatus(code).phrase), with_body=self.command != "HEAD")

    def _refuse(self) -> None:
        self.close_connection = True  # a body that came along stays unread
        self._send(plain_answer(405, "Read-only: GET and HEAD"))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse  # noqa: N815 - http.server's names

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal shows the address, and requests come every few seconds."""

    def _answer(self, *, with_body: bool) -> None:
        self.server.due(self.connection, _ANSWER_SECONDS)
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # a body stays unread, and is no next request
        answer = self._find()
        try:
            if answer.file is not None:
                self._send_file(answer, answer.file, with_body=with_body)
            else:
                self._send(answer, with_body=with_body)
        except OSError:  # the reader has gone
            self.close_connection = True

    def _find(self) -> Answer:
        if not self.server.knows(self.headers.get("Host", "")):
            words = "This address is not one of this server's: open it as localhost"
            return plain_answer(403, words)
        path = self.path.split("?", 1)[0].split("#", 1)[0]
        try:
            return self.server.site.answer(path, self.headers.get("If-None-Match", ""))
        except Exception as e:  # whatever a damaged run does to its page: the others are there
            return plain_answer(500, f"{type(e).__name__}: {e}")

    def _send(self, answer: Answer, *, with_body: bool = True) -> None:
        self._start(answer, len(answer.body))
        if with_body and answer.status != HTTPStatus.NOT_MODIFIED:
            self.wfile.write(answer.body)

    def _send_file(self, answer: Answer, path: Path, *, with_body: bool) -> None:
        """A file, or the range of it that was asked for: browsers seek in videos by ranges."""
        try:
            file = _regular_file(path)
        except OSError:  # it has gone since it was looked up
            self._send(plain_answer(404, "No such file"), with_body=with_body)
            return
        with file:
            size = os.fstat(file.fileno()).st_size
            first, stop = _range(self.headers.get("Range", ""), size)
            partial = (first, stop) != (0, size)
            extra = {"Accept-Ranges": "bytes"}
            if partial:
                extra["Content-Range"] = f"bytes {first}-{stop - 1}/{size}"
            status = HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK
            self._start(Answer(status, answer.kind), stop - first, extra)
            if with_body:
                self._copy(file, first, stop)

    def _copy(self, file: BinaryIO, first: int, stop: int) -> None:
        file.seek(first)
        left = stop - first
        while left > 0 and (chunk := file.read(min(left, _CHUNK))):
            self.wfile.write(chunk)
            left -= len(chunk)
        if left:
            self.close_connection = True  # the file has shrunk: fewer bytes than were promised

    def _start(self, answer: Answer, length: int, extra: dict[str, str] | None = None) -> None:
        self.send_response(answer.status)
        headers = {**_HEADERS, "Content-Type": answer.kind, **(extra or {})}
        if answer.status != HTTPStatus.NOT_MODIFIED:
            headers["Content-Length"] = str(length)
        if answer.etag:
            headers["ETag"] = answer.etag
        if answer.location:
            headers["Location"] = answer.location
        if self.close_connection:
            headers["Connection"] = "close"
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def _range(header: str, size: int) -> tuple[int, int]:
    """Half-open bounds of a single byte range; the whole file where there is no usable one."""
    found = re.fullmatch(r"bytes=([0-9]{0,18})-([0-9]{0,18})", header.strip())
    if not found or found.groups() == ("", ""):
        return 0, size
    first, last = found.groups()
    start = int(first) if first else max(size - int(last), 0)
    stop = min(int(last) + 1, size) if first and last else size
    return (start, stop) if start < stop else (0, size)


def _regular_file(path: Path) -> BinaryIO:
    """A file opened without waiting for anyone, as a pipe of that name would."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise FileNotFoundError(path)
    return file


def _is_address(name: str) -> bool:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    return False


def _is_loopback(name: str) -> bool:
    if name.lower() == "localhost":
        return True
    return _is_address(name) and ipaddress.ip_address(name).is_loopback
