"""What scipy does not do as programs need it: two functions of our own, and checks of arguments."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from sandbox.language.scipy_calls import Check, Function
from sandbox.language.scipy_tables import METHODS

_MINIMIZE = "scipy.optimize.minimize"
#: A root is found where no part of the function is further from zero.
_FOUND = 1e-6


def _optimize() -> Any:  # noqa: ANN401 - a module without types
    return importlib.import_module("scipy.optimize")


def _root(
    fun: Function,
    x0: Any,  # noqa: ANN401 - as the original
    args: tuple[object, ...] = (),
    method: str | None = None,
    jac: Any = None,  # noqa: ANN401 - as the original
    tol: float | None = None,
    callback: Function | None = None,
    options: dict[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - as the original
    """``root``, by ``least_squares`` where no method is named: the original's own is in Fortran."""
    so = _optimize()
    if method is not None:
        more = {"tol": tol, "callback": callback, "options": options}
        return so.root(fun, x0, method=method, jac=jac, **more)
    if jac is True:
        memory = so._optimize.MemoizeJac(fun)
        fun, jac = memory, memory.derivative
    near = tol or 1e-12
    tolerances = dict.fromkeys(("ftol", "xtol", "gtol"), max(near, 1e-15))
    found = so.least_squares(fun, x0, jac=jac or "2-point", **tolerances)
    found.success = bool(np.all(np.abs(found.fun) <= _FOUND))
    found.message = "The solution converged." if found.success else "No root was found near x0."
    return found


def _curve_fit(*args: Any, method: str | None = None, **options: Any) -> Any:  # noqa: ANN401 - as the original
    """``curve_fit``, with ``trf`` where no method is named: the original's own is in Fortran."""
    args, method = (args[:8], args[8]) if len(args) == 9 else (args, method)
    return _optimize().curve_fit(*args, method=method or "trf", **options)


#: Functions of our own, by the name of what they take the place of.
OWN: dict[str, Function] = {"scipy.optimize.root": _root, "scipy.optimize.curve_fit": _curve_fit}


def _method(where: str, values: Mapping[str, Any]) -> None:
    _one_of(where, values.get("method"))


def _one_of(where: str, method: object) -> None:
    known = METHODS[where]
    if method is None or (type(method) is str and method.lower() in map(str.lower, known)):
        return
    name = repr(method) if type(method) is str else "of your own"
    raise ValueError(f"{where}: method {name} is not available: use one of {', '.join(known)}")


def _minimize(values: Mapping[str, Any]) -> None:
    _one_of(_MINIMIZE, values.get("method"))
    _whole(values.get("options"))


def _whole(options: object) -> None:
    """The number of corrections says how much memory compiled code takes for its own."""
    count = options.get("maxcor", 1) if type(options) is dict else 1
    if type(count) is not int or count < 1:
        raise ValueError(f"{_MINIMIZE}: maxcor must be a whole number above 0")


def _local(values: Mapping[str, Any]) -> None:
    """Functions that minimize from several points by ``minimize``."""
    inner = values.get("minimizer_kwargs")
    if type(inner) is dict:
        _minimize(inner)


def _l_bfgs_b(values: Mapping[str, Any]) -> None:
    _whole({"maxcor": values.get("m", 10)})


def _pivots(values: Mapping[str, Any]) -> None:
    """Where rows are swapped with: LAPACK looks up memory by these."""
    pair = values.get("lu_and_piv")
    if (type(pair) is not tuple and type(pair) is not list) or len(pair) != 2:
        raise ValueError("scipy.linalg.lu_solve: give what lu_factor returned")
    lu, pivots = np.asarray(pair[0]), np.asarray(pair[1])
    size = lu.shape[-1] if lu.ndim else 0
    fits = lu.ndim >= 2 and pivots.shape == (*lu.shape[:-2], min(lu.shape[-2:]))
    if not fits or pivots.dtype.kind not in "iu" or ((pivots < 0) | (pivots >= size)).any():
        raise ValueError("scipy.linalg.lu_solve: give what lu_factor returned")


def _inverse_covariance(where: str, first: str, values: Mapping[str, Any]) -> None:
    """``VI`` for the distance of Mahalanobis: compiled code believes that its size is right."""
    inverse = values.get("VI")
    if inverse is None:
        return
    width = np.shape(values.get(first, ()))[-1:]
    if np.shape(inverse) != width * 2:
        raise ValueError(f"scipy.spatial.distance.{where}: VI must be square, as wide as {first}")


def _filled(where: str, values: Mapping[str, Any]) -> None:
    """Two images: compiled code divides by their sizes."""
    if not all(np.size(values.get(name, 0)) for name in ("in1", "in2")):
        raise ValueError(f"scipy.signal.{where}: arrays must not be empty")


#: What looks at the arguments of a function before compiled code does.
CHECKS: dict[str, Check] = {
    **{name: functools.partial(_method, name) for name in METHODS},
    _MINIMIZE: _minimize,
    "scipy.optimize.basinhopping": _local,
    "scipy.optimize.dual_annealing": _local,
    "scipy.optimize.fmin_l_bfgs_b": _l_bfgs_b,
    "scipy.optimize.shgo": _local,
    "scipy.linalg.lu_solve": _pivots,
    "scipy.signal.convolve2d": functools.partial(_filled, "convolve2d"),
    "scipy.signal.correlate2d": functools.partial(_filled, "correlate2d"),
    "scipy.spatial.distance.cdist": functools.partial(_inverse_covariance, "cdist", "XA"),
    "scipy.spatial.distance.pdist": functools.partial(_inverse_covariance, "pdist", "X"),
}
