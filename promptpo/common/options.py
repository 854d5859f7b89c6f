"""How a setting is declared, a field of a dataclass with what the command line says, and read."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints


def option(  # noqa: PLR0913 - what can be said of a setting
    default: Any,  # noqa: ANN401 - a setting may be of any plain type
    help: str,
    *,
    metavar: str | None = None,
    choices: tuple[str, ...] | None = None,
    within: tuple[float, float] | None = None,
    group: str = "search",
    resumable: bool = False,
    several: bool = False,
    auto: bool = False,
) -> Any:  # noqa: ANN401
    """Declare one setting; ``resumable`` ones and limits may change when a run is resumed.

    ``within``: the least and the most that a number may be; beyond them it is a slip of the hand.
    ``several``: a comma-separated list of ``choices``. ``auto``: the word ``auto`` is a
    value, too.
    """
    meta = {
        "help": help,
        "metavar": metavar,
        "choices": choices,
        "within": within,
        "group": group,
        "resumable": resumable or group == "limits",
        "several": several,
        "auto": auto,
    }
    return dataclasses.field(default=default, metadata=meta)


def value_type(kind: type, name: str) -> type:
    """The plain type of a setting, None aside: int, float, str or bool."""
    hint = hints_of(kind)[name]
    kinds: list[type] = [t for t in get_args(hint) if t is not type(None)]
    return kinds[0] if kinds else hint


@functools.cache
def hints_of(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields, as they are annotated."""
    return get_type_hints(kind)


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the options of the method beside the others, not under ``options``."""
    rest = {name: value for name, value in config.items() if name != "options"}
    own = config.get("options")
    return {**rest, **own} if isinstance(own, Mapping) else rest
