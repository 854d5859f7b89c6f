"""No array shows what its memory held before: that may be another episode's.

Three things in numpy leave memory as it was: ``np.empty``, padding of mode "empty", and what a
ufunc leaves out by ``where=``. Here they are zeros. (So does ``np.nditer``, which is not offered.)
"""

from __future__ import annotations

import functools
import inspect
import types
from collections import UserDict
from collections.abc import Callable
from typing import Any

import numpy as np

from sandbox.language import ownership
from sandbox.language.formatting import SafeFormat, safe_format


def _empty_like(prototype: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the original
    """``np.empty_like``."""
    return np.zeros_like(prototype, *args, **options)


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:  # noqa: ANN401
    """``np.pad``."""
    if not callable(mode):
        mode = str.__str__(mode)
        mode = "constant" if mode == "empty" else mode
    return np.pad(array, pad_width, mode, **options)


#: What numpy's facade holds instead of the functions of these names.
CLEAN: dict[str, Callable[..., Any]] = {
    "empty": np.zeros,
    "empty_like": _empty_like,
    "pad": _pad,
}


def masked(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> object:  # noqa: ANN401
    """``function(*args, **options)`` where ``options`` hold a ``where``.

    Raises:
        TypeError: the function might hand it on to a ufunc unseen.
    """
    if isinstance(function, functools.partial):
        return masked(function.func, (*function.args, *args), {**function.keywords, **options})
    if type(function) is np.ufunc:
        return _clean(function, args, options)
    # What a partial is made of is asked in its place.
    inner = args[0] if function is functools.partial and args else function
    if options["where"] is True or _has_where(inner):
        return function(*args, **options)
    raise TypeError("where= is not available in this call; call a ufunc directly, or use np.where")


def _clean(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> object:
    where = np.asarray(options["where"], bool)
    # Without an output of its own or of none, numpy warns of what is mended here.
    options = {**options, "where": where}
    if len(args) <= ufunc.nin:
        options.setdefault("out", None)
    result = ufunc(*args, **options)
    given = options.get("out", args[ufunc.nin :])
    outs = given if isinstance(given, tuple) else (given,)
    results = result if isinstance(result, tuple) else (result,)
    clean = []
    for index, made in enumerate(results):
        if index < len(outs) and outs[index] is not None:
            clean.append(made)
            continue
        array = np.asarray(made).copy() if not isinstance(made, np.ndarray) else made
        array[~np.broadcast_to(where, array.shape)] = 0
        clean.append(array if isinstance(made, np.ndarray) else array[()])
    return tuple(clean) if isinstance(result, tuple) else clean[0]


def _has_where(function: Any) -> bool:  # noqa: ANN401 - whatever is called
    """Whether ``where`` is the function's own parameter, or a name that it keeps."""
    if isinstance(function, type):
        if issubclass(function, functools.partial):
            return False
        keeps = issubclass(function, dict | UserDict | tuple)
        return keeps or ownership.is_own_function(function.__init__)
    if function is safe_format or isinstance(function, SafeFormat) or not callable(function):
        return True
    owner = getattr(function, "__self__", None)
    if isinstance(function, types.BuiltinMethodType) or isinstance(owner, UserDict):
        reduces = type(owner) is np.ufunc and function.__name__ == "reduce"
        return reduces or isinstance(owner, np.ndarray | np.generic | dict | UserDict)
    inner = getattr(function, "__func__", function)
    if type(inner) not in _FUNCTIONS:
        inner = type(function).__call__
    if ownership.is_own(inner):
        return ownership.is_own_function(inner)
    return "where" in _parameters(inner)


_FUNCTIONS = (types.FunctionType, type(np.sum))


@functools.cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()
