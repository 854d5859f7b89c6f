"""Connections with an end: so many at once, and each for so long."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from typing import Any

from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import say

#: Connections that are served at once; a browser opens about six.
MOST_CONNECTIONS = 64

_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class BoundedServer(ThreadingHTTPServer):
    """A thread for each connection, up to a number; what is overdue is shut down.

    Time-outs of single reads and writes do not bound a client that sends a byte now and then.
    """

    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, *args: Any) -> None:  # noqa: ANN401 - the base class's
        self._due: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        super().__init__(*args)

    def due(self, connection: socket.socket, seconds: float) -> None:
        """From now on the connection is shut down unless the next deadline is set in time."""
        with self._lock:
            if connection in self._due:
                self._due[connection] = time.monotonic() + seconds

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Serve a connection in a thread of its own, or refuse it."""
        with self._lock:
            full = len(self._due) >= MOST_CONNECTIONS
            if not full:
                self._due[request] = time.monotonic() + 60
        if full:
            with contextlib.suppress(OSError):
                request.setblocking(False)
                request.send(_BUSY)
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        """Close a connection."""
        with self._lock:
            self._due.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Shut overdue connections down; the server calls this twice a second."""
        now = time.monotonic()
        with self._lock:
            for connection, due in self._due.items():
                if due <= now:
                    with contextlib.suppress(OSError):  # it is closed already
                        connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A line on what went wrong; nothing where the other side has gone."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            say(clean_line(f"promptpo view: {type(error).__name__}: {error}"), sys.stderr)
