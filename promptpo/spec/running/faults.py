"""What an environment does wrong while it is played: who, in which call, and the remedy."""

from __future__ import annotations

from pathlib import Path

from promptpo.errors import SpecError
from promptpo.spec.authoring.definition import EnvSpec
from promptpo.spec.running.explanation import explain


class EnvironmentFault(SpecError):
    """An environment raised, or returned what is no observation, reward or flag.

    Attributes:
        where: the spec's file, with the line where it is known.
        problem: what happened, without ``where``, so that a model may read it.
        remedy: what the spec's author may do about it, or empty.
    """

    def __init__(self, where: str, problem: str, remedy: str = "") -> None:
        super().__init__(where, problem, remedy)
        self.where, self.problem, self.remedy = where, problem, remedy

    def at(self, place: str) -> EnvironmentFault:
        """The same, with where in an episode it happened."""
        return EnvironmentFault(self.where, f"{self.problem} ({place})", self.remedy)

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.where}: {self.problem}{remedy}"


class UnsupportedSpace(Exception):
    """A space that has no flat row of numbers; the message says what to do."""


def raised(spec: EnvSpec, problem: str, error: BaseException) -> EnvironmentFault:
    """The fault for an exception, with the spec's line where it passed through one."""
    if isinstance(error, EnvironmentFault):
        return error
    where, reason = explain(error, spec.path or Path(spec.where), spec.install)
    return EnvironmentFault(where, f"{problem}: {reason}")
