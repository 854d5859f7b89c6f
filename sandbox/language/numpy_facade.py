"""numpy without files, raw memory and global state."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.language import classes
from sandbox.language.facades import facade, public_members
from sandbox.language.hardening import harden
from sandbox.language.memory import CLEAN
from sandbox.language.names import words

_FILES = "a policy has no files"
_MEMORY = "it reaches into raw memory; use indexing, slicing, astype or np.ndindex"
_STATE = "it changes settings for everybody; use `with np.errstate(...)`"
_OUTSIDE = "it leads out of numpy"

#: Absent names of numpy, with the reason.
HINTS: dict[str, str] = {
    **dict.fromkeys(
        words(
            "DataSource fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez "
            "savez_compressed"
        ),
        _FILES,
    ),
    **dict.fromkeys(words("from_dlpack nested_iters nditer"), _MEMORY),
    **dict.fromkeys(words("seterrcall setbufsize geterrcall getbufsize"), _STATE),
    **dict.fromkeys(
        words(
            "core ctypeslib f2py ma rec char testing dtypes strings emath test info show_config "
            "show_runtime get_include record recarray bmat sctypeDict"
        ),
        _OUTSIDE,
    ),
    # They read the clock, for "now" and "today".
    **dict.fromkeys(
        words(
            "datetime64 datetime_as_string datetime_data busday_count busday_offset busdaycalendar "
            "is_busday"
        ),
        "a policy has no calendar; count steps in an attribute of self",
    ),
    "float_": "write float or np.float64",
    "float": "write float",
    "int": "write int",
    "Inf": "write np.inf",
    "NaN": "write np.nan",
    "trapz": "write np.trapezoid",
    "in1d": "write np.isin",
    "product": "write np.prod",
}

_POLYNOMIALS = words("Chebyshev Hermite HermiteE Laguerre Legendre Polynomial")


def _ignored(*args: object, **kwargs: object) -> None:
    """``np.set_printoptions`` would outlive its caller; it does nothing here."""


def _public(
    module: types.ModuleType, refused: frozenset[str] = frozenset({"test"})
) -> dict[str, object]:
    return public_members(module, refused)


def _no_array(*args: object, **options: object) -> object:
    # The real one turns any bytes into pointers to objects.
    raise TypeError("np.ndarray() is not available: write np.zeros(shape) or np.array(values)")


#: ``np.ndarray`` to be named, not called.
Array = classes.replace(np.ndarray, _no_array)


def _frombuffer(buffer: Any, *args: Any, **options: Any) -> NDArray[Any]:  # noqa: ANN401 - as the original
    """``np.frombuffer``, but not over pointers to objects, which could then be written to."""
    if "O" in memoryview(buffer).format:
        raise TypeError("np.frombuffer of an array of objects is not available: use np.array")
    return np.frombuffer(buffer, *args, **options)


@functools.cache
def numpy_members() -> dict[str, object]:
    """What every numpy facade holds; ``random`` is added for each episode."""
    members = _public(np, frozenset(HINTS) | {"random", "ndarray"})
    for name, value in members.items():
        if isinstance(value, type) and issubclass(value, np.ndarray):
            # A base class in C whose attributes a program's own could hide behind.
            members[name] = classes.replace(value, value)
    polynomials = {name: getattr(np.polynomial, name) for name in _POLYNOMIALS}
    members |= {
        **CLEAN,
        "frombuffer": _frombuffer,
        # It holds memoryview, which would make a view of pointers to objects.
        "ScalarType": tuple(kind for kind in np.ScalarType if kind is not memoryview),
        "newaxis": None,
        "set_printoptions": _ignored,
        "linalg": facade("numpy.linalg", _public(np.linalg)),
        "fft": facade("numpy.fft", _public(np.fft)),
        "exceptions": facade("numpy.exceptions", _public(np.exceptions)),
        "ndarray": Array,
        "typing": facade(
            "numpy.typing", {"ArrayLike": object, "DTypeLike": object, "NDArray": Array}
        ),
        "polynomial": facade("numpy.polynomial", polynomials),
    }
    windows = {"sliding_window_view": np.lib.stride_tricks.sliding_window_view}
    tricks = facade("numpy.lib.stride_tricks", windows)
    members["lib"] = facade("numpy.lib", {"stride_tricks": tricks})
    offered = [*members.values(), *polynomials.values(), *vars(members["exceptions"]).values()]
    classes.offer(offered)
    harden(offered)
    return members
