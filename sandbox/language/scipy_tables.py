"""Which names of scipy are offered, as tables; ``docs/scipy.md`` tells readers the same.

Names that an installed version of scipy has not are passed over.
"""

from __future__ import annotations

from sandbox.language.names import by_name, words

#: Functions of numbers and arrays (those which take functions call them from Python, or with single
#: numbers), classes, exceptions and distributions.
OFFERED = {
    "scipy.integrate": """
        cumulative_simpson cumulative_trapezoid dblquad IntegrationWarning newton_cotes nquad quad
        quad_vec romb simpson solve_bvp solve_ivp tplquad trapezoid""",
    "scipy.interpolate": """
        Akima1DInterpolator CubicHermiteSpline CubicSpline griddata interp1d interpn
        InterpolatedUnivariateSpline make_interp_spline make_smoothing_spline pchip_interpolate
        PchipInterpolator RBFInterpolator RegularGridInterpolator UnivariateSpline""",
    "scipy.linalg": """
        bandwidth block_diag cho_factor cho_solve cholesky circulant clarkson_woodruff_transform
        companion convolution_matrix coshm cosm det dft diagsvd eig eigh eigh_tridiagonal eigvals
        eigvalsh eigvalsh_tridiagonal expm expm_cond expm_frechet fiedler fractional_matrix_power
        funm hadamard hankel helmert hessenberg hilbert inv invhilbert invpascal ishermitian
        issymmetric khatri_rao ldl leslie LinAlgError LinAlgWarning logm lstsq lu lu_factor lu_solve
        matmul_toeplitz matrix_balance norm null_space ordqz orth orthogonal_procrustes pascal pinv
        pinvh polar qr qr_multiply qz rq rsf2csf schur signm sinhm sinm solve solve_banded
        solve_circulant solve_continuous_are solve_continuous_lyapunov solve_discrete_are
        solve_discrete_lyapunov solve_lyapunov solve_sylvester solve_toeplitz solve_triangular
        solveh_banded sqrtm subspace_angles svd svdvals tanhm tanm toeplitz""",
    "scipy.optimize": """
        anderson approx_fprime basinhopping BFGS bisect Bounds bracket brent brenth brentq broyden1
        broyden2 brute check_grad curve_fit differential_evolution dual_annealing fixed_point fmin
        fmin_bfgs fmin_cg fmin_l_bfgs_b fmin_powell fmin_slsqp fminbound golden isotonic_regression
        least_squares line_search linear_sum_assignment LinearConstraint linprog lsq_linear milp
        minimize minimize_scalar newton newton_krylov NoConvergence NonlinearConstraint
        OptimizeWarning quadratic_assignment ridder root root_scalar rosen rosen_der rosen_hess
        rosen_hess_prod shgo SR1 toms748""",
    "scipy.signal": """
        abcd_normalize argrelmax argrelmin BadCoefficients bessel bilinear bilinear_zpk bode buttap
        butter buttord cheb1ord cheb2ord cheby1 cheby2 check_COLA check_NOLA chirp coherence
        cont2discrete convolve convolve2d correlate correlate2d correlation_lags csd czt czt_points
        dbode decimate deconvolve detrend dfreqresp dimpulse dlsim dstep ellip ellipord envelope
        fftconvolve filtfilt find_peaks findfreqs firls firwin firwin2 freqresp freqs freqs_zpk
        freqz freqz_sos freqz_zpk gausspulse get_window group_delay hilbert iircomb iirdesign
        iirfilter iirnotch iirpeak impulse invres invresz istft kaiser_atten kaiser_beta kaiserord
        lfilter lfilter_zi lfiltic lombscargle lp2bp lp2bs lp2hp lp2lp lsim medfilt minimum_phase
        normalize oaconvolve peak_prominences peak_widths periodogram place_poles resample
        resample_poly residue residuez savgol_coeffs savgol_filter sawtooth sos2tf sos2zpk sosfilt
        sosfilt_zi sosfiltfilt spectrogram square ss2tf ss2zpk step stft sweep_poly tf2sos tf2ss
        tf2zpk unit_impulse upfirdn vectorstrength welch whittaker_henderson wiener zoom_fft zpk2sos
        zpk2ss zpk2tf""",
    "scipy.spatial": """
        cKDTree distance_matrix geometric_slerp KDTree minkowski_distance minkowski_distance_p
        procrustes""",
    "scipy.spatial.distance": """
        braycurtis canberra cdist chebyshev cityblock correlation cosine dice directed_hausdorff
        euclidean hamming is_valid_dm is_valid_y jaccard jensenshannon mahalanobis minkowski
        num_obs_dm num_obs_y pdist rogerstanimoto russellrao seuclidean sokalsneath sqeuclidean
        squareform yule""",
    "scipy.spatial.transform": "Rotation Slerp",
    "scipy.stats": """
        bartlett beta binned_statistic binom cauchy chi2 chi2_contingency chisquare circmean circstd
        circvar cumfreq describe energy_distance entropy expon f f_oneway gamma geom gmean gstd
        hmean iqr jarque_bera kruskal ks_2samp kurtosis laplace levene linregress logistic lognorm
        median_abs_deviation mode moment multivariate_normal nbinom norm normaltest pareto pearsonr
        percentileofscore pmean poisson rankdata relfreq scoreatpercentile sem sigmaclip skew
        spearmanr t theilslopes tmax tmean tmin triang trim_mean trimboth truncnorm tstd ttest_1samp
        ttest_ind ttest_rel tvar uniform variation wasserstein_distance weibull_min zmap zscore""",
}
#: What objects that stand for those of classes can do, and what can be read of them. Functions give
#: objects of classes that are not offered, too.
_MEMBERS = {
    "Akima1DInterpolator CubicHermiteSpline CubicSpline PPoly PchipInterpolator": """
        __call__ antiderivative derivative integrate roots solve x c""",
    "BFGS SR1": "",
    "BSpline": "__call__ antiderivative derivative integrate",
    "Bounds": "lb ub keep_feasible",
    "InterpolatedUnivariateSpline LSQUnivariateSpline UnivariateSpline": """
        __call__ antiderivative derivative derivatives get_coeffs get_knots get_residual integral
        roots""",
    "KDTree cKDTree": """
        count_neighbors query query_ball_point query_ball_tree query_pairs data m n maxes mins""",
    "LinearConstraint": "A lb ub keep_feasible",
    "NonlinearConstraint": "lb ub",
    "OdeSolution": "__call__ t_max t_min ts",
    "RBFInterpolator RegularGridInterpolator": "__call__",
    "Rotation": """
        __mul__ __pow__ __len__ __getitem__ apply approx_equal as_davenport as_euler as_matrix
        as_mrp as_quat as_rotvec inv magnitude mean reduce single align_vectors concatenate
        create_group from_davenport from_euler from_matrix from_mrp from_quat from_rotvec
        identity random""",
    "Slerp": "__call__ times",
    "interp1d": "__call__ x y",
}
CLASSES = {kind: words(text) for kinds, text in _MEMBERS.items() for kind in kinds.split()}

#: Of a distribution what computes: ``numpy.random`` draws.
OF_ONE = words(
    "cdf entropy fit interval isf logcdf logpdf logpmf logsf mean median pdf pmf ppf sf std "
    "support var"
)
OF_MANY = words("entropy logpdf pdf")

#: What to use instead of names that are not offered, in any module.
HINTS = by_name(
    {
        "give a tuple: (num, den)": "StateSpace TransferFunction lti dlti",
        "use CubicSpline or make_interp_spline": "BSpline PPoly splrep splev splprep",
        "use KDTree or griddata": "Delaunay ConvexHull Voronoi",
        "use a dict": "OptimizeResult",
        "use differential_evolution": "direct",
        "use griddata": "LinearNDInterpolator NearestNDInterpolator",
        "use least_squares or curve_fit": "leastsq",
        "use lsq_linear(A, b, bounds=(0, np.inf))": "nnls",
        "use minimize": "fmin_tnc fmin_cobyla fmin_ncg",
        "use solve_ivp": "odeint ode complex_ode LSODA RK45 RK23 OdeSolver",
        "write it with norm.pdf": "gaussian_kde",
        "write root(f, x0).x": "fsolve",
    }
)

#: Methods that take the place of all others where functions choose among several: those which call
#: the program from Python. The rest calls it from C or Fortran with a view of their own buffers.
METHODS = {
    "scipy.integrate.solve_ivp": "RK45 RK23 DOP853 Radau BDF",
    "scipy.optimize.curve_fit": "trf dogbox",
    "scipy.optimize.least_squares": "trf dogbox",
    "scipy.optimize.minimize": """
        Nelder-Mead Powell CG BFGS Newton-CG L-BFGS-B SLSQP COBYQA trust-constr dogleg trust-ncg
        trust-exact""",
    "scipy.optimize.root": """
        broyden1 broyden2 anderson linearmixing diagbroyden excitingmixing krylov df-sane""",
}
