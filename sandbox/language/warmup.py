"""Run once in the warm parent: makes libraries load now what they would load lazily.

After the lock-down no file can be opened, so a lazy import would fail there.
"""

from __future__ import annotations

import sys
import types
import warnings

from sandbox.language import names
from sandbox.language.compiler import compile_source
from sandbox.language.library import Runtime, importable

_SOURCE = """
import copy, decimal, fractions, json, statistics, time
from dataclasses import dataclass
a = np.arange(12.0).reshape(3, 4)
for x in (a, a > 1, a.astype(int), a.astype(complex), np.array(["x"]), np.float32(1), a[0, 0]):
    str(x), repr(x), f"{a[0, 0]:.3f}"
a.sum(), a.mean(axis=0), a.std(), a.var(), a.max(), a.prod(), a.any(), a.all(), a.clip(0, 1)
a.min(), a.argmax(), a.round(2), np.percentile(a, 50), np.median(a), np.unique(a), np.histogram(a)
np.linalg.norm(a), np.linalg.svd(a), np.linalg.inv(np.eye(2)), np.linalg.lstsq(a, a[:, 0])
np.fft.fft(a[0]), np.random.normal(size=3), np.random.choice(4), np.random.permutation(4)
np.random.default_rng(1).random(2), np.random.default_rng(1).choice(4, 2), np.isclose(a, a).all()
np.einsum("ij,ij->i", a, a), np.polyfit(a[0], a[1], 1), np.interp(1, a[0], a[1])
copy.deepcopy(a), json.dumps({"a": 1}), json.loads("[1.5]"), statistics.mean([1, 2])
decimal.Decimal("1.5") + 1, fractions.Fraction(1, 3), time.time()
@dataclass
class Point:
    x: float = 0.0
repr(Point())
with np.errstate(all="ignore"):
    a / 0
singular = np.zeros((2, 2))
for wrong in (lambda: a[10], lambda: a @ a, lambda: np.linalg.inv(singular), lambda: f"{1.5:d}"):
    try:
        wrong()
    except Exception as error:
        str(error)
\u03b8 = "\\N{GREEK SMALL LETTER THETA}"
np.array([1.0]) / np.array([0.0]), np.log(np.array([-1.0])), np.float64(1) / np.float64(0)
"""


def run(runtime: Runtime) -> None:
    """Compile and execute a program that touches what programs touch."""
    warnings.simplefilter("ignore")
    sys.modules[names.MODULE] = types.ModuleType(names.MODULE)
    code = compile_source(_SOURCE, importable()).code
    exec(code, runtime.namespace())  # noqa: S102 - our own source
