"""The model ``file:PATH``: a policy that somebody has written already, as the one reply."""

from __future__ import annotations

import re
from pathlib import Path

from promptpo.errors import ModelError, UsageError
from promptpo.llm.messages import Reply, Request


class FileModel:
    """Answers every call for a policy with a file's; asked once, a run needs the file no more."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path

    async def ask(self, request: Request) -> Reply:
        """The policy in a fenced block. Raises ModelError where the file cannot be read."""
        from promptpo.export.policy_file import PolicyFile

        try:
            source = PolicyFile.read(self._path).source
        except UsageError as e:
            raise ModelError(f"--model {self.name}: {e}") from None
        longest = max(map(len, re.findall("`+", source)), default=0)
        fence = "`" * max(3, longest + 1)
        usage = {"prompt_tokens": 0, "completion_tokens": 0}
        text = f"{fence}python\n{source.rstrip()}\n{fence}\n"
        return Reply(text, self.name, usage=usage, cost=0.0)

    async def close(self) -> None:
        """Nothing is held open."""
