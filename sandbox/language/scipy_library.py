"""Functions of scipy for programs: an allow-list, called with copies (``docs/scipy.md``).

Offered is what works on copies of numbers and arrays and gives such. Left out are objects with
arrays of indices or coefficients (``BSpline``, ``Delaunay``), and solvers in C and Fortran that
call a program with a view of their own buffers (``fsolve``, ``odeint``).
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sandbox.language.facades import facade
from sandbox.language.names import by_name, readable, words
from sandbox.libraries import SCIPY, TABLES

Function = Callable[..., Any]

#: What is given as it is. Classes that inherit from these answer differently, if they like.
_PLAIN = frozenset(
    {float, int, bool, complex, str, type(None), slice, range}
    | {np.random.Generator, np.random.RandomState}
    | {np.dtype(letter).type for letter in "?bBhHiIlLqQefdgFDG"}
)
#: Modules that functions of these import when they are called: after the lock-down nothing can be
#: loaded. Those that this version of scipy has not are passed over.
_LATE = words(
    "multiprocessing scipy._lib.cobyqa scipy._lib.pyprima scipy._lib.pyprima.common.infos "
    "scipy._lib.pyprima.common.message scipy._external.cobyqa scipy._external.pyprima "
    "scipy._external.pyprima.common.infos scipy._external.pyprima.common.message "
    "scipy.linalg._matfuncs_inv_ssq scipy.optimize.elementwise scipy.sparse._spfuncs"
)
#: Attributes of the objects that stand for those of a class, by its name.
_CLASSES = {
    kind: words(text) for kinds, text in TABLES["scipy_members"].items() for kind in kinds.split()
}
_HINTS = by_name(TABLES["scipy_hints"])
#: Of a distribution what computes: ``numpy.random`` draws.
_OF_ONE = words(
    "cdf entropy fit interval isf logcdf logpdf logpmf logsf mean median pdf pmf ppf sf std "
    "support var"
)
_OF_MANY = words("entropy logpdf pdf")
#: A root is found where no part of the function is further from zero.
_FOUND = 1e-6


class RefusedError(TypeError):
    """A value that scipy is not given."""


class Held:
    """An object of scipy: it is called, and never seen."""

    __slots__ = ("_real",)
    _real: Any

    def __reduce_ex__(self, protocol: object) -> str:
        return "its own copy"  # what reduces to a string is not copied

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class _Passed:
    """An argument that scipy hands on to a function of the program, which gets it as it is."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401 - anything at all
        self.value = value

    def __iter__(self) -> Any:  # noqa: ANN401 - solve_ivp takes lists of arguments
        return map(_Passed, self.value)


def _argument(name: str, value: Any) -> object:  # noqa: ANN401 - anything at all
    """Return one argument for scipy, by the name of its parameter."""
    if name in ("args", "kwargs"):
        if isinstance(value, tuple):
            return tuple(map(_Passed, value))
        if isinstance(value, dict):
            return {name: _Passed(inner) for name, inner in value.items()}
        return _Passed(value)
    if name == "workers":
        return 1  # there is one process, with one thread
    if name == "out" and value is not None:
        raise RefusedError("`out` is not available: use what the function returns")
    return _taken(value)


def _taken(value: Any) -> Any:  # noqa: ANN401 - anything at all
    """Return ``value`` for scipy, copied.

    Raises:
        RefusedError: it is or holds what scipy is not given.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is np.ndarray:
        if value.dtype.kind not in "biufc":
            raise RefusedError(f"an array of {value.dtype} cannot be given: give one of numbers")
        return value.copy("K")  # as it lies in memory: the last bit may depend on it
    if isinstance(value, list | tuple):
        items = [_taken(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _argument(key, inner) for key, inner in value.items()}
    if isinstance(value, Held):
        return value._real
    if callable(value) and not isinstance(value, type):
        return _called(value)
    what = f"an object of class {readable(kind.__name__)}"
    raise RefusedError(f"{what} cannot be given: give numbers, strings, lists, tuples or arrays")


def _called(function: Function) -> Function:
    """Return ``function`` of a program for scipy: it gets copies, and its results are copied."""

    def inner(*args: object, **options: object) -> object:
        options = {name: _given(value) for name, value in options.items()}
        return _taken(function(*map(_given, args), **options))

    # scipy looks at parameters, and at attributes such as `terminal`.
    return functools.update_wrapper(inner, function)


def _given(value: Any) -> Any:  # noqa: ANN401 - anything at all
    """Return ``value``, which scipy made, for a program; arrays are copied."""
    kind: Any = type(value)
    if kind is np.ndarray:
        return _given(value.tolist()) if value.dtype.hasobject else value.copy("K")
    if kind is list or kind is tuple or kind is set:
        return kind(map(_given, value))
    if kind is _Passed:
        return value.value
    if kind.__name__ in _CLASSES and kind.__module__.startswith("scipy."):
        held = object.__new__(stand_in(kind))
        held._real = value
        return held
    if isinstance(value, dict):
        result = copy.copy(value)
        result.update({key: _given(inner) for key, inner in value.items()})
        return result
    return value


def offered(real: Function, where: str) -> Function:
    """Return ``real`` for programs; errors call it ``where``."""
    parameters: list[str] = []
    with contextlib.suppress(ValueError):  # of C
        signature = inspect.signature(real).parameters.values()
        parameters = [p.name for p in signature if p.kind <= p.POSITIONAL_OR_KEYWORD]

    def wrapped(*args: object, **options: object) -> Any:  # noqa: ANN401 - as the original
        _check_method(where, dict(zip(parameters, args, strict=False)) | options)
        padded = (*parameters, *[""] * len(args))
        try:
            values = [_argument(*one) for one in zip(padded, args, strict=False)]
            return _given(real(*values, **{n: _argument(n, v) for n, v in options.items()}))
        except RefusedError as error:
            raise TypeError(f"{where}: {error}") from None

    wrapped.__name__ = where.rpartition(".")[2]
    wrapped.__qualname__ = where
    return wrapped


def _check_method(where: str, values: Mapping[str, Any]) -> None:
    """Refuse methods that call the program from C or Fortran, here and in `minimizer_kwargs`."""
    inner = values.get("minimizer_kwargs")
    if isinstance(inner, dict):
        _check_method("scipy.optimize.minimize", inner)
    method, known = values.get("method"), words(TABLES["scipy_methods"].get(where, ""))
    if known and method is not None and str(method).lower() not in map(str.lower, known):
        name = repr(method) if isinstance(method, str) else "of your own"
        raise ValueError(f"{where}: method {name} is not available: use one of {', '.join(known)}")


@functools.cache
def stand_in(real: Any) -> type[Held]:  # noqa: ANN401 - a class of scipy
    """Return a class whose objects stand for those of ``real``, which programs never reach."""
    public = [part for part in real.__module__.split(".") if part[0] != "_"]
    where = ".".join([*public, real.__name__])
    make = offered(real, where)
    contents: dict[str, object] = {
        "__slots__": (),
        "__new__": lambda cls, *args, **options: make(*args, **options),
    }
    for name in _CLASSES[real.__name__]:
        member = getattr(real, name, None)
        if not callable(member):
            contents[name] = _read(name)
        elif getattr(member, "__self__", None) is real:
            contents[name] = staticmethod(offered(member, f"{where}.{name}"))
        else:
            contents[name] = offered(member, f"{where}.{name}")
    return type(real.__name__, (Held,), contents)


def _read(name: str) -> property:
    return property(lambda self: _given(getattr(self._real, name)))


def _distribution(real: object, where: str) -> object:
    """Return a distribution without what draws."""
    wanted = _OF_MANY if "multivariate" in where else _OF_ONE
    functions = {n: offered(getattr(real, n), f"{where}.{n}") for n in wanted if hasattr(real, n)}
    return facade(where, functions, {"rvs": "numpy.random draws"})


@functools.cache
def members(name: str) -> dict[str, object]:
    """Return what is offered of the module ``name``.

    Raises:
        ImportError: it is not installed.
    """
    module = importlib.import_module(name)
    _prepare()
    real = {n: getattr(module, n) for n in words(TABLES["scipy"][name]) if hasattr(module, n)}
    return {n: _member(value, f"{name}.{n}") for n, value in real.items()}


def _member(real: Any, where: str) -> object:  # noqa: ANN401 - of scipy
    if where.rpartition(".")[2] in _CLASSES:
        return stand_in(real)
    if hasattr(real, "rvs"):
        return _distribution(real, where)
    if isinstance(real, type):
        return real  # an exception
    return offered(_OWN.get(where, real), where)


@functools.cache
def _prepare() -> None:
    """Load what functions load late.

    Fourier transforms count the cores once, when first used: one, as programs have no threads.
    After the lock-down the cores cannot be asked for, and newer versions of scipy go wrong over it.
    """
    for module in _LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        importlib.import_module("scipy.fft").fft([1.0, 2.0])
    finally:
        os.sched_setaffinity(0, cores)
    # Reads its direction numbers from a file, and goes on with zeros where it cannot.
    importlib.import_module("scipy.stats.qmc").Sobol(1, scramble=False).random(1)


def hints(name: str, offer: Mapping[str, object]) -> dict[str, str]:
    """Return what to use instead of the public names of a module that are not in ``offer``."""
    if name not in SCIPY:
        return {}
    rest = f"of {name} there is {', '.join(sorted(offer))}"
    missing = {n for n in dir(importlib.import_module(name)) if n[0] != "_"} - set(offer)
    return {n: _HINTS.get(n, rest) for n in missing}


def _root(
    fun: Function,
    x0: object,
    args: object = (),
    method: str | None = None,
    **options: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401 - as the original
    """``root``, by ``least_squares`` where no method is named: the original's own is in Fortran."""
    so: Any = importlib.import_module("scipy.optimize")
    if method is not None:
        return so.root(fun, x0, args, method, **options)
    jac = options.get("jac") or "2-point"
    if jac is True:
        fun = so._optimize.MemoizeJac(fun)
        jac = fun.derivative  # type: ignore[attr-defined]
    args = args if isinstance(args, tuple) else (args,)
    tolerance = max(options.get("tol") or 1e-12, 1e-15)
    tolerances = dict.fromkeys(("ftol", "xtol", "gtol"), tolerance)
    result = so.least_squares(fun, x0, jac=jac, args=args, **tolerances)
    result.success = bool(np.all(np.abs(result.fun) <= _FOUND))
    result.message = "The solution converged." if result.success else "No root was result near x0."
    return result


def _curve_fit(*args: Any, method: str | None = None, **options: Any) -> Any:  # noqa: ANN401 - as the original
    """``curve_fit``, with ``trf`` where no method is named: the original's own is in Fortran."""
    so = importlib.import_module("scipy.optimize")
    return so.curve_fit(*args, method=method or "trf", **options)


#: Functions of our own, by the name of what they take the place of.
_OWN: dict[str, Function] = {
    "scipy.optimize.curve_fit": _curve_fit,
    "scipy.optimize.root": _root,
}
