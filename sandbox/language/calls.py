"""Keywords that are looked at when a call is made: private names, ``where``, ``overwrite_...``.

A parameter ``_x`` of a program is renamed, so ``f(_x=1)`` is renamed too when compiling. Names that
are known only when running are put right here: keys of ``f(**options)``, names that ``**options``
collects, and keywords that a dict keeps. For ``where`` see ``memory``. ``overwrite_a=True`` lets
scipy's Fortran write to an array without asking whether it may: read-only ones are not offered.
Only calls and functions that need it come here.
"""

from __future__ import annotations

import types
from collections import UserDict
from collections.abc import Callable

import numpy as np

from sandbox.language import names, ownership
from sandbox.language.memory import masked

_MARKS = ("_", names.PREFIX)
_STORES = (dict, UserDict)
_OVERWRITE = "overwrite_"


def looked_at(keyword: str) -> bool:
    """Whether a call with this keyword is made by ``call``."""
    return keyword == "where" or keyword.startswith(("_", _OVERWRITE))


def call(function: Callable[..., object], /, *args: object, **keywords: object) -> object:
    """``function(*args, **keywords)`` with private keywords as ``function`` knows them."""
    if any(name[:1] in _MARKS for name in keywords):
        known = names.readable if _keeps_names(function) else names.renamed
        keywords = {known(name): value for name, value in keywords.items()}
    if any(name.startswith(_OVERWRITE) for name in keywords) and not ownership.is_own(function):
        keywords = _not_overwriting(args, keywords)
    if "where" in keywords:
        return masked(function, args, keywords)
    return function(*args, **keywords)


def _not_overwriting(args: tuple[object, ...], keywords: dict[str, object]) -> dict[str, object]:
    """The keywords, without leave to overwrite where an array is read-only."""
    given = [*args, *keywords.values()]
    for value in args:
        given += value if isinstance(value, tuple | list) else ()
    if all(value.flags.writeable for value in given if isinstance(value, np.ndarray)):
        return keywords
    return {name: v for name, v in keywords.items() if not name.startswith(_OVERWRITE)}


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
