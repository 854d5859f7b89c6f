"""What the facades offer of scipy works after the lock-down, where nothing more can be loaded."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from acting import ONE, acts, indented
from restricted import programs

from sandbox import Limits
from sandbox.language.facades import Facade
from sandbox.language.library import tree
from sandbox.language.scipy_library import members
from sandbox.libraries import SCIPY, TABLES

FAMILIES = programs("scipy")
DISTRIBUTIONS = {
    name: member for name, member in members("scipy.stats").items() if isinstance(member, Facade)
}
OFFERED = tree({name: members(name) for name in SCIPY})
POLICY = """import numpy as np
import scipy.linalg as la, scipy.optimize as op, scipy.interpolate as ip
import scipy.signal as sg, scipy.spatial as sp, scipy.integrate as ig, scipy.stats as st
class Policy:
    def act(self, obs):
        family()
        return [1.0]
def family():
"""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_functions_works_in_a_locked_down_process(host, family):
    source = POLICY + indented(FAMILIES[family], 4)

    assert acts(host, source, limits=Limits(act_seconds=30, init_seconds=60)) == [[1.0]]


def test_what_libraries_print_is_the_programs_output(host):
    source = POLICY + "    op.minimize(op.rosen, [0.9, 0.9], options={'disp': True})\n"

    with host.policy(source, ONE, Limits(init_seconds=60)) as policy:
        policy.begin(0)
        policy.act(np.zeros(1))
        assert "Current function value" in policy.output


def test_each_name_that_is_offered_stands_in_the_families():
    words = set(re.findall(r"\w+", " ".join(FAMILIES.values())))

    offered = {n for module in SCIPY for n in members(module)}

    assert offered - words == set()


@pytest.mark.parametrize("name", [n for n, d in DISTRIBUTIONS.items() if hasattr(d, "fit")])
def test_a_distribution_is_as_it_was_after_what_is_offered_of_it_fails(name):
    real, states = getattr(scipy.stats, name), []

    for _ in range(2):
        states.append(repr({k: v for k, v in vars(real).items() if "vec" not in k}))
        for method in vars(DISTRIBUTIONS[name]).values():
            for arguments in ((), ("x",), ([0.1, 0.2], "x"), ([0.5], 2.0, 3.0, "x")):
                with contextlib.suppress(Exception):
                    method(*arguments)

    assert states[0] == states[1]


def test_of_statistics_no_class_is_offered_and_nothing_that_draws():
    offered = members("scipy.stats")

    assert [name for name, member in offered.items() if isinstance(member, type)] == []
    assert {"rvs", "random_state"} & set().union(*map(vars, DISTRIBUTIONS.values())) == set()


MATRIX = np.array([[1.0, 0.05, 0.0], [0.0, 0.97, 0.1], [0.3, 0.0, 1.1]])
BACKWARDS = MATRIX.T[:, ::-1]
PUSH = np.array([[0.0], [0.4], [1.3]])


def bowl(x, by=1.3):
    return float(((x - by) ** 4).sum() + x[0] * x[1])


def slopes(x):
    return bowl(x), 4 * (x - 1.3) ** 3 + np.array([x[1], x[0], 0.0])


#: What published and recorded policies call, on arrays in each order of memory.
RECORDED = {
    "expm": lambda sp, a: sp.linalg.expm(0.05 * a),
    "cholesky": lambda sp, a: sp.linalg.cholesky(a @ a.T + np.eye(3)),
    "are": lambda sp, a: sp.linalg.solve_continuous_are(a, PUSH, np.eye(3), np.eye(1)),
    "dare": lambda sp, a: sp.linalg.solve_discrete_are(a, PUSH, np.diag([1.0, 9, 1]), [[0.1]]) @ a,
    "poles": lambda sp, a: sp.signal.place_poles(MATRIX, PUSH, [0.1, 0.2, 0.3]).gain_matrix,
    "tree": lambda sp, a: sp.spatial.cKDTree(a).query([0.2, 0.3, 0.4], k=2),
    "L-BFGS-B with slopes": lambda sp, a: sp.optimize.minimize(
        slopes, a[0], jac=True, method="L-BFGS-B", bounds=[(-1.0, None)] * 3, options={"maxcor": 5}
    ).x,
    "L-BFGS-B": lambda sp, a: sp.optimize.minimize(bowl, a[:, 1], args=(0.7,), method="L-BFGS-B").x,
    "Nelder-Mead": lambda sp, a: sp.optimize.minimize(
        bowl, np.zeros(3), method="Nelder-Mead",
        options={"maxfev": 60, "initial_simplex": np.vstack([np.zeros(3), a])},
    ).x,
    "least squares": lambda sp, a: sp.optimize.least_squares(
        lambda x, m: m @ x - [1, 2, 3], np.zeros(3), args=(a,), bounds=(-1.2, 1.2), loss="soft_l1"
    ).x,
    "spline": lambda sp, a: sp.interpolate.CubicSpline([0.0, 1.0, 2.5], a)([0.3, 0.7], 1),
    "assignment": lambda sp, a: sp.optimize.linear_sum_assignment(a),
    "distances": lambda sp, a: sp.spatial.distance.cdist(a, a.T),
    "filter": lambda sp, a: sp.signal.lfilter(*sp.signal.butter(2, 0.2), a.ravel()),
    "rotation": lambda sp, a: sp.spatial.transform.Rotation.from_euler("xyz", a).as_matrix(),
}  # fmt: skip


@pytest.mark.parametrize("use", RECORDED)
@pytest.mark.parametrize("a", [MATRIX, BACKWARDS], ids=["in order", "reversed"])
def test_what_policies_call_gives_the_same_to_the_last_bit(use, a):
    assert bits(RECORDED[use](OFFERED["scipy"], a)) == bits(RECORDED[use](scipy, a))


def bits(value):
    parts = value if isinstance(value, tuple) else (value,)
    return [(np.asarray(p).tobytes(), np.asarray(p).shape) for p in parts]


class Lying(float):
    """A number that answers differently each time."""


class Whole(int):
    """The same for whole numbers."""


TWO = np.eye(2)
#: Calls that are refused before scipy's compiled code sees them, with what the error names.
REFUSED = {
    "a number of a class": (lambda sp: sp.linalg.expm(Lying(1.0)), "class Lying"),
    "a whole number of a class": (lambda sp: sp.signal.butter(Whole(2), 0.3), "class Whole"),
    "a number of a class in a list": (lambda sp: sp.linalg.inv([[Lying(1.0)]]), "class Lying"),
    "a number of a class by name": (
        lambda sp: sp.signal.butter(N=2, Wn=Lying(0.3)), "class Lying"),
    "what a function returns": (
        lambda sp: sp.optimize.brentq(lambda x: Lying(x + 0.0), -1.0, 1.0), "class Lying"),
    "a subclass of arrays": (lambda sp: sp.linalg.inv(np.matrix([[1.0]])), "class matrix"),
    "an array of objects": (lambda sp: sp.signal.lfilter(np.array([None]), [1], [1]), "object"),
    "a place for the result": (lambda sp: sp.spatial.distance.cdist(TWO, TWO, out=TWO), "out"),
    "a method in Fortran": (lambda sp: sp.optimize.root(np.cos, [1.0], method="hybr"), "krylov"),
    "one of a part": (
        lambda sp: sp.optimize.basinhopping(bowl, TWO[0], minimizer_kwargs={"method": "TNC"}),
        "TNC",
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", REFUSED)
def test_what_compiled_code_would_trust_is_refused_in_one_line(title):
    call, named = REFUSED[title]

    with pytest.raises((TypeError, ValueError), match=r"^scipy\..*" + re.escape(named)) as found:
        call(OFFERED["scipy"])

    assert "\n" not in str(found.value)


#: Functions that call ``keep``, which holds on to what it is given and writes to it.
HANDED = {
    "minimize": lambda sp, keep: sp.optimize.minimize(keep, np.ones(2), method="Nelder-Mead").x,
    "least_squares": lambda sp, keep: sp.optimize.least_squares(keep, np.ones(2)).x,
    "solve_ivp": lambda sp, keep: sp.integrate.solve_ivp(
        lambda t, y: [keep(y)] * 2, (0.0, 1.0), np.ones(2)).y,
    "differential_evolution": lambda sp, keep: sp.optimize.differential_evolution(
        keep, [(-1, 1)] * 2, maxiter=2, rng=1).x,
}  # fmt: skip


@pytest.mark.parametrize("name", HANDED)
def test_what_a_function_does_to_the_array_that_it_is_handed_changes_nothing(name):
    def cost(x):
        return float(((x - 0.3) ** 2).sum())

    def spoiling(x):
        found = cost(x)
        x[:] = np.nan
        x.resize((0,), refcheck=False)
        return found

    assert bits(HANDED[name](OFFERED["scipy"], spoiling)) == bits(HANDED[name](scipy, cost))


def test_an_array_that_is_changed_after_it_was_given_changes_nothing():
    points = np.arange(6.0).reshape(3, 2)
    tree = OFFERED["scipy"].spatial.KDTree(points)
    before = tree.query([1.0, 1.0], k=3)

    points[:] = 99.0
    tree.data[:] = 99.0

    assert bits(tree.query([1.0, 1.0], k=3)) == bits(before)


def test_results_are_read_by_attribute_by_key_and_as_the_tuples_that_they_are():
    found = OFFERED["scipy"].optimize.minimize(bowl, np.ones(3))
    slope, *_ = line = OFFERED["scipy"].stats.linregress([1.0, 2, 3], [1.0, 2, 4])

    assert found.x is found["x"]
    assert {"x", "fun", "success"} <= set(found)
    assert slope == line.slope == line[0] == 1.5
    assert "success: True" in repr(found)


def test_arguments_of_functions_need_not_be_numbers():
    goal = {"at": 0.25}

    found = OFFERED["scipy"].optimize.brentq(lambda x, goal: x - goal["at"], 0, 1, args=(goal,))

    assert found == pytest.approx(0.25)


def test_a_list_that_is_passed_on_to_a_function_is_the_programs_own():
    seen, linear = [], {"type": "ineq", "fun": lambda x, kept: kept.append(1) or x[0] - 1}

    def cost(x, kept):
        kept.append(x)
        return float(x @ x)

    optimize = OFFERED["scipy.optimize"]
    optimize.minimize(cost, [3.0, 1.0], (seen,), "SLSQP", constraints={**linear, "args": (seen,)})

    assert 1 in seen
    assert any(isinstance(one, np.ndarray) for one in seen)


def test_a_generator_of_the_program_is_the_one_that_draws():
    ours, scipys = np.random.default_rng(3), np.random.default_rng(3)

    found = OFFERED["scipy"].optimize.differential_evolution(
        bowl, [(-1, 1)] * 2, maxiter=2, rng=ours
    )

    wanted = scipy.optimize.differential_evolution(bowl, [(-1, 1)] * 2, maxiter=2, rng=scipys)
    assert bits(found.x) == bits(wanted.x)


def test_an_event_ends_the_integration_where_it_is_terminal():
    def ground(t, y):
        return y[0] - 0.5

    ground.terminal = True

    found = OFFERED["scipy"].integrate.solve_ivp(lambda t, y: -y, (0, 9), [1.0], events=ground)

    assert found.t[-1] == pytest.approx(np.log(2), abs=1e-3)


@pytest.mark.parametrize("name", ["fsolve", "direct", "OptimizeResult", "HessianUpdateStrategy"])
def test_what_is_not_offered_says_what_is(name):
    with pytest.raises(AttributeError, match="is not available here: ") as found:
        getattr(OFFERED["scipy.optimize"], name)

    assert "\n" not in str(found.value)


def test_a_root_is_told_from_the_lowest_point_of_what_has_none():
    root = OFFERED["scipy.optimize"].root

    assert root(lambda x: [x[0] ** 2 - 2, x[1] - x[0]], [1.0, 1.0]).success
    assert not root(lambda x: x**2 + 1, [0.5]).success


DOCUMENT = Path(__file__).parents[2] / "docs" / "scipy.md"


def test_the_document_lists_what_is_offered():
    rows = [r.split("|") for r in DOCUMENT.read_text().splitlines() if r.startswith("| `scipy")]
    listed = {r[1].strip(" `"): set(re.findall(r"\w+", r[2])) for r in rows}

    assert listed == {name: set(offered.split()) for name, offered in TABLES["scipy"].items()}
