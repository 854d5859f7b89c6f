"""The folder of a run: where each file lies, and how it is written so that a kill tears none."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.errors import RunError
from promptpo.llm.manual_model import as_markdown
from promptpo.store.files import write_atomically
from promptpo.types import CallKey, Candidate, Message, Stream

if TYPE_CHECKING:
    from promptpo.rollout.jobs import EpisodeData


def no_run(path: Path) -> str:
    """Why a path is not the folder of a run; empty where it is one."""
    if (path / "events.jsonl").is_file():
        return ""
    return "not a run (no events.jsonl)" if path.exists() else "no such path"


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
        yield folder
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for number in itertools.count(1):
            path = parent / (stamp if number == 1 else f"{stamp}-{number}")
            with contextlib.suppress(OSError):  # taken by a run that started in the same second
                temporary.rename(path)
                object.__setattr__(folder, "path", path)
                return

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

        Raises RunError where another one has it.
        """
        descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise RunError(
                f"{self.path}: another process is running it; wait for it or stop it"
            ) from None
        return descriptor

    @property
    def is_running(self) -> bool:
        """Whether a process holds the run just now; nothing is written to find out."""
        try:
            descriptor = os.open(self.path / ".lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Replace ``run.json``."""
        write_atomically(self.path / "run.json", json.dumps(info, indent=2) + "\n")

    def read_info(self) -> dict[str, Any]:
        """``run.json``; empty where a kill came before it was written."""
        try:
            info: dict[str, Any] = json.loads((self.path / "run.json").read_text())
        except FileNotFoundError:
            return {}
        except ValueError as e:
            raise RunError(f"{self.path / 'run.json'}: not valid JSON: {e}") from None
        return info

    def write_prompt(self, key: CallKey, messages: Sequence[Message]) -> None:
        """The messages of one call, each under a heading."""
        write_atomically(self.prompts / f"{key}.prompt.md", as_markdown(messages))

    def write_reply(self, key: CallKey, text: str) -> None:
        """The reply to one call, unless the person who answered put it there."""
        path = self.prompts / f"{key}.reply.md"
        if not path.exists():
            write_atomically(path, text)

    def write_result(self, candidate: Candidate) -> None:
        """A candidate's source and result; what a failed one was told goes to feedback.txt."""
        run = candidate.rollout
        result: dict[str, Any] = {"repairs": candidate.repairs, "error": candidate.error}
        if run is not None:
            result |= {k: v for k, v in asdict(run).items() if k not in ("error", "output")}
            result["output"] = run.output
        if candidate.source is not None:
            self.write_candidate(candidate.name, "policy.py", candidate.source)
        if candidate.error is not None:
            self.write_candidate(candidate.name, "feedback.txt", candidate.error + "\n")
        self.write_candidate(candidate.name, "result.json", json.dumps(result, indent=2) + "\n")

    def write_candidate(self, name: str, file: str, content: str) -> None:
        """One file of a candidate's folder."""
        write_atomically(self.candidate(name) / file, content)

    def episodes(self, name: str, stream: Stream = "search") -> Path:
        """Episodes of one candidate as arrays without pickles.

        All its search episodes, or the held-out ones that a proof needs.
        """
        file = "held_out.npz" if stream == "test" else "episodes.npz"
        return self.candidate(name) / file

    def write_episodes(
        self, name: str, episodes: Sequence[EpisodeData], stream: Stream = "search"
    ) -> None:
        """Store trajectories as ``obs_0, actions_0, rewards_0, end_0, obs_1, ...``."""
        import io

        import numpy as np

        arrays: dict[str, Any] = {}
        for i, e in enumerate(episodes):
            arrays[f"obs_{i}"], arrays[f"actions_{i}"] = e.observations, e.actions
            arrays[f"rewards_{i}"] = e.rewards
            flags = [e.seed, e.terminated, e.truncated, -1 if e.success is None else e.success]
            arrays[f"end_{i}"] = np.array(flags, dtype=np.int64)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        write_atomically(self.episodes(name, stream), buffer.getvalue())

    def read_episodes(self, name: str, stream: Stream = "search") -> list[EpisodeData]:
        """The trajectories that ``write_episodes`` stored."""
        import numpy as np

        from promptpo.rollout.jobs import EpisodeData

        with np.load(self.episodes(name, stream), allow_pickle=False) as data:
            episodes = []
            for i in range(len(data.files) // 4):
                seed, terminated, truncated, success = data[f"end_{i}"].tolist()
                episodes.append(
                    EpisodeData(
                        observations=data[f"obs_{i}"],
                        actions=data[f"actions_{i}"],
                        rewards=data[f"rewards_{i}"],
                        seed=seed,
                        terminated=bool(terminated),
                        truncated=bool(truncated),
                        success=None if success < 0 else bool(success),
                    )
                )
        return episodes
