"""numpy without files, raw memory and global state."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing

from sandbox.language.facades import facade, public_members
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
    """``np.set_printoptions`` does nothing here: what arrays print is cut to a limit anyway."""


def _empty_like(prototype: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the original
    """``np.empty_like``, of zeros."""
    return np.zeros_like(prototype, *args, **options)


@functools.cache
def numpy_members() -> dict[str, object]:
    """Return what numpy's facade holds, besides ``random``."""
    test = frozenset({"test"})
    polynomials = {name: getattr(np.polynomial, name) for name in _POLYNOMIALS}
    windows = {"sliding_window_view": np.lib.stride_tricks.sliding_window_view}
    tricks = facade("numpy.lib.stride_tricks", windows)
    return {
        **public_members(np, frozenset(HINTS) | {"random"}),
        # Zeros, so that a program that reads what it has not written repeats itself.
        "empty": np.zeros,
        "empty_like": _empty_like,
        "newaxis": None,
        "set_printoptions": _ignored,
        "linalg": facade("numpy.linalg", public_members(np.linalg, test)),
        "fft": facade("numpy.fft", public_members(np.fft, test)),
        "exceptions": facade("numpy.exceptions", public_members(np.exceptions, test)),
        "typing": facade(
            "numpy.typing",
            {"ArrayLike": object, "DTypeLike": object, "NDArray": numpy.typing.NDArray},
        ),
        "polynomial": facade("numpy.polynomial", polynomials),
        "lib": facade("numpy.lib", {"stride_tricks": tricks}),
    }
