"""Start of the warm parent: from here on, failures are reported to the host."""

from __future__ import annotations

import fcntl
import json
import resource
import signal
import socket
import sys

from sandbox import lockdown


def _low(control: socket.socket) -> socket.socket:
    """The same socket where children are sure to close it; no descriptor can be higher later."""
    low = socket.socket(fileno=fcntl.fcntl(control, fcntl.F_DUPFD_CLOEXEC, 0))
    control.close()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = lockdown.HIGHEST_FD
    most = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return low


def main(descriptor: int, libraries: list[str]) -> None:
    """Load the libraries, then obey the control socket until the host is gone."""
    control = _low(socket.socket(fileno=descriptor))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        from sandbox.inside.parent import Parent  # what cannot be loaded is told, too

        Parent(control, libraries).run()
    except Exception as error:
        text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        control.sendall(text.encode() + b"\n")
        sys.exit(1)
