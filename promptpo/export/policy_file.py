"""A policy as a file: its source, and what an error in it means to whoever edits the file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import sandbox
from promptpo.common.files import NotText, read_source
from promptpo.common.plaintext import fenced
from promptpo.errors import RunError, UsageError
from promptpo.export.learned import Learned, takes_values


@dataclass(frozen=True)
class PolicyFile:
    """A file, the policy's source in it, and how many lines of the file more stand above that.

    ``module`` is the text of the whole file; empty where it is the source alone.
    """

    path: Path
    source: str
    above: int = 0
    module: str = ""

    @classmethod
    def read(cls, path: Path) -> PolicyFile:
        """Read a policy as a run exports it, or as someone wrote it. Raises UsageError."""
        from promptpo.export.policy_module import policy_part

        try:
            whole = read_source(path)
        except NotText as e:
            raise UsageError(str(e)) from None
        except OSError as e:
            raise UsageError(f"{path}: cannot be read ({e.strerror})") from None
        source = policy_part(whole)
        return cls(path, source, whole.count("\n") - source.count("\n"), whole)

    @cached_property
    def learned(self) -> Learned | None:
        """The values that ``prepare`` returned, from the file and what lies beside it, if known.

        A candidate's file in a run's folder has it from the run. Raises UsageError where it is
        there and cannot be read.
        """
        prepares = sandbox.prepares(self.source)
        if not prepares and not takes_values(self.source):
            return None
        learned = Learned.read(self.module or self.source, self.path)
        if learned is not None:
            return learned
        return _of_candidate(self.path.absolute()) if prepares else None

    @property
    def prepared(self) -> bytes:
        """The values that its policies are made with, packed; empty where they need none.

        Raises UsageError where they are missing, or cannot be read.
        """
        if self.learned is not None:
            return self.learned.values
        if not sandbox.prepares(self.source) or not takes_values(self.source):
            return b""
        what = f"{self.path}: its Policy is made with what prepare(data) returns"
        if not self.module:
            raise UsageError(f"{what}, and the text holds no PREPARED = {{...}}; name its file")
        raise UsageError(
            f"{what}, and the file has no such values (PREPARED); `promptpo SPEC --model"
            f" file:{self.path} --rounds 1 --candidates 1 --set probe=20` runs it on random"
            " episodes: best/policy.py of that run has them"
        )

    @cached_property
    def played(self) -> str:
        """The source as it is played: plain values where it declares constants.

        Raises UsageError for a declaration that is refused.
        """
        from promptpo.policies.constants import TunableError, without_declarations

        try:
            return without_declarations(self.source)[0]
        except SyntaxError:
            return self.source  # the compiler's words on it are better
        except TunableError as e:
            raise UsageError(f"{self.path}:{e.line + self.above}: {e.why}") from None

    @property
    def fenced(self) -> str:
        """The source in a fenced block, as a model would send it."""
        return f"{fenced(self.source.rstrip(), 'python')}\n"

    def failure(self, error: str, kind: str | None = None) -> str:
        """Return one line on an error of this kind, with the line that the sandbox names."""
        if kind == "environment":
            return f"{self.path}: {error}"
        place = re.match(r"in (act\(\) number \d+) of episode slot \d+:\n", error)
        lines = re.findall(r"^\s*(?:it was at )?line (\d+)[,:]", error, re.MULTILINE)
        traceback = "Traceback (most recent call last):" in error
        text = error[place.end() if place else 0 :].splitlines()
        text = [line for line in text if line[:1].strip()]
        text = [x for x in text if not x.startswith(("Traceback", "(in the call of"))] or [""]
        words = "; ".join(text) if traceback else re.sub(r"^line \d+: ", "", text[0])
        # The innermost call of a traceback, the first of several refusals.
        line = f":{int(lines[-1 if traceback else 0]) + self.above}" if lines else ""
        at = f" (in {place[1]})" if place else ""
        return f"{self.path}{line}: the policy failed: {words}{at}"


def _of_candidate(path: Path) -> Learned | None:
    """Return the values on record for the candidate whose ``policy.py`` this is, if it is one."""
    from promptpo.store.folder import RunFolder
    from promptpo.store.run import load_run

    name, run = path.parent.name, RunFolder(path.parents[2] if len(path.parents) > 2 else path)
    if path.parent.parent.name != "candidates" or not run.events.is_file():
        return None
    try:
        record = load_run(run.path)
    except RunError:
        return None
    trial = record.trials.get(name)
    done = trial.candidate.preparation if trial else None
    if done is None or done.values is None:
        return None
    values = run.read_prepared(record.values_in.get(done.values, name), done.values)
    return None if values is None else Learned.of(done, values)
