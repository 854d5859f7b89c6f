"""Programs made of attribute paths, aliases, imports, subclasses and hooks: none reaches a power.

The process layer is absent: what such a program holds at the end is looked through in this process.
"""

import signal
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reach import known, powers
from restricted import run_restricted

from sandbox.language import importable, names

PRELUDE = """
import abc, collections, copy, dataclasses, enum, fractions, functools, json, operator, typing
import numpy as np
kept = []
def f(*args, **kw):
    kept.append((args, kw))
    return args[0] if args else f
class S(str):
    def __str__(self): return "__class__"
    def __eq__(self, other): return True
    def __hash__(self): return 1
    def go(self): return super()
class A:
    x = 1
    def __call__(self, *args): return f(*args)
class P(abc.ABC):
    def go(self): return super()
@dataclasses.dataclass
class D:
    obj: object = None
    data: int = 0
class N(typing.NamedTuple):
    format: int = 1
class E(enum.Enum):
    X = 1
class W:
    def __enter__(self): return self
    def __exit__(self, *args): return bool(kept.append(args)) or True
def caught():
    try:
        [].nothing
    except AttributeError as error:
        return error
with W():
    caught().nothing
"""
ROOTS = """
np | typing | collections | functools | f | A | A() | P | P() | P().go() | S('{0}')
S('{0}').go() | '{0.__class__}' | str | caught() | AttributeError | W() | D | D() | D(np.zeros(2))
N() | N | E | E.X | print | getattr | type | super | object | list[int] | typing.List
typing.Type[int] | range | ''.format | np.zeros(2) | np.array([1, f], dtype=object) | np.ndarray
np.matrix([[1]]) | np.float64 | np.add | np.random | np.random.default_rng(1)
np.random.RandomState(1) | np.random.PCG64(1) | np.dtype('f8')
np.zeros(1, dtype=[('o', object)]) | property(f) | iter([1]) | [].append | (1).real
(i for i in [f]) | functools.partial(getattr, f) | functools.lru_cache(f)
functools.cached_property(f) | classmethod(f) | dataclasses.fields(D)[0] | dataclasses.field()
typing.NamedTuple | typing.TypeVar('T') | json.loads | typing.NewType('I', int) | abc.ABC
abc.ABCMeta | E.__members__ | collections.Counter('ab') | kept | fractions.Fraction(1, 2)
operator.attrgetter('x') | collections.namedtuple('Q', 'mro')(1) | np.mean
"""
NAMES = st.sampled_from(
    [
        *names.GUARDED,
        *names.words(
            "__class__ __dict__ __globals__ __mro__ __subclasses__ __self__ __func__ __wrapped__ "
            "__call__ __getattr__ __reduce_ex__ __code__ __module__ __builtins__ __new__ _x x T "
            "cast __array_interface__ gi_frame f_globals tb_frame cell_contents fget func attrname "
            "real "
            "ctypes setflags bit_generator args keywords"
        ),
    ]
)
PLAIN = NAMES.filter(lambda name: name[0] != "_" and name not in names.REFUSED_ATTRIBUTES)
SPELLINGS = """
getattr(x, '{0}') | getattr(x, S('{0}')) | operator.attrgetter('{0}')(x)
list(map(getattr, [x], ['{0}'])) | operator.methodcaller('{0}', x)(x) | '{{0.{0}}}'.format(x)
setattr(A, '{0}', x) | f(**{{'{0}': x}}) | np.vectorize(getattr, otypes=[object])(f, '{0}').item()
collections.namedtuple('R', ['{0}'])(x)
"""
USES = """
type(x) | x() | x(x) | x(1) | x(A) | x('X', (), {}) | x(None, {}) | x(f, ()) | x[0]
x['__class__'] | x[int] | type(x)(x) | type(x)(x, ()) | copy.copy(x) | copy.deepcopy(x)
functools.partial(x, A) | classmethod(x) | type(type(x)) | super(type(x), x)
dataclasses.dataclass(x) | functools.wraps(x)(f) | x.__init__()
functools.reduce(getattr, ['__class__', '__base__'], x) | abc.abstractmethod(x) | next(x) | dir(x)
np.asarray(x) | np.array([x], dtype=object) | json.dumps(x) | functools.update_wrapper(f, x)
typing.cast(x, x) | print(x, sep=S('x')) | np.frombuffer(x) | np.array([x], dtype=object).data
sorted([x, x]) | f'{x}' | functools.cached_property(x) | E(x) | list(x)
dataclasses.replace(x, data=f)
"""
BASES = names.words(
    "object str dict list tuple float Exception AttributeError bytes type np.ndarray np.matrix "
    "np.float64 np.random.RandomState np.random.Generator functools.partial "
    "functools.cached_property collections.UserDict collections.OrderedDict enum.Enum "
    "enum.Flag typing.NamedTuple typing.Any "
    "typing.Protocol typing.Generic abc.ABC A D N P property classmethod type(f) type(np) np E "
    "type(iter([])) typing.List[int] list[int] typing.Type[A]"
)
HOOKS = sorted(names.DEFINABLE) + list(
    names.words(
        "__get__ __set__ __set_name__ __getattr__ __getattribute__ __setattr__ __class_getitem__ "
        "__init_subclass__ __instancecheck__ __subclasshook__ __mro_entries__ __prepare__ __new__ "
        "__del__ __reduce__ __reduce_ex__ __deepcopy__ __copy__ __getstate__ __setstate__ "
        "__index__ __int__ __array__ __array_interface__ __array_struct__ __buffer__ __dir__ "
        "__class__ _missing_ __slots__ __dict__ _generate_next_value_ _ignore_ mro register "
        "attrname func capsule state"
    )
)
PARTS = st.sampled_from(
    [
        names.PREFIX + "lazy",
        *names.words(
            "numpy __getattr__ __globals__ linalg random os sys typing collections abc mean math "
            "pi OrderedDict _core __init__ builtins Counter __name__ real lib stride_tricks"
        ),
    ]
)
IMPORTS = [
    "import {0} as g",
    "from {0} import {1} as g",
    "try:\n    import {0} as g\nexcept ImportError:\n    g = None",
    "try:\n    from {0} import {1} as g\nexcept Exception:\n    g = None",
]


def alternatives(text):
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


class Late(BaseException):
    """An iterator of its own that never ends."""


def late(number, frame):
    raise Late


def held(source):
    """What the program of this source holds at the end."""
    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            namespace, _ = run_restricted(source)
    except (Exception, Late):
        return []
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return [namespace.get(name) for name in ("seen", "kept", "g")]


def tried(step):
    lines = ["try:", f"    x = {step}", "    seen.append(x)"]
    return "\n".join([*lines, "except Exception as error:", "    seen.append(error)\n"])


def walk(root, steps):
    return f"{PRELUDE}\nx = {root}\nseen = [x]\n" + "".join(map(tried, steps))


def subclass(bases, hooks, option, steps):
    lines = [f"@dataclasses.dataclass({option})"] if option is not None else []
    lines += [f"class X({', '.join(bases)}):", "    x: int = 0"]
    for hook, value in hooks:
        lines += [f"    def {hook}(self, *args, **kw):", "        kept.append((args, kw))"]
        lines += [f"        return {value}"]
    made = "\n    ".join([*lines, "x = X()"])
    tail = "except Exception as error:\n    x = X\nseen.append(x)\n" + "".join(map(tried, steps))
    return f"{PRELUDE}\nseen = []\nclass X: pass\ntry:\n    {made}\n{tail}"


STEPS = st.one_of(
    PLAIN.map(lambda name: f"x.{name}"),
    st.builds(str.format, st.sampled_from(alternatives(SPELLINGS)), NAMES),
    st.sampled_from(alternatives(USES)),
)
WALKS = st.builds(
    walk, st.sampled_from(alternatives(ROOTS)), st.lists(STEPS, min_size=1, max_size=6)
)
VALUES = st.sampled_from(["self", "args", "'__class__'", "S('x')", "1", "f", "kw", "print", "None"])
SUBCLASSES = st.builds(
    subclass,
    st.lists(st.sampled_from(BASES), min_size=1, max_size=2, unique=True),
    st.lists(st.tuples(st.sampled_from(HOOKS), VALUES), max_size=3),
    st.sampled_from([None, "", "repr=X()", "eq=1", "match_args=X()", "slots=True", "frozen=True"]),
    st.lists(STEPS, max_size=4),
)
PATHS = st.lists(PARTS, min_size=1, max_size=4).map(".".join)
IMPORTING = st.builds(str.format, st.sampled_from(IMPORTS), PATHS, PARTS)
KNOWN = known()


def assert_no_power(source):
    assert list(powers(held(source), depth=3, skip=KNOWN)) == []


QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(WALKS)
def test_walks(source):
    assert_no_power(source)


@QUICK
@given(SUBCLASSES)
def test_subclasses(source):
    assert_no_power(source)


@QUICK
@given(IMPORTING)
def test_imports(source):
    assert_no_power(source)


@pytest.mark.slow
@settings(QUICK, max_examples=300)
@given(st.one_of(WALKS, SUBCLASSES, IMPORTING))
def test_all_of_it_for_longer(source):
    assert_no_power(source)


def test_the_programs_do_something():
    for root in alternatives(ROOTS):
        assert len(held(walk(root, ["type(x)", "f(x)"]))) == 3


@pytest.mark.parametrize("deep", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_nothing_that_can_be_imported_leads_to_a_power(deep):
    modules = sorted(name for name in importable().modules if deep > 2 or "scipy" not in name)
    source = "".join(f"import {m} as m{i}\nkept.append(m{i})\n" for i, m in enumerate(modules))

    namespace, _ = run_restricted("kept = []\n" + source)

    assert list(powers(namespace["kept"], depth=deep)) == []
