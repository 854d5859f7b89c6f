"""What programs get of scipy: an allow-list of functions and classes, and why others are left out.

Offered is what works on copies of numbers and arrays (``boundary``) and gives such. Left out is
what hands compiled code memory that a program holds as well: objects with arrays of indices or
coefficients (``BSpline``, ``Delaunay``), and solvers in C and Fortran that call a program with a
view of their own buffers (``fsolve``, ``odeint``). ``docs/scipy.md`` lists both.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from typing import Any

from sandbox.language import scipy_tables as tables
from sandbox.language.facades import facade, public_members
from sandbox.language.names import words
from sandbox.language.scipy_calls import Function, held, offered
from sandbox.language.scipy_own import CHECKS, OWN
from sandbox.libraries import SCIPY

#: Modules that functions of these import when they are called: after the lock-down nothing can be
#: loaded. Those that this version of scipy has not are passed over.
_LATE = words(
    "multiprocessing scipy._lib.cobyqa scipy._lib.pyprima scipy._lib.pyprima.common.infos "
    "scipy._lib.pyprima.common.message scipy._external.cobyqa scipy._external.pyprima "
    "scipy._external.pyprima.common.infos scipy._external.pyprima.common.message "
    "scipy.linalg._matfuncs_inv_ssq scipy.optimize.elementwise scipy.sparse._spfuncs"
)


def prepare() -> None:
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


def members(name: str) -> dict[str, object]:
    """What is offered of the module ``name``.

    Raises:
        ImportError: it is not installed.
    """
    module = importlib.import_module(name)
    prepare()
    if name not in SCIPY:  # a caller has allowed all of it
        found = public_members(module, frozenset())
        return {n: _open(v, f"{name}.{n}") for n, v in found.items() if not isinstance(v, type)}
    kinds = _kinds(name)
    accept = frozenset(kinds.values())
    offer: dict[str, object] = {n: k for n, k in kinds.items() if n in tables.CLASSES.get(name, ())}
    for table, functions in ((tables.PLAIN, False), (tables.MAKING, False), (tables.CALLING, True)):
        for n in table.get(name, ()):
            if hasattr(module, n):
                where = f"{name}.{n}"
                real = OWN.get(where) or getattr(module, n)
                check = CHECKS.get(where)
                offer[n] = offered(real, where, functions=functions, accept=accept, check=check)
    offer |= {n: getattr(module, n) for n in tables.EXCEPTIONS.get(name, ()) if hasattr(module, n)}
    if name == "scipy.stats":
        offer |= {n: _distribution(n, getattr(module, n)) for n in tables.DISTRIBUTIONS}
    return offer


def hints(name: str, offer: dict[str, object]) -> dict[str, str]:
    """What to use instead of the public names of a module of scipy that are not in ``offer``."""
    if name not in SCIPY:
        return {}
    real = getattr(importlib.import_module(name), "__all__", ())
    known = tables.HINTS.get(name, {})
    rest = f"of {name} there is {', '.join(sorted(offer))}"
    return {n: known.get(n, rest) for n in {*real, *known} if n not in offer}


def _open(value: object, where: str) -> object:
    return offered(value, where) if callable(value) else value


@functools.cache
def _kinds(name: str) -> dict[str, type]:
    """The classes of a module that stand for real ones, by name."""
    module = importlib.import_module(name)
    made: dict[str, type] = {}
    for kind, options in {**tables.GIVEN.get(name, {}), **tables.CLASSES.get(name, {})}.items():
        real = getattr(module, kind, None)
        if real is not None:
            accept = tuple(made.values())
            made[kind] = held(real, f"{name}.{kind}", accept=accept, **options)
    return made


def _distribution(name: str, real: Any) -> object:  # noqa: ANN401 - of scipy
    wanted = tables.OF_MANY if name.startswith("multivariate") else tables.OF_ONE
    where = f"scipy.stats.{name}"
    found: dict[str, Function] = {
        method: offered(getattr(real, method), f"{where}.{method}")
        for method in wanted
        if hasattr(real, method)
    }
    return facade(where, found, {"rvs": "numpy.random draws"})
