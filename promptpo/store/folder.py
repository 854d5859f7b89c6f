"""The folder of a run: the place of each file, and writing that no kill tears."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from promptpo.common.files import write_atomically
from promptpo.errors import RunError, file_error
from promptpo.llm.messages import Message, as_markdown
from promptpo.store.codec import decode, encode
from promptpo.store.shapes import INFO
from promptpo.types import Candidate, Key, Trajectory


def no_run(path: Path) -> str:
    """Return the reason why a path is not the folder of a run; empty where it is one."""
    log = path / "events.jsonl"
    if log.is_file():
        return ""
    if log.exists():
        return "not a run (its events.jsonl is no file)"
    return "not a run (no events.jsonl)" if path.exists() else "no such path"


def _moved(folder: Path, parent: Path) -> Path:
    """Give a folder the name of this second; ``-2`` where another run has started in it."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        path = parent / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            return folder.rename(path)
        except OSError as e:
            if e.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
    raise AssertionError


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run, as laid out in ``runs/README.md``."""

    path: Path

    @classmethod
    @contextlib.contextmanager
    def create(cls, out: Path, spec_name: str) -> Iterator[RunFolder]:
        """Make ``OUT/SPEC/DATE-TIME``; the caller fills the temporary folder that it is given.

        On leaving, the folder is renamed into place, so that a run that can be seen can be
        resumed. Raises RunError where it cannot be made.
        """
        parent = out / spec_name
        try:
            parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=parent))
            temporary.chmod(0o755)
        except OSError as e:
            raise RunError(
                f"{out}: {e.strerror}; give --out a folder that can be written"
            ) from None
        folder = cls(temporary)
        try:
            yield folder
            object.__setattr__(folder, "path", _moved(temporary, parent))
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Return an existing run. Raises RunError where there is none."""
        if problem := no_run(path):
            raise RunError(f"{path}: {problem}; `promptpo list` shows the runs")
        return cls(path)

    @property
    def events(self) -> Path:
        """The event log."""
        return self.path / "events.jsonl"

    @property
    def prompts(self) -> Path:
        """The folder of prompts and replies as readable files."""
        return self.path / "prompts"

    @property
    def best_policy(self) -> Path:
        """The winner, as a module that stands alone."""
        return self.path / "best" / "policy.py"

    def candidate(self, name: str) -> Path:
        """Return the folder of one candidate, e.g. ``r02_c03``."""
        return self.path / "candidates" / name

    def lock(self) -> int:
        """Keep other processes from writing to this run until the returned descriptor closes.

        Raises RunError where another one has it, FileError where it cannot be locked.
        """
        file = self.path / ".lock"
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as e:
            raise file_error(e, file) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            os.close(descriptor)
            if not isinstance(e, BlockingIOError):
                raise file_error(e, file) from None
            raise RunError(
                f"{self.path}: another process is running it; wait for it or stop it"
            ) from None
        return descriptor

    @property
    def is_running(self) -> bool:
        """True while a process holds the run; nothing is written to find out."""
        try:
            descriptor = os.open(self.path / ".lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as e:
            return isinstance(e, BlockingIOError)
        finally:
            os.close(descriptor)
        return False

    def write(self, file: Path, content: str | bytes) -> None:
        """Write a file in the folder, which is not made anew where it has been deleted."""
        write_atomically(file, content, inside=self.path)

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Replace ``run.json``."""
        self.write(self.path / "run.json", json.dumps(info, indent=2) + "\n")

    def read_info(self) -> dict[str, Any]:
        """Return ``run.json``; empty where a kill came before it was written.

        Raises RunError where it cannot be read, or does not hold what it should.
        """
        file = self.path / "run.json"
        try:
            info: Any = json.loads(file.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as e:
            raise RunError(str(file_error(e, file))) from None
        except (ValueError, RecursionError) as e:
            raise RunError(f"{file}: not valid JSON ({e})") from None
        try:
            decode(INFO, info)
        except ValueError as e:
            raise RunError(f"{file}: not what promptpo writes there ({e})") from None
        return cast("dict[str, Any]", info)

    def write_prompt(self, key: Key, messages: Sequence[Message]) -> None:
        """Write the messages of one call, each under a heading."""
        self.write(self.prompts / f"{key}.prompt.md", as_markdown(messages))

    def restore_call(self, key: Key, messages: Sequence[Message], reply: str) -> None:
        """Write the files of a recorded call, where they are missing."""
        if not (self.prompts / f"{key}.prompt.md").exists():
            self.write_prompt(key, messages)
        self.write_reply(key, reply)

    def write_reply(self, key: Key, text: str) -> None:
        """Write the reply to one call, unless the person who answered put it there."""
        path = self.prompts / f"{key}.reply.md"
        if not path.exists():
            self.write(path, text)

    def write_result(self, candidate: Candidate) -> None:
        """Write a candidate's source and result; the error of a failed one is its feedback.txt."""
        run = candidate.rollout
        result: dict[str, Any] = {
            "kind": candidate.kind,
            "parents": list(candidate.parents),
            "notes": encode(candidate.notes),
            "repairs": candidate.key.attempt,
            "error": candidate.error,
        }
        if run is not None:
            result |= {k: v for k, v in encode(run).items() if k != "error"}
        if candidate.preparation is not None:
            result["preparation"] = encode(candidate.preparation)
        if candidate.source is not None:
            self.write_candidate(candidate.name, "policy.py", candidate.source)
        if candidate.error is not None:
            self.write_candidate(candidate.name, "feedback.txt", candidate.error + "\n")
        self.write_candidate(candidate.name, "result.json", json.dumps(result, indent=2) + "\n")

    def write_candidate(self, name: str, file: str, content: str) -> None:
        """Write one file of a candidate's folder."""
        self.write(self.candidate(name) / file, content)

    def episodes(self, name: str, failed: int | None = None) -> Path:
        """Return the file of one candidate's search episodes.

        They are all of them, or those that ended before the attempt ``failed`` did.
        """
        file = "episodes.npz" if failed is None else f"failed_{failed}.npz"
        return self.candidate(name) / file

    def write_episodes(
        self,
        name: str,
        episodes: Sequence[Trajectory],
        failed: int | None = None,
    ) -> None:
        """Store trajectories beside those that are there; one of the same seed gives way."""
        stored: dict[int, Trajectory] = {}
        with contextlib.suppress(RunError):  # missing, or damaged
            stored = {e.seed: e for e in self.read_episodes(name, failed)}
        stored |= {e.seed: e for e in episodes}
        self.write(self.episodes(name, failed), pack_episodes(list(stored.values())))

    def read_episodes(
        self,
        name: str,
        failed: int | None = None,
        seeds: Collection[int] | None = None,
    ) -> list[Trajectory]:
        """Return the trajectories that ``write_episodes`` stored, or those of these seeds.

        Raises RunError.
        """
        return read_episodes(self.episodes(name, failed), seeds)

    def prepared(self, name: str, digest: str) -> Path:
        """Return the file of values of a candidate's ``prepare``, as ``sandbox`` packs them."""
        return self.candidate(name) / f"prepared_{digest}.bin"

    def write_prepared(self, name: str, values: bytes) -> str:
        """Store such values; return their digest."""
        digest = _digest(values)
        self.write(self.prepared(name, digest), values)
        return digest

    def read_prepared(self, name: str, digest: str) -> bytes | None:
        """Return the values of a digest; None where they are missing or damaged."""
        with contextlib.suppress(OSError):
            values = self.prepared(name, digest).read_bytes()
            return values if _digest(values) == digest else None
        return None

    @property
    def temporary(self) -> Path:
        """The folder of files that are of use only while the run goes on."""
        return self.path / ".temporary"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


Trace = Mapping[str, tuple[float | bool | str | None, ...]]

#: What a traced value is, as ``trace_kinds_i`` has it.
_KINDS: tuple[type, ...] = (type(None), float, int, bool, str)


def pack_episodes(episodes: Sequence[Trajectory]) -> bytes:
    """Return trajectories as ``episodes.npz``: ``obs_0, actions_0, rewards_0, end_0, obs_1, ...``.

    They are arrays without pickles, as docs/runs.md describes them.
    """
    import numpy as np

    arrays: dict[str, Any] = {}
    for i, e in enumerate(episodes):
        arrays[f"obs_{i}"], arrays[f"actions_{i}"] = e.observations, e.actions
        arrays[f"rewards_{i}"] = e.rewards
        flags = [e.seed, e.terminated, e.truncated, -1 if e.success is None else e.success]
        arrays[f"end_{i}"] = np.array(flags, dtype=np.int64)
        if e.trace:
            arrays |= {f"trace_{name}_{i}": array for name, array in _traced(e.trace).items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def read_episodes(file: Path, seeds: Collection[int] | None = None) -> list[Trajectory]:
    """Return the trajectories in a file, or those of these seeds.

    Raises RunError where it is missing or damaged.
    """
    import numpy as np

    remedy = "`promptpo --resume` plays its episodes again"
    try:
        with np.load(file, allow_pickle=False) as data:
            count = sum(name.startswith("end_") for name in data.files)
            ends = [_array(data, f"end_{i}", 1, "i").tolist() for i in range(count)]
            return [
                _episode(data, i, *end)
                for i, end in enumerate(ends)
                if seeds is None or end[0] in seeds
            ]
    except FileNotFoundError:
        raise RunError(f"{file}: the episodes are missing; {remedy}") from None
    except Exception as e:  # numpy and zipfile raise a dozen kinds for a damaged file
        words = " ".join(str(e).split())[:200] or type(e).__name__
        raise RunError(f"{file}: damaged ({words}); {remedy}") from None


def _episode(
    data: Any,  # noqa: ANN401 - numpy's open file
    i: int,
    seed: int,
    terminated: int,
    truncated: int,
    success: int,
) -> Trajectory:
    rewards = _array(data, f"rewards_{i}", 1)
    observations, actions = _array(data, f"obs_{i}", 2), _array(data, f"actions_{i}", 2)
    if not len(observations) - 1 == len(actions) == len(rewards):
        raise ValueError(f"the arrays of episode {i} do not fit together")
    return Trajectory(
        observations=observations,
        actions=actions,
        rewards=rewards,
        seed=seed,
        terminated=bool(terminated),
        truncated=bool(truncated),
        success=None if success < 0 else bool(success),
        trace=_trace(data, i, len(rewards)) if f"trace_names_{i}" in data.files else {},
    )


def _traced(trace: Trace) -> dict[str, Any]:
    """Return C columns of T values as arrays; kinds are positions in ``_KINDS``."""
    import numpy as np

    columns = list(trace.values())
    kinds = [[_KINDS.index(type(v)) for v in values] for values in columns]
    numbers = [[0.0 if v is None or isinstance(v, str) else v for v in c] for c in columns]
    strings = [[v if isinstance(v, str) else "" for v in values] for values in columns]
    return {
        "names": np.array(list(trace), dtype=np.str_),
        "kinds": np.array(kinds, dtype=np.uint8),
        "numbers": np.array(numbers, dtype=np.float64),
        "strings": np.array(strings, dtype=np.str_),
    }


def _trace(data: Any, i: int, steps: int) -> Trace:  # noqa: ANN401 - numpy's open file
    """Return the columns that ``_traced`` made arrays of."""
    names = _array(data, f"trace_names_{i}", 1, "U").tolist()
    kinds = _array(data, f"trace_kinds_{i}", 2, "u")
    numbers = _array(data, f"trace_numbers_{i}", 2)
    strings = _array(data, f"trace_strings_{i}", 2, "U")
    shape = (len(names), steps)
    fit = len(set(names)) == len(names) and all(map(str.isidentifier, names))
    if not fit or {kinds.shape, numbers.shape, strings.shape} != {shape}:
        raise ValueError(f"the trace of episode {i} does not fit it")
    if kinds.max(initial=0) >= len(_KINDS):
        raise ValueError(f"trace_kinds_{i} is not what promptpo writes there")
    rows = zip(kinds.tolist(), numbers.tolist(), strings.tolist(), strict=True)
    return {name: tuple(map(_value, *row)) for name, row in zip(names, rows, strict=True)}


def _value(kind: int, number: float, string: str) -> float | bool | str | None:
    type_ = _KINDS[kind]
    if type_ is type(None):
        return None
    return string if type_ is str else type_(number)


def _array(data: Any, name: str, dimensions: int, kind: str = "f") -> Any:  # noqa: ANN401
    array = data[name]
    if array.ndim != dimensions or array.dtype.kind != kind:
        raise ValueError(f"{name} is not what promptpo writes there")
    return array
