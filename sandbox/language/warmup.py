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
import collections, copy, dataclasses, decimal, enum, fractions, json, statistics, time, typing
import numpy as np
from dataclasses import dataclass
a = np.arange(12.0).reshape(3, 4)
for x in (a, a > 1, a.astype(int), a.astype(complex), np.array(["x"]), np.float32(1), a[0, 0]):
    str(x), repr(x)
f"{a[0, 0]:.3f}"
try:
    "{:d}".format(1.5)
except ValueError:
    pass
a.sum(), a.mean(axis=0), a.std(), a.var(), a.max(), a.prod(), a.any(), a.all(), a.clip(0, 1)
a.min(), a.argmax(), a.round(2), a.ptp() if hasattr(a, "ptp") else 0, np.percentile(a, 50)
np.linalg.norm(a), np.linalg.svd(a), np.linalg.inv(np.eye(2)), np.linalg.lstsq(a, a[:, 0])
np.fft.fft(a[0]), np.random.normal(size=3), np.random.default_rng(1).random(2)
np.random.default_rng(1).choice(4, 2), np.random.choice(4), np.random.permutation(4)
np.einsum("ij,ij->i", a, a), np.polyfit(a[0], a[1], 1), np.median(a), np.interp(1, a[0], a[1])
copy.deepcopy(a), json.dumps({"a": 1}), statistics.mean([1, 2]), decimal.Decimal("1.5") + 1
json.loads("[1.5]"), fractions.Fraction(1, 3), time.time()
np.unique(a), np.histogram(a), np.isclose(a, a).all()
@dataclass
class Point:
    x: float = 0.0
Point(), repr(Point())
with np.errstate(all="ignore"):
    a / 0
try:
    a[10]
except IndexError as error:
    str(error)
try:
    a @ a
except ValueError as error:
    str(error)
try:
    np.linalg.inv(np.zeros((2, 2)))
except np.linalg.LinAlgError as error:
    str(error)
\u03b8 = "\\N{GREEK SMALL LETTER THETA}"
np.array([1.0]) / np.array([0.0]), np.log(np.array([-1.0])), np.float64(1) / np.float64(0)
"""


def run(runtime: Runtime) -> None:
    """Compile and execute a program that touches what programs touch."""
    warnings.simplefilter("ignore")
    sys.modules[names.MODULE] = types.ModuleType(names.MODULE)
    code = compile_source(_SOURCE, importable()).code
    exec(code, runtime.namespace(_SOURCE))  # noqa: S102 - our own source
