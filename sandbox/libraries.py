"""The libraries that a program may import, by name: tables that both sides read.

What a program gets of each is made by ``language``, which alone imports them.
"""

from __future__ import annotations

from importlib.util import find_spec

#: Modules and the names that are offered. Left out is what reaches code, files, frames or other
#: modules by name (``attrgetter`` and ``wraps`` are replaced), evaluates annotations
#: (``get_type_hints``, ``make_dataclass``, ``singledispatch``), or sets global state.
OFFERED: dict[str, str] = {
    "abc": "ABC abstractmethod",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque namedtuple",
    "collections.abc": """
        Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView
        Mapping MutableMapping MutableSequence MutableSet Reversible Sequence Set Sized
        ValuesView""",
    "copy": "copy deepcopy",
    "dataclasses": "InitVar KW_ONLY MISSING FrozenInstanceError asdict astuple dataclass field "
    "fields is_dataclass replace",
    "decimal": """
        Decimal Context localcontext DecimalException DivisionByZero InvalidOperation Overflow
        ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP
        ROUND_UP""",
    "enum": "Enum Flag IntEnum IntFlag StrEnum auto unique",
    "fractions": "Fraction",
    "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce "
    "total_ordering",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "itertools": """
        accumulate batched chain combinations combinations_with_replacement compress count cycle
        dropwhile filterfalse groupby islice pairwise permutations product repeat starmap
        takewhile tee zip_longest""",
    "json": "JSONDecodeError dumps loads",
    "numbers": "Complex Integral Number Rational Real",
    "numpy.lib.stride_tricks": "sliding_window_view",
    "numpy.polynomial": "Chebyshev Hermite HermiteE Laguerre Legendre Polynomial",
    "numpy.random": """
        BitGenerator Generator MT19937 PCG64 PCG64DXSM Philox RandomState SFC64 SeedSequence
        beta binomial bytes chisquare choice default_rng dirichlet exponential f gamma geometric
        get_state gumbel hypergeometric laplace logistic lognormal logseries multinomial
        multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto
        permutation poisson power rand randint randn random random_sample ranf rayleigh sample
        seed set_state shuffle standard_cauchy standard_exponential standard_gamma
        standard_normal standard_t triangular uniform vonmises wald weibull zipf""",
    "random": """
        Random betavariate binomialvariate choice choices expovariate gammavariate gauss
        getrandbits getstate lognormvariate normalvariate paretovariate randbytes randint random
        randrange sample seed setstate shuffle triangular uniform vonmisesvariate weibullvariate""",
    "statistics": """
        NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean
        linear_regression mean median median_grouped median_high median_low mode multimode
        pstdev pvariance quantiles stdev variance""",
    "string": """
        ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits
        printable punctuation whitespace""",
    "typing": """
        AbstractSet Any AnyStr Callable ClassVar Collection Container Counter DefaultDict Deque
        Dict Final FrozenSet Generator Generic Hashable Iterable Iterator List Literal Mapping
        MutableMapping MutableSequence NamedTuple NewType NoReturn Optional OrderedDict Protocol
        Reversible Self Sequence Set Sized SupportsFloat SupportsInt Text Tuple Type
        TYPE_CHECKING TypeAlias TypedDict TypeVar Union assert_never cast final overload
        runtime_checkable""",
}

#: Modules of which every public name is offered (but attributes by name of ``operator``).
WHOLE = ("cmath", "math", "numpy.exceptions", "numpy.fft", "numpy.linalg", "operator")

#: Modules of scipy of which a part is offered.
SCIPY = (
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.interpolate",
    "scipy.signal",
    "scipy.spatial",
    "scipy.spatial.distance",
    "scipy.spatial.transform",
    "scipy.stats",
)

#: With those of which ``language`` makes its own: numpy without files and raw memory, warnings that
#: go nowhere, clocks of each episode.
_ALWAYS = frozenset({*OFFERED, *WHOLE, "numpy", "numpy.lib", "numpy.typing", "time", "warnings"})

#: Looked for once, when this is imported: after the lock-down nothing can be found any more.
_INSTALLED_SCIPY = SCIPY if find_spec("scipy") is not None else ()


def importable_modules(extra: tuple[str, ...] = ()) -> frozenset[str]:
    """Dotted names of what may be imported here, with ``extra`` and all packages around them."""
    modules = (*_INSTALLED_SCIPY, *extra)
    packages = {name[:i] for name in modules for i, c in enumerate(name) if c == "."}
    return _ALWAYS | frozenset(modules) | packages


#: Offered, but not in the list below: callers have written that down.
_UNLISTED = {"scipy.integrate", "scipy.stats"}

#: Environment variables that choose numeric kernels: without them a policy's arithmetic could
#: differ from the host's in the last bit.
KERNEL_VARIABLES = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
)

#: What every program may import here, numpy first: for prompts and messages. Libraries are listed
#: as a whole; of scipy, of which there is a part, each module.
ALLOWED_IMPORTS = (
    "numpy",
    *sorted(
        {name for name in _ALWAYS if "." not in name} - {"numpy"}
        | set(_INSTALLED_SCIPY) - _UNLISTED
    ),
)


def needed_libraries(source: str, extra: tuple[str, ...]) -> tuple[str, ...]:
    """Modules to load before the process is locked down, for this source."""
    return (SCIPY if "scipy" in source else ()) + extra
