"""The Ray that this process is connected to: an existing cluster, or one that it has started."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

from promptpo.errors import ClusterError, UsageError
from promptpo.rollout.cores import available_cores
from promptpo.spec.calls import one_line

#: What ``--ray-address`` calls a Ray of this machine's own, which is started for the run.
LOCAL = "local"

#: What Ray is told before it is imported: it tells nothing to anybody, and starts no cluster of its
#: own accord.
RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
}

#: How often a start is tried where a machine is so busy that Ray gives up after half a minute.
_TRIES = 3

#: Seconds that a cluster may take to answer a call.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Connection:
    """One user of this process's connection; the last one ends it.

    Attributes:
        address: as it was given, or ``local``.
        joined: whether others' machines may be part of it.
    """

    address: str
    joined: bool

    @property
    def cores(self) -> int:
        """How many cores the cluster has now."""
        import ray

        return int(ray.cluster_resources().get("CPU", 0))

    @property
    def reach(self) -> str:
        """The address by which other processes of this machine join it."""
        import ray

        return self.address if self.joined else str(ray.get_runtime_context().gcs_address)

    def close(self) -> None:
        """End the connection, and a Ray that was started for it, once nobody uses it."""
        _shared.leave()


def connect(address: str = "", cores: int | None = None) -> Connection:
    """Join the cluster of an address; by default that of $RAY_ADDRESS, else start one here.

    ``cores`` is how many one that is started here has. A connection that this process has
    already, to whatever cluster, is used as it is. Raises UsageError and ClusterError.
    """
    if find_spec("ray") is None:
        raise UsageError("--executor ray needs the package 'ray'; run: pip install 'promptpo[ray]'")
    for name, value in RAY_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    address = address or os.environ.get("RAY_ADDRESS", "") or LOCAL
    return _shared.enter(address, cores)


class _Shared:
    """Ray has one connection a process; several runs of one process share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._ours = False
        self._joined = True

    def enter(self, address: str, cores: int | None) -> Connection:
        import ray

        with self._lock:
            if not self._users:
                self._ours = not ray.is_initialized()
                if self._ours:
                    self._joined = address != LOCAL
                    _begin(address, cores)
            self._users += 1
            return Connection(address, self._joined)

    def leave(self) -> None:
        import ray

        with self._lock:
            self._users -= 1
            if not self._users and self._ours:
                ray.shutdown()
                self._joined = True


_shared = _Shared()


def _begin(address: str, cores: int | None) -> None:
    import ray

    _check_heard(address)
    logging.getLogger("ray").setLevel(logging.ERROR)
    own = {"num_cpus": cores or available_cores(), "include_dashboard": False}
    tries = _TRIES if address == LOCAL else 1
    while True:
        tries -= 1
        try:
            with _handlers_kept():
                ray.init(
                    address=address, configure_logging=False, log_to_driver=False,
                    logging_level=logging.ERROR, **(own if address == LOCAL else {}),
                )  # fmt: skip
        except Exception as error:
            with contextlib.suppress(Exception):
                ray.shutdown()
            if not tries or "timed out" not in str(error):
                raise ClusterError(f"{_where(address)}: {_why(error)}") from None
        else:
            return


def _check_heard(address: str) -> None:
    """Raise ClusterError where nobody listens at an address: Ray would wait there for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        words = f"no Ray cluster can be reached there ({error}); `ray start --head` begins one here"
        raise ClusterError(f"{_where(address)}: {words}") from None


def _where(address: str) -> str:
    return "Ray cannot be started here" if address == LOCAL else f"--ray-address {address}"


def _why(error: Exception) -> str:
    """What is wrong, and what to do; the versions of Ray and Python have to be equal."""
    words = one_line(error)
    if "ersion mismatch" in words:
        return f"{words}; install the same versions of ray and Python on both sides"
    if isinstance(error, ImportError):
        return f"{words}; run: pip install 'promptpo[ray]'"
    if isinstance(error, ConnectionError):
        return (
            "no Ray cluster can be reached there; `ray start --head` begins one here, and one that"
            " asks for a token needs RAY_AUTH_MODE=token and ~/.ray/auth_token"
        )
    return words


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray puts a handler of its own for SIGTERM; a run has one that lets it be resumed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
