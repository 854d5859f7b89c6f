"""The folder of a run: where each file lies, and how it is written so that a kill tears none."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from promptpo.common.files import write_atomically
from promptpo.errors import RunError, file_error
from promptpo.llm.manual_model import as_markdown
from promptpo.llm.messages import Message
from promptpo.store.codec import decode, encode
from promptpo.store.shapes import Info
from promptpo.types import Candidate, Key

if TYPE_CHECKING:
    from promptpo.types import Trajectory


def no_run(path: Path) -> str:
    """Why a path is not the folder of a run; empty where it is one."""
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
        """An existing run. Raises RunError where there is none."""
        if problem := no_run(path):
            raise RunError(f"{path}: {problem}; `promptpo list` shows the runs")
        return cls(path)

    @property
    def events(self) -> Path:
        """The event log."""
        return self.path / "events.jsonl"

    @property
    def prompts(self) -> Path:
        """Where prompts and replies lie as readable files."""
        return self.path / "prompts"

    @property
    def best_policy(self) -> Path:
        """The winner, as a module that stands alone."""
        return self.path / "best" / "policy.py"

    def candidate(self, name: str) -> Path:
        """The folder of one candidate, e.g. ``r02_c03``."""
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
        """Whether a process holds the run just now; nothing is written to find out."""
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
        """A file in the folder, which is not made anew where it has been deleted."""
        write_atomically(file, content, inside=self.path)

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Replace ``run.json``."""
        self.write(self.path / "run.json", json.dumps(info, indent=2) + "\n")

    def read_info(self) -> dict[str, Any]:
        """``run.json``; empty where a kill came before it was written.

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
            decode(Info, info)
        except ValueError as e:
            raise RunError(f"{file}: not what promptpo writes there ({e})") from None
        return cast("dict[str, Any]", info)

    def write_prompt(self, key: Key, messages: Sequence[Message]) -> None:
        """The messages of one call, each under a heading."""
        self.write(self.prompts / f"{key}.prompt.md", as_markdown(messages))

    def restore_call(self, key: Key, messages: Sequence[Message], reply: str) -> None:
        """The files of a call that is on record, where they are missing."""
        if not (self.prompts / f"{key}.prompt.md").exists():
            self.write_prompt(key, messages)
        self.write_reply(key, reply)

    def write_reply(self, key: Key, text: str) -> None:
        """The reply to one call, unless the person who answered put it there."""
        path = self.prompts / f"{key}.reply.md"
        if not path.exists():
            self.write(path, text)

    def write_result(self, candidate: Candidate) -> None:
        """A candidate's source and result; what a failed one was told goes to feedback.txt."""
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
        """One file of a candidate's folder."""
        self.write(self.candidate(name) / file, content)

    def episodes(self, name: str, failed: int | None = None) -> Path:
        """Search episodes of one candidate as arrays without pickles.

        All of them, or those that ended before an attempt at it failed, which is given by its
        number.
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
        from promptpo.store.episodes import packed

        stored: dict[int, Trajectory] = {}
        with contextlib.suppress(RunError):  # missing, or damaged
            stored = {e.seed: e for e in self.read_episodes(name, failed)}
        stored |= {e.seed: e for e in episodes}
        self.write(self.episodes(name, failed), packed(list(stored.values())))

    def read_episodes(
        self,
        name: str,
        failed: int | None = None,
        seeds: Collection[int] | None = None,
    ) -> list[Trajectory]:
        """The trajectories that ``write_episodes`` stored, or those of these seeds.

        Raises RunError.
        """
        from promptpo.store.episodes import read

        return read(self.episodes(name, failed), seeds)

    def prepared(self, name: str, digest: str) -> Path:
        """Values that a candidate's ``prepare`` returned, as ``sandbox`` packs them."""
        return self.candidate(name) / f"prepared_{digest}.bin"

    def write_prepared(self, name: str, values: bytes) -> str:
        """Store such values; returns their digest."""
        digest = _digest(values)
        self.write(self.prepared(name, digest), values)
        return digest

    def read_prepared(self, name: str, digest: str) -> bytes | None:
        """The values of a digest; None where they are missing or damaged."""
        with contextlib.suppress(OSError):
            values = self.prepared(name, digest).read_bytes()
            return values if _digest(values) == digest else None
        return None

    @property
    def temporary(self) -> Path:
        """What is of use only while the run goes on."""
        return self.path / ".temporary"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
