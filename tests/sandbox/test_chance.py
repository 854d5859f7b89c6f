"""Nothing that a program can call reads real entropy or a real clock: episodes repeat."""

import numpy as np
import pytest
from acting import policy

from sandbox import Box, Host, Interface, Limits

#: Every way to draw that takes a seed and is given none, and every clock.
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
#: These do not depend on the seed.
SAME = {"time", "a minimizer's clock", "basinhopping"}

PROGRAM = """
import random, statistics, time
{imports}
M = np.arange(36.0).reshape(6, 6) % 7
B = [(-1, 1)]
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


def found(scipy, seed, before=()):
    """Two acts of an episode, by source, in a process that has played others before."""
    sources = SCIPY if scipy else SOURCES
    numbers = ", ".join(sources.values())
    program = PROGRAM.format(imports=IMPORTS if scipy else "", numbers=numbers)
    interface = Interface(1, None, Box((len(sources),)))
    limits = Limits(init_seconds=60)
    with Host() as host, host.policy(program, interface, limits=limits) as running:
        for number in (*before, seed):
            running.begin(number)
            acted = [running.act(np.ones(1)) for _ in range(2)]
    return dict(zip(sources, np.transpose(acted).tolist(), strict=True))


@pytest.mark.parametrize("scipy", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_same_comes_in_another_process_and_other_numbers_from_another_seed(scipy):
    first = found(scipy, 3)
    assert found(scipy, 3, (4, 3)) == first
    other = found(scipy, 4)
    assert {name for name in first if first[name] == other[name]} <= SAME


CLOCKS = "time.time(), time.monotonic(), time.perf_counter_ns() / 1e9, time.process_time()"


def test_the_clock_is_virtual():
    source = "import time\n" + policy(f"time.sleep(10)\nreturn [{CLOCKS}]")
    with Host() as host, host.policy(source, Interface(1, None, Box((4,)))) as running:
        running.begin(0)
        first, second = (running.act(np.ones(1)) for _ in range(2))
        assert first == pytest.approx([10.001, 10.002, 10.003, 10.004])
        assert second - first == pytest.approx([10.004] * 4)
        assert running.channel.used < 5
