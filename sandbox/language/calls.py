"""Keywords that are looked at when a call is made: private names, and ``where`` (``memory``).

A parameter ``_x`` of a program is renamed, so ``f(_x=1)`` is renamed too when compiling. Names that
are known only when running are put right here: keys of ``f(**options)``, names that ``**options``
collects, and keywords that a dict keeps. Only calls and functions that need it come here.
"""

from __future__ import annotations

import types
from collections import UserDict
from collections.abc import Callable

from sandbox.language import names, ownership
from sandbox.language.memory import masked

_MARKS = ("_", names.PREFIX)
_STORES = (dict, UserDict)


def call(function: Callable[..., object], /, *args: object, **keywords: object) -> object:
    """``function(*args, **keywords)`` with private keywords as ``function`` knows them."""
    if any(name[:1] in _MARKS for name in keywords):
        known = names.readable if _keeps_names(function) else names.renamed
        keywords = {known(name): value for name, value in keywords.items()}
    if "where" in keywords:
        return masked(function, args, keywords)
    return function(*args, **keywords)


def _keeps_names(function: Callable[..., object]) -> bool:
    """Whether it makes or updates a dict, with the names as keys."""
    if isinstance(function, type):
        return issubclass(function, _STORES) and not ownership.is_own_function(function.__init__)
    inner = function.__func__ if isinstance(function, types.MethodType) else function
    return (
        isinstance(getattr(function, "__self__", None), _STORES)
        and getattr(inner, "__name__", "") in ("update", "__init__")
        and not ownership.is_own_function(inner)
    )


def collected(keywords: dict[str, object]) -> dict[str, object]:
    """``**keywords`` of a function with private names as they were written."""
    if any(name[0] == names.PREFIX for name in keywords if name):
        return {names.readable(name): value for name, value in keywords.items()}
    return keywords
