"""The libraries that a program may import, and what of each."""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Mapping

from sandbox.language import classes, names, scipy_library
from sandbox.language.facades import Facade, facade, public_members
from sandbox.language.generated import GENERATED
from sandbox.language.hardening import harden
from sandbox.language.replaced import REPLACED

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
    "dataclasses": "InitVar KW_ONLY MISSING FrozenInstanceError asdict astuple dataclass field "
    "fields is_dataclass replace",
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


def _stdlib_members(module: str) -> dict[str, object]:
    real = importlib.import_module(module)
    wanted = STDLIB[module].split()
    members = {name: getattr(real, name) for name in wanted if hasattr(real, name)}
    return {**members, **REPLACED.get(module, {}), **GENERATED.get(module, {})}


@functools.cache
def shared_facades() -> dict[str, Facade]:
    """The facades that hold no state and serve every namespace of the process."""
    members = {name: _stdlib_members(name) for name in STDLIB}
    members |= {name: public_members(importlib.import_module(name), frozenset()) for name in WHOLE}
    members["operator"] = {**public_members(operator, frozenset()), **REPLACED["operator"]}
    members["warnings"] = REPLACED["warnings"]
    return tree(members)


def tree(members: Mapping[str, Mapping[str, object]]) -> dict[str, Facade]:
    """A facade for each module, ``a.b`` being a member of ``a``, which is made where it is not."""
    parents = {name[:i] for name in members for i, c in enumerate(name) if c == "."}
    found: dict[str, Facade] = {}
    for inside in members.values():
        classes.offer(inside.values())
        harden(inside.values())
    for name in sorted({*members, *parents}, reverse=True):
        inside = {
            child.rpartition(".")[2]: below
            for child, below in found.items()
            if child.rpartition(".")[0] == name
        }
        found[name] = facade(name, {**members.get(name, {}), **inside})
    return found


def library_members(name: str) -> dict[str, object]:
    """What an installed library that is not in the lists above offers.

    Raises:
        ImportError: it is not installed.
    """
    module = importlib.import_module(name)
    refused = frozenset(names.REFUSED_ATTRIBUTES)
    if name.startswith("scipy."):
        scipy_library.prepare()
        refused |= scipy_library.REFUSED
    return public_members(module, refused)
