"""A policy as a file: its source, and what an error in it means to whoever edits the file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from promptpo.common.files import NotText, read_source
from promptpo.errors import UsageError


@dataclass(frozen=True)
class PolicyFile:
    """A file, the policy's source in it, and how many lines of the file more stand above that."""

    path: Path
    source: str
    above: int = 0

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
        return cls(path, source, whole.count("\n") - source.count("\n"))

    @property
    def fenced(self) -> str:
        """The source in a fenced block, as a model would send it."""
        longest = max(map(len, re.findall("`+", self.source)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}python\n{self.source.rstrip()}\n{fence}\n"

    def failure(self, error: str, kind: str | None = None) -> str:
        """One line on an error of this kind, with the line of the file that the sandbox names."""
        if kind == "environment":
            return f"{self.path}: {error}"
        place = re.match(r"in (act\(\) number \d+) of episode slot \d+:\n", error)
        lines = re.findall(r"^\s*(?:it was at )?line (\d+)[,:]", error, re.MULTILINE)
        traceback = "Traceback (most recent call last):" in error
        said = error[place.end() if place else 0 :].splitlines()
        said = [line for line in said if line[:1].strip()]
        said = [x for x in said if not x.startswith(("Traceback", "(in the call of"))] or [""]
        told = "; ".join(said) if traceback else re.sub(r"^line \d+: ", "", said[0])
        # The innermost call of a traceback, the first of several refusals.
        line = f":{int(lines[-1 if traceback else 0]) + self.above}" if lines else ""
        at = f" (in {place[1]})" if place else ""
        return f"{self.path}{line}: the policy failed: {told}{at}"
