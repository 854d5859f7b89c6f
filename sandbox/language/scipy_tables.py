"""Which names of scipy are offered, as tables; ``docs/scipy.md`` tells readers the same.

Functions and classes that an installed version of scipy has not are passed over.
"""

from __future__ import annotations

from typing import Any

from sandbox.language.names import words

#: Functions of numbers and arrays alone.
PLAIN = {
    "scipy.integrate": words(
        "cumulative_simpson cumulative_trapezoid newton_cotes romb simpson trapezoid"
    ),
    "scipy.interpolate": words("griddata interpn pchip_interpolate"),
    "scipy.linalg": words(
        "bandwidth block_diag cho_factor cho_solve cholesky "
        "circulant clarkson_woodruff_transform companion convolution_matrix coshm cosm det dft "
        "diagsvd eig eigh eigh_tridiagonal eigvals eigvalsh "
        "eigvalsh_tridiagonal expm expm_cond expm_frechet fiedler fractional_matrix_power hadamard "
        "hankel helmert hessenberg hilbert inv invhilbert invpascal ishermitian issymmetric "
        "khatri_rao ldl leslie logm lstsq lu lu_factor lu_solve matmul_toeplitz matrix_balance "
        "norm null_space ordqz orth orthogonal_procrustes pascal pinv pinvh polar qr qr_multiply "
        "qz rq rsf2csf schur signm sinhm sinm solve solve_banded solve_circulant "
        "solve_continuous_are solve_continuous_lyapunov solve_discrete_are "
        "solve_discrete_lyapunov solve_lyapunov solve_sylvester solve_toeplitz solve_triangular "
        "solveh_banded sqrtm subspace_angles svd svdvals tanhm tanm toeplitz"
    ),
    "scipy.optimize": words(
        "isotonic_regression linear_sum_assignment linprog lsq_linear milp "
        "quadratic_assignment rosen rosen_der rosen_hess rosen_hess_prod"
    ),
    "scipy.signal": words(
        "abcd_normalize argrelmax argrelmin bessel bilinear bilinear_zpk bode butter "
        "buttap buttord chirp cheb1ord cheb2ord cheby1 cheby2 check_COLA check_NOLA coherence "
        "cont2discrete convolve convolve2d correlate correlate2d correlation_lags csd czt "
        "czt_points dbode decimate deconvolve detrend dfreqresp dimpulse dlsim dstep ellip "
        "ellipord envelope fftconvolve filtfilt find_peaks findfreqs firls firwin firwin2 freqresp "
        "freqs freqs_zpk freqz freqz_sos freqz_zpk gausspulse get_window group_delay hilbert "
        "iircomb iirdesign iirfilter iirnotch iirpeak impulse invres invresz istft kaiser_atten "
        "kaiser_beta kaiserord lfilter lfilter_zi lfiltic lombscargle lp2bp lp2bs lp2hp lp2lp lsim "
        "medfilt minimum_phase normalize oaconvolve peak_prominences peak_widths periodogram "
        "place_poles resample resample_poly residue residuez savgol_coeffs savgol_filter "
        "sawtooth sos2tf sos2zpk sosfilt sosfilt_zi sosfiltfilt spectrogram square ss2tf "
        "ss2zpk step stft sweep_poly tf2sos tf2ss tf2zpk unit_impulse upfirdn vectorstrength welch "
        "whittaker_henderson wiener zoom_fft zpk2sos zpk2ss zpk2tf"
    ),
    "scipy.spatial": words(
        "distance_matrix geometric_slerp minkowski_distance minkowski_distance_p procrustes"
    ),
    "scipy.spatial.distance": words(
        "braycurtis canberra cdist chebyshev cityblock correlation cosine dice directed_hausdorff "
        "euclidean hamming is_valid_dm is_valid_y jaccard jensenshannon mahalanobis minkowski "
        "num_obs_dm num_obs_y pdist rogerstanimoto russellrao seuclidean sokalsneath sqeuclidean "
        "squareform yule"
    ),
    "scipy.stats": words(
        "bartlett chi2_contingency chisquare circmean circstd circvar cumfreq "
        "describe energy_distance entropy f_oneway gmean gstd hmean iqr jarque_bera kruskal "
        "ks_2samp kurtosis levene linregress median_abs_deviation mode moment normaltest pearsonr "
        "percentileofscore pmean rankdata relfreq scoreatpercentile sem sigmaclip skew spearmanr "
        "theilslopes tmax tmean tmin trim_mean trimboth tstd ttest_1samp ttest_ind ttest_rel tvar "
        "variation wasserstein_distance zmap zscore"
    ),
}
#: Functions that call functions of the program, from Python or with single numbers.
CALLING = {
    "scipy.integrate": words("dblquad nquad quad quad_vec solve_bvp solve_ivp tplquad"),
    "scipy.linalg": words("funm"),
    "scipy.optimize": words(
        "anderson approx_fprime basinhopping bisect bracket brent brenth brentq broyden1 broyden2 "
        "brute check_grad curve_fit differential_evolution dual_annealing fixed_point fmin "
        "fmin_bfgs fmin_cg fmin_l_bfgs_b fmin_powell fmin_slsqp fminbound golden least_squares "
        "line_search minimize minimize_scalar newton newton_krylov ridder root root_scalar shgo "
        "toms748"
    ),
    "scipy.stats": ("binned_statistic",),
}
#: Classes whose objects stand for real ones over copies: what they can do and what can be read.
_POLYNOMIAL = words("__call__ antiderivative derivative integrate roots solve")
_SPLINE = words(
    "__call__ antiderivative derivative derivatives get_coeffs get_knots get_residual integral "
    "roots"
)
CLASSES: dict[str, dict[str, dict[str, Any]]] = {
    "scipy.interpolate": {
        "Akima1DInterpolator": {"methods": _POLYNOMIAL, "data": ("x", "c")},
        "CubicHermiteSpline": {"methods": _POLYNOMIAL, "data": ("x", "c")},
        "CubicSpline": {"methods": _POLYNOMIAL, "data": ("x", "c")},
        "PchipInterpolator": {"methods": _POLYNOMIAL, "data": ("x", "c")},
        "InterpolatedUnivariateSpline": {"methods": _SPLINE},
        "UnivariateSpline": {"methods": _SPLINE},
        "RBFInterpolator": {"methods": ("__call__",)},
        "RegularGridInterpolator": {"methods": ("__call__",)},
        "interp1d": {"methods": ("__call__",), "data": ("x", "y")},
    },
    "scipy.optimize": {
        "BFGS": {"methods": ()},
        "SR1": {"methods": ()},
        "Bounds": {"methods": (), "data": words("lb ub keep_feasible")},
        "LinearConstraint": {"methods": (), "data": words("A lb ub keep_feasible")},
        "NonlinearConstraint": {"methods": (), "data": words("lb ub"), "functions": True},
    },
    "scipy.spatial": {
        name: {
            "methods": words("count_neighbors query query_ball_point query_ball_tree query_pairs"),
            "data": words("data m n maxes mins"),
        }
        for name in ("KDTree", "cKDTree")
    },
    "scipy.spatial.transform": {
        "Rotation": {
            "methods": words(
                "__mul__ __pow__ __len__ __getitem__ apply approx_equal as_davenport as_euler "
                "as_matrix as_mrp as_quat as_rotvec inv magnitude mean reduce"
            ),
            "data": ("single",),
            "makers": words(
                "align_vectors concatenate create_group from_davenport from_euler from_matrix "
                "from_mrp from_quat from_rotvec identity random"
            ),
        },
        "Slerp": {"methods": ("__call__",), "data": ("times",)},
    },
}
#: Objects that functions give, and that nobody makes.
GIVEN = {
    "scipy.integrate": {"OdeSolution": {"methods": ("__call__",), "data": words("t_max t_min ts")}},
    "scipy.interpolate": {
        "LSQUnivariateSpline": {"methods": _SPLINE},
        "BSpline": {"methods": words("__call__ antiderivative derivative integrate")},
        "PPoly": {"methods": _POLYNOMIAL},
    },
}
#: Functions that give such objects.
MAKING = {"scipy.interpolate": words("make_interp_spline make_smoothing_spline")}
EXCEPTIONS = {
    "scipy.integrate": ("IntegrationWarning",),
    "scipy.linalg": words("LinAlgError LinAlgWarning"),
    "scipy.optimize": words("NoConvergence OptimizeWarning"),
    "scipy.signal": ("BadCoefficients",),
}
DISTRIBUTIONS = words(
    "beta binom cauchy chi2 expon f gamma geom laplace logistic lognorm multivariate_normal nbinom "
    "norm pareto poisson t triang truncnorm uniform weibull_min"
)
#: Of a distribution what leaves it as it is: one that draws with a generator and fails keeps that
#: generator, for every episode that is played after it. ``numpy.random`` draws.
OF_ONE = words(
    "cdf entropy fit interval isf logcdf logpdf logpmf logsf mean median pdf pmf ppf sf std "
    "support var"
)
#: Of several numbers at once: the others remember by themselves, or draw.
OF_MANY = words("entropy logpdf pdf")
_FIT = "use least_squares or curve_fit"
_MINIMIZE = "use minimize with another method"
_SYSTEM = "give a tuple instead: (numerator, denominator) or (A, B, C, D)"
_CURVE = "use CubicSpline, UnivariateSpline or make_interp_spline"
_SOLVE = "use solve_ivp"
_ANSWER = "what functions return is read by name: do without"
_MESH = "use KDTree for neighbours, griddata to interpolate"
#: What to use instead of names that are not offered.
HINTS = {
    "scipy.integrate": dict.fromkeys(
        words("odeint ode complex_ode LSODA RK45 RK23 DOP853 Radau BDF OdeSolver"), _SOLVE
    ),
    "scipy.interpolate": {
        **dict.fromkeys(
            words("BSpline PPoly BPoly NdPPoly NdBSpline splrep splev splprep splder splint"),
            _CURVE,
        ),
        "interp2d": "use RegularGridInterpolator",
        "LinearNDInterpolator": "use griddata",
        "NearestNDInterpolator": "use griddata, or KDTree",
        "CloughTocher2DInterpolator": "use griddata",
        "Rbf": "use RBFInterpolator",
    },
    "scipy.linalg": {"get_blas_funcs": "use `@`", "get_lapack_funcs": "use solve, eig, svd, qr"},
    "scipy.optimize": {
        "fsolve": "write root(f, x0).x",
        "leastsq": _FIT,
        "direct": "use differential_evolution",
        "nnls": "use lsq_linear(A, b, bounds=(0, np.inf))",
        "OptimizeResult": _ANSWER,
        "RootResults": _ANSWER,
        **dict.fromkeys(words("fmin_tnc fmin_cobyla fmin_ncg"), _MINIMIZE),
    },
    "scipy.signal": {
        **dict.fromkeys(words("StateSpace TransferFunction ZerosPolesGain lti dlti"), _SYSTEM),
        "argrelextrema": "use argrelmax or argrelmin",
        "find_peaks_cwt": "use find_peaks",
        "remez": "use firls",
        "ShortTimeFFT": "use stft",
    },
    "scipy.spatial": dict.fromkeys(
        words("Delaunay ConvexHull Voronoi SphericalVoronoi HalfspaceIntersection tsearch"), _MESH
    ),
    "scipy.spatial.transform": {"RotationSpline": "use Slerp", "RigidTransform": "use Rotation"},
    "scipy.stats": {"gaussian_kde": "write it with norm.pdf"},
}

#: Methods that take the place of all others where functions choose among several: those which call
#: the program from Python. The rest calls it from C or Fortran with a view of their own buffers.
METHODS: dict[str, tuple[str, ...]] = {
    "scipy.integrate.solve_ivp": words("RK45 RK23 DOP853 Radau BDF"),
    "scipy.optimize.curve_fit": words("trf dogbox"),
    "scipy.optimize.least_squares": words("trf dogbox"),
    "scipy.optimize.minimize": words(
        "Nelder-Mead Powell CG BFGS Newton-CG L-BFGS-B SLSQP COBYQA trust-constr dogleg trust-ncg "
        "trust-exact"
    ),
    "scipy.optimize.root": words(
        "broyden1 broyden2 anderson linearmixing diagbroyden excitingmixing krylov df-sane"
    ),
}
