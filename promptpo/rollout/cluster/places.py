"""Places where jobs are done, as ``dispatch`` sees them: what it expects, and what fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from promptpo.errors import PromptPOError


class Gone(Exception):
    """A place that is lost, with all that it was doing."""


class Refused(Exception):
    """A place that cannot take part; holds the error that says why, with its node and a remedy."""

    def __init__(self, node: str, error: PromptPOError) -> None:
        super().__init__(str(error))
        self.node, self.error = node, error


@dataclass(frozen=True)
class Task:
    """A job as it is sent; ``kind`` and ``size`` tell what it is like."""

    job: Any
    kind: str
    size: float = 1.0
    parcels: tuple[Any, ...] = ()


class Place(Protocol):
    """Where one job at a time is done. Its methods raise Gone."""

    @property
    def node(self) -> str:
        """Which machine it is on, once it is open."""
        ...

    async def open(self) -> object:
        """Begin; what it found. Raises Refused."""
        ...

    async def do(self, task: Task) -> Any:  # noqa: ANN401 - what comes of a task
        """The answer to a task."""
        ...

    def kill(self) -> None:
        """End it, whatever it is doing."""
        ...


class Crew(Protocol):
    """Where places come from."""

    def wanted(self) -> int:
        """How many places there should be now; may wait for the network."""
        ...

    def hire(self) -> Place:
        """One more place; it may take its time to be there."""
        ...
