"""The libraries that a program may import, and what of each."""

from __future__ import annotations

import functools
import importlib
import operator
import types
from collections.abc import Callable
from typing import Any, TypeVar

from sandbox.language import names
from sandbox.language.facades import Facade, public_members
from sandbox.language.guards import guarded_getattr

#: Modules of the standard library and the names that are offered. Left out is what reaches code,
#: files, frames or other modules by name (``attrgetter`` and ``wraps`` are replaced), evaluates
#: annotations (``get_type_hints``, ``make_dataclass``, ``singledispatch``), or sets global state.
STDLIB: dict[str, str] = {
    "abc": "ABC abstractmethod",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque namedtuple",
    "collections.abc": (
        "Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView "
        "Mapping MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized ValuesView"
    ),
    "copy": "copy deepcopy",
    "dataclasses": "InitVar KW_ONLY FrozenInstanceError asdict astuple dataclass field fields "
    "is_dataclass replace",
    "decimal": (
        "Decimal Context localcontext DecimalException DivisionByZero InvalidOperation Overflow "
        "ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP "
        "ROUND_UP"
    ),
    "enum": "Enum Flag IntEnum IntFlag StrEnum auto unique",
    "fractions": "Fraction",
    "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce "
    "total_ordering",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "itertools": (
        "accumulate batched chain combinations combinations_with_replacement compress count cycle "
        "dropwhile filterfalse groupby islice pairwise permutations product repeat starmap "
        "takewhile tee zip_longest"
    ),
    "json": "JSONDecodeError dumps loads",
    "numbers": "Complex Integral Number Rational Real",
    "statistics": (
        "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean "
        "linear_regression mean median median_grouped median_high median_low mode multimode "
        "pstdev pvariance quantiles stdev variance"
    ),
    "string": (
        "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits "
        "printable punctuation whitespace"
    ),
    "typing": (
        "AbstractSet Any AnyStr Callable ClassVar Collection Container Counter DefaultDict Deque "
        "Dict Final FrozenSet Generator Generic Hashable Iterable Iterator List Literal Mapping "
        "MutableMapping MutableSequence NamedTuple NewType NoReturn Optional OrderedDict Protocol "
        "Reversible Self Sequence Set Sized SupportsFloat SupportsInt Text Tuple Type "
        "TYPE_CHECKING TypeAlias TypedDict TypeVar Union assert_never cast final overload "
        "runtime_checkable"
    ),
}

#: Modules of which every public name is offered.
WHOLE = ("math", "cmath")

SCIPY = (
    "linalg",
    "optimize",
    "interpolate",
    "signal",
    "spatial",
    "spatial.distance",
    "spatial.transform",
)
_Wrapper = TypeVar("_Wrapper")
_SCIPY_REFUSED = frozenset({"test", "show_options", "spline_filter", "LowLevelCallable"})


def _attrgetter(*wanted: str) -> Callable[[object], object]:
    """``operator.attrgetter`` under the rules of getattr."""

    def get(obj: object) -> object:
        found = tuple(functools.reduce(guarded_getattr, name.split("."), obj) for name in wanted)
        return found[0] if len(found) == 1 else found

    return get


def _methodcaller(name: str, *args: object, **kwargs: object) -> Callable[[object], object]:
    """``operator.methodcaller`` under the rules of getattr."""

    def call(obj: object) -> object:
        method: Any = guarded_getattr(obj, name)
        return method(*args, **kwargs)

    return call


def _wraps(wrapped: object) -> Callable[[_Wrapper], _Wrapper]:
    """``functools.wraps`` for names and docstrings only: the real one copies any attribute."""

    def decorate(wrapper: _Wrapper) -> _Wrapper:
        for attribute in ("__name__", "__qualname__", "__doc__"):
            if isinstance(wrapper, types.FunctionType):
                setattr(wrapper, attribute, getattr(wrapped, attribute, None))
        return wrapper

    return decorate


def _quiet(*args: object, **kwargs: object) -> None:
    """``warnings`` have no reader here."""


class _CatchWarnings:
    """``warnings.catch_warnings``: an empty context."""

    def __init__(self, **kwargs: object) -> None:
        """Takes what the real one takes."""

    def __enter__(self) -> list[object]:
        return []

    def __exit__(self, *args: object) -> None:
        return None


class _ABCMeta:
    """``abc.ABCMeta`` to be named in ``metaclass=ABCMeta``, where the compiler knows it."""


_REPLACED: dict[str, dict[str, object]] = {
    "abc": {"ABCMeta": _ABCMeta()},
    "functools": {
        "wraps": _wraps,
        "update_wrapper": lambda wrapper, wrapped: _wraps(wrapped)(wrapper),
    },
}


def _stdlib_members(module: str) -> dict[str, object]:
    real = importlib.import_module(module)
    wanted = STDLIB[module].split()
    members = {name: getattr(real, name) for name in wanted if hasattr(real, name)}
    return {**members, **_REPLACED.get(module, {})}


@functools.cache
def shared_facades() -> dict[str, Facade]:
    """The facades that hold no state and serve every namespace of the process."""
    found = {name: Facade(name, _stdlib_members(name)) for name in STDLIB}
    found["collections"].__dict__["abc"] = found["collections.abc"]
    for name in WHOLE:
        found[name] = Facade(name, public_members(importlib.import_module(name), frozenset()))
    operators = public_members(operator, frozenset({"attrgetter", "methodcaller"}))
    operators |= {"attrgetter": _attrgetter, "methodcaller": _methodcaller}
    found["operator"] = Facade("operator", operators)
    quiet = dict.fromkeys(("filterwarnings", "simplefilter", "warn"), _quiet)
    found["warnings"] = Facade("warnings", {**quiet, "catch_warnings": _CatchWarnings})
    return found


def library_facade(name: str) -> Facade:
    """A facade over an installed library that is not in the lists above.

    Raises:
        ImportError: it is not installed.
    """
    module = importlib.import_module(name)
    return Facade(
        name, public_members(module, _SCIPY_REFUSED | frozenset(names.REFUSED_ATTRIBUTES))
    )
