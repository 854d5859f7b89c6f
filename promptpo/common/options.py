"""How a setting is declared: a field of a dataclass, with what the command line says of it."""

from __future__ import annotations

import dataclasses
from typing import Any


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
