"""One run of a sweep as a process: what it says of itself, and how it is ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

#: What a process says: how it stands (or a notice), or None where it has ended.
Message = dict[str, Any] | None

#: Begins the line in which a command complains.
_OWN = "promptpo: error: "


class RunProcess:
    """``promptpo run ... --json --attached``, which ends when this process does.

    ``cores``: those that it keeps to, None for all. ``lock``: a descriptor that it holds as long as
    it lives. ``hear`` is called with each message, in a thread. ``environ``: variables that it has
    besides this process's.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        cores: frozenset[int] | None,
        lock: int,
        hear: Callable[[Message], None],
        environ: Mapping[str, str],
    ) -> None:
        self._hear = hear
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        with _keeping_to(cores):
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*_interpreter(), "run", *arguments, "--json", "--attached"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                pass_fds=(lock,),
                env={**os.environ, **environ},
            )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):  # what a library prints is no message
                message = json.loads(line)
                if isinstance(message, dict):
                    self._hear(message)
        self._process.wait()
        self._hear(None)

    def stop(self) -> None:
        """Let it end as with Ctrl-C: it can be resumed."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def kill(self) -> None:
        """End it at once; it can be resumed even so."""
        self._process.kill()

    def close(self) -> tuple[int, str]:
        """The exit code of a process that has ended, and its complaint, in one line."""
        code = self._process.wait()
        self.stop()
        with self._errors as file:
            file.seek(0)
            lines = file.read().decode(errors="replace").strip().splitlines()
        own = [line for line in lines if line.startswith(_OWN)]  # a spec may say more at exit
        said = (own or lines or [""])[-1].removeprefix(_OWN)
        if code < 0:
            said = f"its process was ended by signal {-code}"
        return code, said or f"it ended with exit code {code}"


def _interpreter() -> list[str]:
    """Python as this process has been started: it imports from the current folder, or does not."""
    here = os.getcwd()  # noqa: PTH109 - as it stands in sys.path
    safely = [] if {"", here} & set(sys.path) else ["-P"]
    return [sys.executable, *safely, "-m", "promptpo"]


@contextlib.contextmanager
def _keeping_to(cores: frozenset[int] | None) -> Iterator[None]:
    """What is started within keeps to these cores."""
    if cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
