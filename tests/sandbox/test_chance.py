"""Nothing that a program can call reads real entropy, a real clock, or another slot's numbers."""

import functools
import sys

import numpy as np
import pytest

from sandbox import Box, Host, Interface, Limits

#: Every way to draw that takes a seed and is given none, every clock, and the numbers of objects.
SOURCES = {
    "numpy's functions": "np.random.rand()",
    "numpy's functions after seed()": "(np.random.seed(), np.random.rand())[1]",
    "random": "random.random()",
    "random after seed()": "(random.seed(), random.random())[1]",
    "Random()": "random.Random().random()",
    "Random(1).seed()": "reseeded(random.Random(1)).random()",
    "Random(None)": "random.Random(None).random()",
    "default_rng()": "np.random.default_rng().random()",
    "RandomState()": "np.random.RandomState().rand()",
    "RandomState(1).seed()": "reseeded(np.random.RandomState(1)).rand()",
    "SeedSequence()": "np.random.SeedSequence().entropy % 2**50",
    "a child of SeedSequence()": "np.random.SeedSequence().spawn(2)[1].generate_state(1)[0]",
    "MT19937()": "np.random.MT19937().random_raw()",
    "PCG64()": "np.random.PCG64().random_raw() % 2**50",
    "PCG64DXSM()": "np.random.PCG64DXSM().random_raw() % 2**50",
    "Philox()": "np.random.Philox().random_raw() % 2**50",
    "SFC64()": "np.random.SFC64().random_raw() % 2**50",
    "a spawned generator": "np.random.default_rng().spawn(1)[0].random()",
    "statistics": "statistics.NormalDist().samples(1)[0]",
    "time": "time.time() + time.monotonic_ns() + time.perf_counter()",
    "id": "id(object()) + id([])",
    "hash of an object": "(hash(object()) + hash(len) + hash((None, f)) + hash([].append)) % 2**40",
    "hash of an object of its own": "(hash(Policy()) + hash(str(Policy()))) % 2**40",
    "order of a set": "[k.n for k in {K(i) for i in range(50)}].index(7)",
}
SCIPY = {
    "Rotation.random": "Rotation.random().as_quat()[0]",
    "differential_evolution": "opt.differential_evolution(f, B, maxiter=1, polish=False).x[0]",
    "dual_annealing": "opt.dual_annealing(f, B, maxiter=2, no_local_search=True).x[0]",
    "basinhopping": "opt.basinhopping(f, [0.4], niter=1).x[0]",
    "quadratic_assignment": "opt.quadratic_assignment(M, M[::-1], method='2opt').col_ind[0]",
    "clarkson_woodruff_transform": "scipy.linalg.clarkson_woodruff_transform(M, 2)[0, 0]",
    "a minimizer's clock": "opt.minimize(f, [0.4], method='trust-constr').execution_time",
}
NAMES = [*SOURCES, *(pytest.param(name, marks=pytest.mark.slow) for name in SCIPY)]
#: These do not depend on the seed.
SAME = {name for name in SOURCES if "of" in name.split()}
SAME |= {"time", "a minimizer's clock", "id", "basinhopping"}

PROGRAM = """
import random, statistics, time
{imports}
M = np.arange(36.0).reshape(6, 6) % 7
B = [(-1, 1)]
class K:
    def __init__(self, n):
        self.n = n
def f(x):
    return (np.cos(9 * x) + x ** 2).sum()
def reseeded(generator):
    generator.seed()
    return generator
class Policy:
    def act(self, obs):
        return [{numbers}]
"""
IMPORTS = "import scipy.linalg\nimport scipy.optimize as opt\n"
IMPORTS += "from scipy.spatial.transform import Rotation"


@functools.cache
def found(scipy, seeds, turns):
    """What slot 0 finds in a host of its own: actions by source; other slots act in between."""
    sources = SCIPY if scipy else SOURCES
    numbers = ", ".join(sources.values())
    program = PROGRAM.format(imports=IMPORTS if scipy else "", numbers=numbers)
    interface = Interface(1, None, Box((len(sources),)))
    with Host() as host, host.policy(program, interface, Limits(init_seconds=60)) as policy:
        policy.reset(range(len(seeds)), seeds)
        acted = [(slot, policy.act([slot], np.ones((1, 1)))[0]) for slot in turns]
    rows = np.array([action for slot, action in acted if slot == 0])
    return dict(zip(sources, rows.T.tolist(), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_comes_in_another_process_and_with_other_episodes(name):
    alone = found(name in SCIPY, (3,), (0, 0))
    together = found(name in SCIPY, (3, 4), (1, 0, 1, 0))

    assert alone[name] == together[name]


@pytest.mark.parametrize("name", [n for n in NAMES if getattr(n, "values", [n])[0] not in SAME])
def test_another_seed_gives_other_numbers(name):
    alone = found(name in SCIPY, (3,), (0, 0))
    otherwise = found(name in SCIPY, (4,), (0, 0))

    assert alone[name] != otherwise[name]


DATES = """
class Policy:
    def act(self, obs):
        dates = []
        for word in ("now", "today", "NOW"):
            days = np.zeros(1, "datetime" + "64[D]")
            days[0] = word
            dates += [np.array(word, "M8[s]"), np.dtype("M8[s]").type(word), days[0]]
        return [float(np.asarray(date).astype(int)) for date in dates]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="numpy's clock is stopped on Linux")
def test_dates_begin_in_1970():
    with Host() as host, host.policy(DATES, Interface(1, None, Box((9,)))) as policy:
        policy.reset([0], [0])

        assert policy.act([0], np.ones((1, 1))).tolist() == [[0.0] * 9]
