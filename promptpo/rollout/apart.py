"""One call of ours in a process of its own, because it opens an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from promptpo.errors import SpecError
from promptpo.rollout.serving import portable
from promptpo.rollout.watched import Lost, Watched

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")


def apart(spec: str, limit: float, function: Callable[..., T], *args: object) -> T:
    """What a function of a module returns, or the exception that it raises.

    Raises SpecError where the process ends before that, or a call of the environment of ``spec``
    takes longer than ``limit`` seconds.
    """
    process = Watched(_answer, function, args, limit=limit, spec=spec)
    try:
        kind, answer = process.receive()
    except Lost as lost:
        raise SpecError(f"{spec}: {lost.words}{lost.location}") from None
    finally:
        process.close()
    if kind == "raised":
        raise answer
    found: T = answer
    return found


def _answer(connection: Connection, function: Callable[..., Any], args: tuple[object, ...]) -> None:
    try:
        answer: tuple[str, object] = ("done", function(*args))
    except BaseException as error:
        answer = ("raised", portable(error))
    connection.send(answer)
