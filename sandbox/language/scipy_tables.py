"""Which names of scipy are offered, as tables; ``docs/scipy.md`` tells readers the same.

Functions that an installed version of scipy has not are passed over.
"""

from __future__ import annotations

from sandbox.language.names import words

#: Functions of numbers and arrays; those which take functions call them from Python, or with
#: single numbers.
FUNCTIONS = {
    "scipy.integrate": (
        "cumulative_simpson cumulative_trapezoid dblquad newton_cotes nquad quad quad_vec romb "
        "simpson solve_bvp solve_ivp tplquad trapezoid"
    ),
    "scipy.interpolate": (
        "griddata interpn make_interp_spline make_smoothing_spline pchip_interpolate"
    ),
    "scipy.linalg": (
        "bandwidth block_diag cho_factor cho_solve cholesky circulant clarkson_woodruff_transform "
        "companion convolution_matrix coshm cosm det dft diagsvd eig eigh eigh_tridiagonal eigvals "
        "eigvalsh eigvalsh_tridiagonal expm expm_cond expm_frechet fiedler fractional_matrix_power "
        "funm hadamard hankel helmert hessenberg hilbert inv invhilbert invpascal ishermitian "
        "issymmetric khatri_rao ldl leslie logm lstsq lu lu_factor lu_solve matmul_toeplitz "
        "matrix_balance norm null_space ordqz orth orthogonal_procrustes pascal pinv pinvh polar "
        "qr qr_multiply qz rq rsf2csf schur signm sinhm sinm solve solve_banded solve_circulant "
        "solve_continuous_are solve_continuous_lyapunov solve_discrete_are solve_discrete_lyapunov "
        "solve_lyapunov solve_sylvester solve_toeplitz solve_triangular solveh_banded sqrtm "
        "subspace_angles svd svdvals tanhm tanm toeplitz"
    ),
    "scipy.optimize": (
        "anderson approx_fprime basinhopping bisect bracket brent brenth brentq broyden1 broyden2 "
        "brute check_grad curve_fit differential_evolution dual_annealing fixed_point fmin "
        "fmin_bfgs fmin_cg fmin_l_bfgs_b fmin_powell fmin_slsqp fminbound golden "
        "isotonic_regression least_squares line_search linear_sum_assignment linprog lsq_linear "
        "milp minimize minimize_scalar newton newton_krylov quadratic_assignment ridder root "
        "root_scalar rosen rosen_der rosen_hess rosen_hess_prod shgo toms748"
    ),
    "scipy.signal": (
        "abcd_normalize argrelmax argrelmin bessel bilinear bilinear_zpk bode buttap butter "
        "buttord cheb1ord cheb2ord cheby1 cheby2 check_COLA check_NOLA chirp coherence "
        "cont2discrete convolve convolve2d correlate correlate2d correlation_lags csd czt "
        "czt_points dbode decimate deconvolve detrend dfreqresp dimpulse dlsim dstep ellip "
        "ellipord envelope fftconvolve filtfilt find_peaks findfreqs firls firwin firwin2 freqresp "
        "freqs freqs_zpk freqz freqz_sos freqz_zpk gausspulse get_window group_delay hilbert "
        "iircomb iirdesign iirfilter iirnotch iirpeak impulse invres invresz istft kaiser_atten "
        "kaiser_beta kaiserord lfilter lfilter_zi lfiltic lombscargle lp2bp lp2bs lp2hp lp2lp lsim "
        "medfilt minimum_phase normalize oaconvolve peak_prominences peak_widths periodogram "
        "place_poles resample resample_poly residue residuez savgol_coeffs savgol_filter sawtooth "
        "sos2tf sos2zpk sosfilt sosfilt_zi sosfiltfilt spectrogram square ss2tf ss2zpk step stft "
        "sweep_poly tf2sos tf2ss tf2zpk unit_impulse upfirdn vectorstrength welch "
        "whittaker_henderson wiener zoom_fft zpk2sos zpk2ss zpk2tf"
    ),
    "scipy.spatial": (
        "distance_matrix geometric_slerp minkowski_distance minkowski_distance_p procrustes"
    ),
    "scipy.spatial.distance": (
        "braycurtis canberra cdist chebyshev cityblock correlation cosine dice directed_hausdorff "
        "euclidean hamming is_valid_dm is_valid_y jaccard jensenshannon mahalanobis minkowski "
        "num_obs_dm num_obs_y pdist rogerstanimoto russellrao seuclidean sokalsneath sqeuclidean "
        "squareform yule"
    ),
    "scipy.stats": (
        "bartlett binned_statistic chi2_contingency chisquare circmean circstd circvar cumfreq "
        "describe energy_distance entropy f_oneway gmean gstd hmean iqr jarque_bera kruskal "
        "ks_2samp kurtosis levene linregress median_abs_deviation mode moment normaltest pearsonr "
        "percentileofscore pmean rankdata relfreq scoreatpercentile sem sigmaclip skew spearmanr "
        "theilslopes tmax tmean tmin trim_mean trimboth tstd ttest_1samp ttest_ind ttest_rel tvar "
        "variation wasserstein_distance zmap zscore"
    ),
}
_POLYNOMIAL = "__call__ antiderivative derivative integrate roots solve x c"
_SPLINE = (
    "__call__ antiderivative derivative derivatives get_coeffs get_knots get_residual integral "
    "roots"
)
_TREE = "count_neighbors query query_ball_point query_ball_tree query_pairs data m n maxes mins"
#: Classes whose objects stand for real ones: what they can do, and what can be read of them.
CLASSES = {
    "scipy.interpolate": {
        "Akima1DInterpolator": _POLYNOMIAL,
        "CubicHermiteSpline": _POLYNOMIAL,
        "CubicSpline": _POLYNOMIAL,
        "PchipInterpolator": _POLYNOMIAL,
        "InterpolatedUnivariateSpline": _SPLINE,
        "UnivariateSpline": _SPLINE,
        "RBFInterpolator": "__call__",
        "RegularGridInterpolator": "__call__",
        "interp1d": "__call__ x y",
    },
    "scipy.optimize": {
        "BFGS": "",
        "SR1": "",
        "Bounds": "lb ub keep_feasible",
        "LinearConstraint": "A lb ub keep_feasible",
        "NonlinearConstraint": "lb ub",
    },
    "scipy.spatial": {"KDTree": _TREE, "cKDTree": _TREE},
    "scipy.spatial.transform": {
        "Rotation": (
            "__mul__ __pow__ __len__ __getitem__ apply approx_equal as_davenport as_euler "
            "as_matrix as_mrp as_quat as_rotvec inv magnitude mean reduce single align_vectors "
            "concatenate create_group from_davenport from_euler from_matrix from_mrp from_quat "
            "from_rotvec identity random"
        ),
        "Slerp": "__call__ times",
    },
}
#: What a class can do without an object.
MAKERS = words(
    "align_vectors concatenate create_group from_davenport from_euler from_matrix from_mrp "
    "from_quat from_rotvec identity random"
)
#: Classes of objects that functions give, and that nobody makes.
GIVEN = {
    "scipy.integrate": {"OdeSolution": "__call__ t_max t_min ts"},
    "scipy.interpolate": {
        "LSQUnivariateSpline": _SPLINE,
        "BSpline": "__call__ antiderivative derivative integrate",
        "PPoly": _POLYNOMIAL,
    },
}
EXCEPTIONS = {
    "scipy.integrate": "IntegrationWarning",
    "scipy.linalg": "LinAlgError LinAlgWarning",
    "scipy.optimize": "NoConvergence OptimizeWarning",
    "scipy.signal": "BadCoefficients",
}
DISTRIBUTIONS = (
    "beta binom cauchy chi2 expon f gamma geom laplace logistic lognorm multivariate_normal nbinom "
    "norm pareto poisson t triang truncnorm uniform weibull_min"
)
#: Of a distribution what computes: ``numpy.random`` draws.
OF_ONE = (
    "cdf entropy fit interval isf logcdf logpdf logpmf logsf mean median pdf pmf ppf sf std "
    "support var"
)
OF_MANY = "entropy logpdf pdf"

#: What to use instead of names that are not offered, in any module.
HINTS: dict[str, str] = {
    **dict.fromkeys(words("odeint ode complex_ode LSODA RK45 RK23 OdeSolver"), "use solve_ivp"),
    **dict.fromkeys(
        words("BSpline PPoly splrep splev splprep"), "use CubicSpline or make_interp_spline"
    ),
    **dict.fromkeys(words("LinearNDInterpolator NearestNDInterpolator"), "use griddata"),
    **dict.fromkeys(words("Delaunay ConvexHull Voronoi"), "use KDTree or griddata"),
    **dict.fromkeys(words("StateSpace TransferFunction lti dlti"), "give a tuple: (num, den)"),
    **dict.fromkeys(words("fmin_tnc fmin_cobyla fmin_ncg"), "use minimize"),
    "fsolve": "write root(f, x0).x",
    "leastsq": "use least_squares or curve_fit",
    "direct": "use differential_evolution",
    "nnls": "use lsq_linear(A, b, bounds=(0, np.inf))",
    "gaussian_kde": "write it with norm.pdf",
    "OptimizeResult": "use a dict",
}

#: Methods that take the place of all others where functions choose among several: those which call
#: the program from Python. The rest calls it from C or Fortran with a view of their own buffers.
METHODS = {
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
