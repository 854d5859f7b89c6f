"""Programs that each define ``result()``; the name says which construct they are about."""

CONSTRUCTS = {
    "augmented assignment": """
class P:
    def __init__(self):
        self.t = 0
        self.a = [1, 2]
def result():
    p = P()
    p.t += 2; p.t *= 3; p.t -= 1; p.t **= 2; p.t //= 3; p.t %= 5
    p.a[0] += 5; p.a[1:] += [7]
    x = 1
    x <<= 3; x |= 1; x ^= 2; x &= 11; x >>= 1
    return p.t, p.a, x
""",
    "private names": """
_SCALE = 2
def _helper(_x, *, _y=1):
    return _SCALE * _x + _y
class P:
    _count = 0
    __secret = 5
    def __init__(self, _g=3):
        self._gains = [_g]
        self.__hidden = 7
    def _inner(self):
        return self._gains[0] + self.__hidden + self.__secret
    @property
    def _p(self):
        return self._inner()
class Q(P):
    def __init__(self):
        super().__init__(_g=4)
        self.__hidden = 100
def result():
    q = Q()
    q._count += 1
    del q._count
    return _helper(3, _y=2), P()._p, Q()._p, q._count, hasattr(q, "_gains"), getattr(q, "_gains")
""",
    "private names through strings": """
class P:
    __slots__ = ("_a", "b")
def result():
    p = P()
    setattr(p, "_a", 1)
    p.b = 2
    before = hasattr(p, "_a"), getattr(p, "_zz", None)
    delattr(p, "_a")
    return before, hasattr(p, "_a"), p.b
""",
    "annotations": """
from __future__ import annotations
from typing import Optional
x: int = 3
y: "np.nothing[1/0]"
class P:
    z: float = 1.0
    def f(self, a: Undefined, *b: Missing, c: "Nope" = 2, **d: Unknown) -> AlsoUndefined:
        self.q: dict[str, int] = {}
        w: Optional[int] = None
        return self.q, w, a, c
def result():
    return x, P().f(1), P.z
""",
    "dataclass": """
from dataclasses import dataclass, field, asdict, replace, astuple
from typing import ClassVar
@dataclass
class Gains:
    kp: float = 1.0
    ki: "float" = 0.0
    names: list = field(default_factory=list)
    LIMIT: ClassVar[float] = 9.0
    def __post_init__(self):
        self.total = self.kp + self.ki
@dataclass(frozen=True, order=True)
class Node:
    f: float
    pos: tuple
def result():
    g = Gains(2.0, names=["a"])
    n = Node(1.0, (0, 1))
    try:
        n.f = 2
        frozen = False
    except AttributeError:
        frozen = True
    return (repr(g), g.total, asdict(g), replace(n, f=3.0), frozen, Node(1, ()) < Node(2, ()),
            hash(n) == hash(Node(1.0, (0, 1))), astuple(n), Gains.LIMIT, g == Gains(2.0, 0.0, ["a"]))
""",
    "named tuples": """
from typing import NamedTuple
from collections import namedtuple
class S(NamedTuple):
    x: float
    y: float = 2.0
    def norm(self):
        return self.x + self.y
P = namedtuple("P", "a b", defaults=(5,))
def result():
    s = S(1.0)
    a, b = P(3)
    return s._replace(y=4.0), s.norm(), P(1)._asdict(), a, b, S._fields, P._make([1, 2])
""",
    "enum": """
from enum import Enum, IntEnum, auto
class Phase(Enum):
    REACH = auto()
    GRASP = auto()
class Act(IntEnum):
    LEFT = 0
    RIGHT = 1
def result():
    return (Phase.REACH.name, Phase.GRASP.value, Act.RIGHT + 1, [p.name for p in Phase],
            Phase["REACH"] is Phase.REACH, Phase(2).name, Act(0) is Act.LEFT)
""",
    "abstract classes": """
from abc import ABC, ABCMeta, abstractmethod
import abc
class Base(ABC):
    @abstractmethod
    def act(self): ...
class Other(metaclass=ABCMeta):
    @abstractmethod
    def go(self): pass
class Third(metaclass=abc.ABCMeta):
    pass
class Impl(Base):
    def act(self):
        return 1
def result():
    out = []
    for cls in (Base, Other):
        try:
            cls()
        except TypeError:
            out.append("abstract")
    return out, Impl().act(), isinstance(Impl(), Base), Third() is not None
""",
    "super and inheritance": """
class A:
    def __init__(self, k=1):
        self.k = k
    def f(self):
        return self.k
class B(A):
    def __init__(self):
        super().__init__(k=2)
    def f(self):
        return super().f() + super(B, self).f()
def result():
    return B().f(), issubclass(B, A), isinstance(B(), A)
""",
    "properties and methods": """
class P:
    def __init__(self):
        self._v = 1
    @property
    def v(self):
        return self._v
    @v.setter
    def v(self, value):
        self._v = value
    @staticmethod
    def s(a):
        return a * 2
    @classmethod
    def make(cls):
        p = cls()
        p.v = 10
        return p
def result():
    return P.make().v, P.s(4), P().s(5)
""",
    "operator methods": """
class V:
    def __init__(self, x): self.x = x
    def __add__(self, o): return V(self.x + o.x)
    def __radd__(self, o): return V(self.x + o)
    def __iadd__(self, o): self.x += o.x; return self
    def __sub__(self, o): return V(self.x - o.x)
    def __mul__(self, k): return V(self.x * k)
    __rmul__ = __mul__
    def __matmul__(self, o): return self.x * o.x
    def __neg__(self): return V(-self.x)
    def __eq__(self, o): return self.x == o.x
    def __lt__(self, o): return self.x < o.x
    def __hash__(self): return hash(self.x)
    def __repr__(self): return f"V({self.x})"
    def __len__(self): return 3
    def __iter__(self): return iter([self.x])
    def __getitem__(self, i): return self.x + i
    def __setitem__(self, i, v): self.x = v
    def __contains__(self, v): return v == self.x
    def __call__(self, y): return self.x * y
    def __enter__(self): return self
    def __exit__(self, *a): return False
    def __bool__(self): return True
def result():
    v = V(2)
    v += V(1)
    v[0] = 5
    with v as w:
        pass
    return (repr(v + V(1)), repr(1 + V(2)), repr(3 * V(2)), v @ V(2), repr(-v), v == V(5), v < V(6),
            len(v), list(v), v[1], 5 in v, v(2), w is v, sorted([V(2), V(1)])[0].x, {V(1): 1}[V(1)])
""",
    "closures": """
def counter():
    n = 0
    def step(k=1):
        nonlocal n
        n += k
        return n
    return step
total = 0
def add(x):
    global total
    total += x
def result():
    c = counter()
    c(); c(5)
    add(3)
    return c(), total
""",
    "generators": """
def gen(n):
    for i in range(n):
        got = yield i
        if got:
            yield got * 10
    yield from (x * x for x in range(2))
def result():
    g = gen(2)
    first = next(g)
    return first, g.send(4), list(g)
""",
    "lambdas and comprehensions": """
def result():
    f = lambda x, *a, k=2, **kw: x * k + sum(a)
    m = [[i * j for j in range(3)] for i in range(3) if i]
    return f(1, 2, 3), m, {i: j for i, j in enumerate("ab")}, {x % 3 for x in range(9)}, sorted(
        [(2, "b"), (1, "a")], key=lambda p: p[0]), [a + b for a, (b, _) in [(1, (2, 3))]]
""",
    "walrus": """
def result():
    out = []
    data = [1, 2, 3]
    while (n := len(data)) > 1:
        out.append(n)
        data.pop()
    return out, [y for x in range(5) if (y := x * x) > 3]
""",
    "f-strings": """
def result():
    x, w, name = 3.14159, 8, "k"
    return f"{x:.2f} {x:>{w}.3f} {name!r} {x=:.1f} {'nested ' + f'{w}'} {w:03d} {1000000:,}"
""",
    "str.format and percent": """
def result():
    return "{:.2f} {} {name:>5}".format(1.234, "b", name="x"), "%s %.1f" % ("a", 2.0), "{0}{1}{0}".format(
        1, 2), "{:{w}d}".format(3, w=4)
""",
    "match": """
from dataclasses import dataclass
@dataclass
class Pt:
    x: int
    y: int
def f(v):
    match v:
        case 0: return "zero"
        case int() | float() as n if n < 0: return "neg"
        case [a, *_rest]: return a, _rest
        case {"k": q, **rest}: return q, rest
        case Pt(x=0, y=yy): return yy
        case Pt(a, b): return a, b
        case "s" | "t": return "str"
        case None: return "none"
        case _: return "other"
def result():
    return [f(v) for v in (0, -2, [1, 2, 3], {"k": 1, "z": 2}, Pt(0, 5), Pt(1, 2), "t", None, object)]
""",
    "star arguments": """
def f(*args, **kwargs):
    return args, kwargs
def result():
    a, *b, c = range(5)
    args, kw = [1, 2], {"z": 3}
    return f(*args, 9, **kw), (a, b, c), [*args, *b], {**kw, "y": 1}
""",
    "try": """
def f(x):
    try:
        y = 1 / x
    except ZeroDivisionError as error:
        return "div", str(error), type(error).__name__
    except (TypeError, ValueError):
        return "type"
    else:
        return y
    finally:
        log.append(x)
log = []
def result():
    return f(0), f("a"), f(2), log
""",
    "raise": """
class MyError(ValueError):
    pass
def result():
    out = []
    try:
        try:
            raise MyError("x")
        except MyError as e:
            raise RuntimeError("y") from e
    except RuntimeError as e:
        out.append(str(e))
    try:
        assert 1 == 2, "no"
    except AssertionError as e:
        out.append(str(e))
    return out
""",
    "errstate": """
import numpy as np
def result():
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.array([1.0, 0.0]) / np.array([0.0, 0.0])
    return np.isinf(q[0]), np.isnan(q[1])
""",
    "del and slices": """
def result():
    d = {"a": 1, "b": 2}
    del d["a"]
    x = list(range(10))
    del x[::2]
    return d, x[1:-1], x[::-1], 0 < len(x) <= 5 < 100, x[-1] if x else None
""",
    "matrix multiplication": """
import numpy as np
def result():
    a = np.arange(6.0).reshape(2, 3)
    k = a @ a.T
    k @= k
    return k.tolist(), a[:, 1:].tolist(), a[..., 0].tolist(), a[a > 2].tolist(), a[None].shape
""",
    "main block": """
def result():
    return 4
if __name__ == "__main__":
    import gymnasium
    env = gymnasium.make("CartPole-v1")
    open("x").read()
""",
    "type names": """
class Foo: pass
def result():
    x = Foo()
    return type(x).__name__, x.__class__.__name__, type(x) is Foo, type(1) == int, isinstance(Foo, type), (
        x.__class__ == Foo), type(x)() is not None
""",
    "imports": """
import numpy as np, math
import numpy.linalg as la
import numpy.random as npr
import collections.abc
from numpy import linalg, array as arr, random as rnd
from numpy.linalg import norm
from collections import deque, defaultdict, Counter, OrderedDict
from typing import Any, Callable, Dict, List, Tuple, Union, Sequence
from functools import lru_cache, partial, reduce, wraps, cached_property
from itertools import product, chain, accumulate, count, islice
from heapq import heappush, heappop
import heapq, bisect, operator, copy, statistics, fractions, decimal, string, json, cmath, numbers
import numpy
from math import pi, hypot
from numpy.typing import NDArray
Vec = NDArray[np.float64]
State = Tuple[int, Dict[str, List[float]]]
def result():
    @lru_cache(maxsize=None)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    def deco(f):
        @wraps(f)
        def inner(*a):
            return f(*a) + 1
        return inner
    @deco
    def named(x):
        return x
    h = []
    heappush(h, (2, "b")); heappush(h, (1, "a"))
    return (la.norm([3, 4]), norm(arr([3.0, 4.0])), fib(30), reduce(lambda a, b: a + b, [1, 2]), named(1),
            named.__name__, heappop(h), list(islice(count(2), 2)), partial(pow, 2)(3), json.loads(
            json.dumps({"a": [1.5]})), statistics.median([3, 1, 2]), fractions.Fraction(1, 3) * 3,
            str(decimal.Decimal("0.1") + 1), string.digits, cmath.sqrt(-1), bisect.bisect([1, 2], 1),
            operator.itemgetter(1)([5, 6]), operator.attrgetter("real")(2), isinstance(
            1, numbers.Integral), isinstance([], collections.abc.Sequence), Counter("aab")["a"],
            copy.deepcopy({"a": [1]}), numpy.pi == math.pi, list(accumulate([1, 2, 3])))
""",
    "optional imports": """
try:
    import numba
    HAVE = True
except ImportError:
    numba = None
    HAVE = False
def result():
    return HAVE
""",
    "warnings": """
import warnings
warnings.filterwarnings("ignore")
def result():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 1
""",
    "seeded randomness": """
import random
import numpy as np
def result():
    np.random.seed(3)
    random.seed(4)
    r = np.random.RandomState(7)
    g = np.random.default_rng(5)
    return (np.random.randn(3).tolist(), random.random(), r.uniform(), g.normal(size=2).tolist(),
            random.choice([1, 2, 3]), np.random.choice(5, 2).tolist(), random.Random(8).gauss(0, 1))
""",
    "variables named like refused builtins": """
def result():
    open = [(0, 0)]
    input = 3
    vars = {"a": 1}
    compile = lambda x: x
    return open.pop(), input, vars, compile(2)
""",
    "attributes named like guarded ones": """
class P:
    def __init__(self):
        self.obj = 1
        self.dump = 2
    def format(self, x):
        return x + self.obj
    def resize(self, n):
        self.obj += n
        return self.dump
def result():
    p = P()
    return p.format(2), p.resize(3), p.obj, getattr(p, "obj")
""",
    "numpy breadth": """
import numpy as np
def result():
    a = np.array([[4.0, 1.0], [2.0, 3.0]])
    w, v = np.linalg.eig(a)
    return (sorted(w.round(6).tolist()), np.linalg.solve(a, [1, 2]).round(6).tolist(), np.clip(a, 1, 2).tolist(),
            np.argmax(a), np.where(a > 2, 1, 0).tolist(), np.concatenate([a, a]).shape, a.mean(axis=0).tolist(),
            np.fft.fft([1, 0, 0, 0]).real.tolist(), np.polyfit([0, 1, 2], [0, 1, 4], 2).round(6).tolist(),
            np.random.default_rng(0).integers(0, 5, 3).tolist(), np.einsum("ij,j->i", a, [1, 1]).tolist(),
            np.interp(0.5, [0, 1], [0, 10]), np.vstack([a, a]).shape, np.outer([1, 2], [3]).tolist(),
            np.resize([1, 2], 4).tolist(), np.lib.stride_tricks.sliding_window_view([1, 2, 3], 2).tolist(),
            np.array(["a"]).tolist(), str(a), repr(np.float64(1.5)), np.newaxis is None, np.inf, a.T.tolist(),
            np.linspace(0, 1, 3).tolist(), np.meshgrid([1], [2])[0].tolist(), np.isclose(1, 1 + 1e-12),
            a.flatten().tolist(), a.copy().tolist(), a.astype(int).tolist(), a.dtype == np.float64, a.shape)
""",
    "clocks": """
import time
def result():
    a = time.time()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.01:
        pass
    time.sleep(5)
    return time.time() > a, isinstance(time.time_ns(), int)
""",
    "conditional definitions and chained calls": """
import math
FAST = True
if FAST:
    def gain(): return 2
else:
    def gain(): return 1
class P:
    if FAST:
        mode = "fast"
    for i in range(2):
        mode += str(i)
    table = [x * 2 for x in range(3)]
    class Inner:
        v = 5
    def set(self, **kw):
        for k, v in kw.items():
            setattr(self, k, v)
        return self
def result():
    p = P().set(a=1).set(b=2)
    return gain(), P.mode, P.table, P.Inner.v, p.a + p.b, (lambda: math.inf)() > 1
""",
    "scipy": """
import numpy as np
from scipy.optimize import minimize, linear_sum_assignment
from scipy.linalg import solve_continuous_are, expm
from scipy import signal, interpolate
import scipy.spatial
import scipy.optimize as opt
def result():
    a = np.array([[0.0, 1.0], [0.0, 0.0]]); b = np.array([[0.0], [1.0]])
    p = solve_continuous_are(a, b, np.eye(2), np.eye(1))
    m = minimize(lambda x: (x[0] - 1) ** 2, [0.0])
    return (p.round(6).tolist(), round(float(m.x[0]), 4), expm(a).tolist(), signal.butter(2, 0.5)[0].round(6).tolist(),
            float(interpolate.interp1d([0, 1], [0, 2])(0.5)), scipy.spatial.distance.cdist([[0, 0]], [[3, 4]]).tolist(),
            round(opt.brentq(lambda x: x - 0.25, 0, 1), 6), linear_sum_assignment([[1, 0], [0, 1]])[0].tolist())
""",
}
