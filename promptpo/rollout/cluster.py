"""The executor on the cores of a Ray cluster, and this process's connection to it.

Each part of a job is a Ray task of one core, which Ray gives to a node and repeats where a process
or a machine is lost. What runs there is ``promptpo.rollout.seat``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import socket
import sys
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import sandbox
from promptpo.common.concurrency import all_of
from promptpo.common.terminal import say
from promptpo.errors import ClusterError, SpecError, UsageError, file_error
from promptpo.rollout import seat
from promptpo.rollout.cores import available_cores
from promptpo.rollout.executor import Executor
from promptpo.rollout.jobs import DescribeJob, Job, PrepareJob, Settings, TaskInfo
from promptpo.rollout.seat import Terms, likeness
from promptpo.spec.bundle import bundle_of
from promptpo.spec.calls import one_line
from promptpo.spec.catalog import SHIPPED_FOLDER, Member, find
from promptpo.spec.importing import MANIFEST, home_of
from promptpo.spec.validation import PUBLISHED

R = TypeVar("R")

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
#: How often a job may lose its process or its machine.
_MOST_LOST = 5
#: Seconds after which it is said that a run waits for the cluster; and between two looks at it.
_LONG, _LOOK = 30.0, 1.0
#: Bytes from which a value is worth a reference of its own, and how many contents are kept.
_LARGE, _KEPT = 1 << 16, 32


class RayExecutor(Executor):
    """Workers on the cores of a Ray cluster.

    Args:
        settings: what each worker needs to know.
        workers: how many at a time; by default one for each core that the cluster has.
        address: of the cluster; empty for that of $RAY_ADDRESS, else for one started here.

    Raises UsageError without Ray, ClusterError where it cannot be reached.
    """

    def __init__(self, settings: Settings, workers: int | None = None, address: str = "") -> None:
        super().__init__()
        self._connection = connect(address, workers)
        try:
            import ray

            terms, files = self._terms(settings)
            self._common = ray.put(terms), ray.put(files) if files is not None else None
            # By value: a node may have no promptpo, and is to say so.
            ray.cloudpickle.register_pickle_by_value(seat)
            self._remote = ray.remote(num_cpus=1, max_retries=_MOST_LOST - 1)(seat.answer)
            self._parcels = Parcels(ray.put)
        except BaseException:
            self._connection.close()
            raise
        self._workers = workers
        self._cores, self._looked = 1, 0.0
        self._pending: set[Any] = set()
        self._gate: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None
        self._notify: Callable[..., None] = lambda text: say(f"promptpo: {text}", sys.stderr)

    def _terms(self, settings: Settings) -> tuple[Terms, dict[str, bytes] | None]:
        """Return what workers are told, and the files of a spec that other machines do not have."""
        suffix = PUBLISHED if settings.spec.endswith(PUBLISHED) else ""
        sent, root, files, alike = settings, "", None, likeness()
        if not self._connection.joined:
            alike["code"] = ""  # it is this machine's: a worker may begin after an edit
        else:
            entry = find(settings.spec.removesuffix(PUBLISHED))
            ref = entry.ref
            entry = entry.family if isinstance(entry, Member) else entry
            if entry.path.parent == SHIPPED_FOLDER:
                sent = replace(settings, spec=ref + suffix)
            else:
                root = str(home_of(entry.path, entry.module).root)
                files = _files(settings.spec)
        choices = sandbox.KERNEL_VARIABLES  # with others, last bits may differ
        kernels = {name: os.environ[name] for name in choices if name in os.environ}
        terms = Terms(
            key=uuid.uuid4().hex,
            named=self._connection.joined,
            alike=alike,
            settings=pickle.dumps(sent),
            spec=settings.spec,
            root=root,
            suffix=suffix,
            kernels=kernels,
            kernel_names=choices,
        )
        return terms, files

    @property
    def slots(self) -> int:
        """Number of workers: as many as were asked for, else as there are cores now."""
        if self._workers is not None:
            return self._workers
        if time.monotonic() - self._looked > _LOOK:
            self._cores, self._looked = max(1, self._connection.cores), time.monotonic()
        return self._cores

    @property
    def about(self) -> dict[str, Any]:
        """Name and size of the place where jobs run, for the record of a run."""
        import ray

        where = {"address": self._connection.address, "nodes": len(self._connection.nodes())}
        return {"name": "ray", "version": ray.__version__, **where, "workers": self.slots}

    def tell(self, notify: Callable[..., None]) -> None:
        """Let ``notify`` hear that the cluster is waited for."""
        self._notify = notify

    async def describe(self, soon: int = 1) -> TaskInfo:
        """Open the environment and the sandbox on each node that there is now.

        Raises ClusterError, SpecError or IsolationError where one of them cannot take part.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = [NodeAffinitySchedulingStrategy(n, soft=True) for n in self._connection.nodes()]
        jobs = [self._answer(DescribeJob(), scheduling_strategy=where) for where in here]
        opening = asyncio.ensure_future(all_of(jobs or [self._answer(DescribeJob())]))
        done, _ = await asyncio.wait({opening}, timeout=_LONG)
        if not done:
            self._notify("waiting for a free core of the Ray cluster")
        first: TaskInfo = (await opening)[0]
        return first

    async def part(self, job: Job[R]) -> R:
        """Return the answer of one worker, wherever it comes to be done."""
        if self._workers is None:
            return await self._answer(job)
        loop = asyncio.get_running_loop()
        if self._gate is None or self._gate[0] is not loop:
            self._gate = loop, asyncio.Semaphore(self._workers)
        async with self._gate[1]:
            return await self._answer(job)

    async def _answer(self, job: Job[R], **options: Any) -> R:  # noqa: ANN401
        from ray import exceptions

        sent, names, contents = await asyncio.to_thread(self._parcels.pack, job)
        task = self._remote.options(**options) if options else self._remote
        reference = task.remote(*self._common, sent, names, *contents)
        self._pending.add(reference)
        try:
            data = await asyncio.wrap_future(reference.future())
        except exceptions.RayTaskError:
            raise
        except (exceptions.RayError, ConnectionError) as error:
            raise ClusterError(f"a job was lost on the Ray cluster: {one_line(error)}") from None
        finally:
            self._pending.discard(reference)
        if isinstance(data, str):
            raise ClusterError(data)
        kind, answer = pickle.loads(data)  # noqa: S301 - of our own task
        if kind == "raised":
            raise answer
        result: R = answer
        return result

    def close(self) -> None:
        """End every worker at once, and a Ray that was started for them."""
        import ray

        for reference in tuple(self._pending):
            with contextlib.suppress(Exception):  # it, or Ray, is gone already
                ray.cancel(reference, force=True)
        self._connection.close()


def _files(ref: str) -> dict[str, bytes]:
    """Return the contents of a spec's own files.

    Raises SpecError where one of them cannot be sent.
    """
    bundle = bundle_of(ref)
    if left_out := bundle.manifest.left_out:
        raise SpecError(
            f"{ref}: {left_out[0]} cannot be sent to other machines; put it on every node, and"
            " name it there by an absolute path, or make it smaller"
        )
    return {**bundle.contents, MANIFEST: bundle.manifest.text.encode()}


class Parcels:
    """Packs jobs; what is large is put into the cluster's object store once, not with every job.

    Large are what policies are made with, and the file that ``prepare`` reads. ``put`` hands a
    content to the cluster, and returns a reference to it.
    """

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._sent: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def pack(self, job: Job[Any]) -> tuple[bytes, list[str], list[Any]]:
        """Return a job pickled, the names of fields that are sent apart, and their references.

        Raises FileError where a file that it names cannot be read.
        """
        apart: dict[str, Any] = {}
        light: Any = job
        if isinstance(job, PrepareJob):
            apart["data"] = self._of_file(Path(job.data))
        prepared = getattr(job, "prepared", b"")
        if len(prepared) >= _LARGE:
            apart["prepared"] = self._once(prepared, lambda: prepared)
            light = replace(light, prepared=b"")
        return pickle.dumps(light), list(apart), list(apart.values())

    def _of_file(self, path: Path) -> Any:  # noqa: ANN401 - a reference
        import numpy as np

        try:
            state = path.stat()
            key = (str(path), state.st_mtime_ns, state.st_size)
            return self._once(key, lambda: np.fromfile(path, np.uint8))
        except OSError as error:
            raise file_error(error, path) from None

    def _once(self, key: Hashable, content: Callable[[], Any]) -> Any:  # noqa: ANN401
        with self._lock:
            if key not in self._sent:
                self._sent[key] = self._put(content())
            self._sent.move_to_end(key)
            while len(self._sent) > _KEPT:
                self._sent.popitem(last=False)
            return self._sent[key]


# The connection. Ray has one a process; several runs of one process share it.


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
        """Number of cores that the cluster has now. Raises ClusterError."""
        import ray

        try:
            return int(ray.cluster_resources().get("CPU", 0))
        except Exception as error:
            raise ClusterError(f"the Ray cluster does not answer any more ({error})") from None

    def nodes(self) -> list[str]:
        """Return the ids of the machines that have cores."""
        import ray

        return [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU")]

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

    _require_listener(address)
    logging.getLogger("ray").setLevel(logging.ERROR)
    own = {"num_cpus": cores or available_cores(), "include_dashboard": False}
    tries = _TRIES if address == LOCAL else 1
    while True:
        tries -= 1
        try:
            with _handlers_preserved():
                ray.init(
                    address=address, configure_logging=False, log_to_driver=False,
                    logging_level=logging.ERROR, **(own if address == LOCAL else {}),
                )  # fmt: skip
        except Exception as error:
            with contextlib.suppress(Exception):
                ray.shutdown()
            if not tries or "timed out" not in str(error):
                raise ClusterError(f"{_place(address)}: {_reason(error)}") from None
        else:
            return


def _require_listener(address: str) -> None:
    """Raise ClusterError where nobody listens at an address: Ray would wait there for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError) as error:
        words = f"no Ray cluster can be reached there ({error}); `ray start --head` begins one here"
        raise ClusterError(f"{_place(address)}: {words}") from None


def _place(address: str) -> str:
    return "Ray cannot be started here" if address == LOCAL else f"--ray-address {address}"


def _reason(error: Exception) -> str:
    """Return what is wrong and what to do; the versions of Ray and Python have to be equal."""
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
def _handlers_preserved() -> Iterator[None]:
    """Undo that Ray handles SIGTERM; a run's own handler lets it be resumed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
