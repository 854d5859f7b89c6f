"""What programs get of scipy: an allow-list of functions and classes (``docs/scipy.md``).

Offered is what works on copies of numbers and arrays and gives such. Left out are objects with
arrays of indices or coefficients (``BSpline``, ``Delaunay``), and solvers in C and Fortran that
call a program with a view of their own buffers (``fsolve``, ``odeint``).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from typing import Any

import numpy as np

from sandbox.language import scipy_tables as tables
from sandbox.language.facades import facade
from sandbox.language.names import words
from sandbox.language.scipy_calls import Function, held, offered
from sandbox.libraries import SCIPY

#: Modules that functions of these import when they are called: after the lock-down nothing can be
#: loaded. Those that this version of scipy has not are passed over.
_LATE = words(
    "multiprocessing scipy._lib.cobyqa scipy._lib.pyprima scipy._lib.pyprima.common.infos "
    "scipy._lib.pyprima.common.message scipy._external.cobyqa scipy._external.pyprima "
    "scipy._external.pyprima.common.infos scipy._external.pyprima.common.message "
    "scipy.linalg._matfuncs_inv_ssq scipy.optimize.elementwise scipy.sparse._spfuncs"
)
#: A root is found where no part of the function is further from zero.
_FOUND = 1e-6


def _prepare() -> None:
    """Load what functions load late."""
    for module in _LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    _count_threads()
    # Reads its direction numbers from a file, and goes on with zeros where it cannot.
    importlib.import_module("scipy.stats.qmc").Sobol(1, scramble=False).random(1)


def _count_threads() -> None:
    """Fourier transforms count the cores once, when first used: one, as programs have no threads.

    After the lock-down the cores cannot be asked for, and newer versions of scipy go wrong over it.
    """
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        importlib.import_module("scipy.fft").fft([1.0, 2.0])
    finally:
        os.sched_setaffinity(0, cores)


@functools.cache
def members(name: str) -> dict[str, object]:
    """What is offered of the module ``name``.

    Raises:
        ImportError: it is not installed.
    """
    module = importlib.import_module(name)
    _prepare()
    offer: dict[str, object] = {
        n: offered(_OWN.get(n) or getattr(module, n), f"{name}.{n}")
        for n in words(tables.FUNCTIONS.get(name, ""))
        if hasattr(module, n)
    }
    for kind, inside in {**tables.CLASSES.get(name, {}), **tables.GIVEN.get(name, {})}.items():
        made = held(getattr(module, kind), f"{name}.{kind}", words(inside))
        if kind in tables.CLASSES.get(name, {}):
            offer[kind] = made
    offer |= {n: getattr(module, n) for n in words(tables.EXCEPTIONS.get(name, ""))}
    if name == "scipy.stats":
        offer |= {n: _distribution(n, getattr(module, n)) for n in words(tables.DISTRIBUTIONS)}
    return offer


def hints(name: str, offer: dict[str, object]) -> dict[str, str]:
    """What to use instead of the public names of a module of scipy that are not in ``offer``."""
    if name not in SCIPY:
        return {}
    rest = f"of {name} there is {', '.join(sorted(offer))}"
    missing = {n for n in dir(importlib.import_module(name)) if n[0] != "_"} - set(offer)
    return {n: tables.HINTS.get(n, rest) for n in missing}


def _distribution(name: str, real: Any) -> object:  # noqa: ANN401 - of scipy
    where = f"scipy.stats.{name}"
    wanted = tables.OF_MANY if name.startswith("multivariate") else tables.OF_ONE
    methods = {n: getattr(real, n) for n in words(wanted) if hasattr(real, n)}
    found = {n: offered(method, f"{where}.{n}") for n, method in methods.items()}
    return facade(where, found, {"rvs": "numpy.random draws"})


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
        return so.root(fun, x0, args, method, jac, tol, callback, options)
    if jac is True:
        fun = so._optimize.MemoizeJac(fun)
        jac = fun.derivative  # type: ignore[attr-defined]
    args = args if isinstance(args, tuple) else (args,)
    tolerances = dict.fromkeys(("ftol", "xtol", "gtol"), max(tol or 1e-12, 1e-15))
    found = so.least_squares(fun, x0, jac=jac or "2-point", args=args, **tolerances)
    found.success = bool(np.all(np.abs(found.fun) <= _FOUND))
    found.message = "The solution converged." if found.success else "No root was found near x0."
    return found


def _curve_fit(*args: Any, method: str | None = None, **options: Any) -> Any:  # noqa: ANN401 - as the original
    """``curve_fit``, with ``trf`` where no method is named: the original's own is in Fortran."""
    args, method = (args[:8], args[8]) if len(args) == 9 else (args, method)
    return _optimize().curve_fit(*args, method=method or "trf", **options)


#: Functions of our own, by the name of what they take the place of.
_OWN: dict[str, Function] = {"root": _root, "curve_fit": _curve_fit}
