"""What programs get of scipy, and what has to be loaded and mended for it in the warm parent."""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any

from sandbox.language import names
from sandbox.language.facades import facade, public_members

#: Public names that are left out: of the test suite and the documentation, plots (there is no
#: matplotlib), wrappers that read a module's attributes by name and lead to raw memory, what always
#: fails, what prints past ``print``, and integrators that count in their class who uses them.
REFUSED = frozenset(
    names.words(
        "test show_options spline_filter LowLevelCallable convex_hull_plot_2d delaunay_plot_2d "
        "voronoi_plot_2d get_blas_funcs get_lapack_funcs find_best_blas_type interp2d "
        "linprog_verbose_callback ode complex_ode LSODA"
    )
)
#: Of ``scipy.stats`` what is listed: its classes hold arrays that compiled code trusts
#: (``gaussian_kde``), or make code from names (``rv_continuous``).
_FUNCTIONS = names.words(
    "bartlett binned_statistic chi2_contingency chisquare circmean circstd circvar cumfreq "
    "describe energy_distance entropy f_oneway gmean gstd hmean iqr jarque_bera kruskal ks_2samp "
    "kurtosis levene linregress median_abs_deviation mode moment normaltest pearsonr "
    "percentileofscore pmean rankdata relfreq scoreatpercentile sem sigmaclip skew spearmanr "
    "theilslopes tmax tmean tmin trim_mean trimboth tstd ttest_1samp ttest_ind ttest_rel tvar "
    "variation wasserstein_distance zmap zscore"
)
_DISTRIBUTIONS = names.words(
    "beta binom cauchy chi2 expon f gamma geom laplace logistic lognorm multivariate_normal nbinom "
    "norm pareto poisson t triang truncnorm uniform weibull_min"
)
#: Of a distribution what leaves it as it is: one that draws with a generator and fails keeps that
#: generator, for every episode that is played after it. ``numpy.random`` draws.
_METHODS = names.words(
    "cdf entropy fit interval isf logcdf logpdf logpmf logsf mean median pdf pmf ppf sf std "
    "support var"
)
#: Of several numbers at once: the others remember by themselves, or draw.
_METHODS_OF_MANY = names.words("entropy logpdf pdf")
#: Modules that functions of these import when they are called: after the lock-down nothing can be
#: loaded. Those that this version of scipy has not are passed over.
_LATE = names.words(
    "multiprocessing scipy._lib.cobyqa scipy._lib.pyprima scipy._lib.pyprima.common.infos "
    "scipy._lib.pyprima.common.message scipy._external.cobyqa scipy._external.pyprima "
    "scipy._external.pyprima.common.infos scipy._external.pyprima.common.message "
    "scipy.linalg._matfuncs_inv_ssq scipy.optimize.elementwise scipy.sparse._spfuncs"
)


def members(name: str) -> dict[str, object]:
    module = importlib.import_module(name)
    prepare()
    if name == "scipy.stats":
        return statistics()
    return public_members(module, REFUSED | frozenset(names.REFUSED_ATTRIBUTES))


def prepare() -> None:
    """Load what functions load late, and take attributes by special names from results."""
    for module in _LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    _count_threads()
    # Reads its direction numbers from a file, and goes on with zeros where it cannot.
    importlib.import_module("scipy.stats.qmc").Sobol(1, scramble=False).random(1)
    _mend_results()


def statistics() -> dict[str, object]:
    """What is offered of ``scipy.stats``: functions, and distributions by what they compute."""
    real = importlib.import_module("scipy.stats")
    functions = {name: getattr(real, name) for name in _FUNCTIONS}
    return functions | {name: _distribution(name, getattr(real, name)) for name in _DISTRIBUTIONS}


def _distribution(name: str, real: object) -> object:
    wanted = _METHODS_OF_MANY if name.startswith("multivariate") else _METHODS
    found = {method: getattr(real, method) for method in wanted if hasattr(real, method)}
    hints = {"rvs": "numpy.random draws"}
    return facade(f"scipy.stats.{name}", found, hints)


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


def _mend_results() -> None:
    """Results are dicts whose items are attributes.

    Anybody could put ``__array_interface__`` or ``__deepcopy__`` into one: numpy would then read
    any memory that it names, and ``copy`` would call it.
    """
    result: Any = importlib.import_module("scipy.optimize").OptimizeResult
    base = next(kind for kind in result.__mro__ if "__getattr__" in vars(kind))

    def read(self: dict[str, object], name: str) -> object:
        if not names.is_dunder(name) and name in self:
            return self[name]
        raise AttributeError(name)

    base.__getattr__ = read
