"""The numbers of a source that an optimizer may choose."""

import ast
import math
from types import SimpleNamespace

import numpy as np
import pytest

from promptpo.policies import Actions
from promptpo.policies.constants import (
    Scale,
    TunableError,
    range_of,
    scales_of,
    tunable,
    with_ranges_of,
)
from promptpo.spec import field

SOURCE = '''\
import numpy as np

LIMIT = 2.5  # N m
ROWS = 3


class Policy:
    """A tuned one."""

    GAINS = np.array([1.0, -0.5])
    LOW, HIGH = 0.1, 0.9
    WAIT = 12

    def __init__(self):
        self.kp = 4.0
        self.step = 0
        self.table = {"near": 0.2, "far": 0.7}

    def act(self, obs, speed=1.5):
        self.step += 1
        return self.kp * LIMIT if self.step > self.WAIT else self.GAINS[ROWS % 2]
'''


def names(source, **options):
    return [c.name for c in tunable(source, **options).constants]


def values(source, **options):
    return [c.value for c in tunable(source, **options).constants]


def test_constants_of_module_class_init_and_defaults_are_found_in_order_if_asked_for():
    assert names(SOURCE, auto=True) == [
        "LIMIT", "Policy.GAINS[0]", "Policy.GAINS[1]", "Policy.LOW", "Policy.HIGH", "Policy.WAIT",
        "self.kp", "self.table['near']", "self.table['far']", "act(speed)",
    ]  # fmt: skip

    assert names(SOURCE) == []


@pytest.mark.parametrize(
    "use", ["x[{}]", "range({})", "np.zeros({})", "x % {}", "mode == {}", "np.sum(x, axis={})"]
)
def test_numbers_that_say_which_or_how_many_are_left_alone(use):
    assert names(f"N = 5\nM = 5\n\ndef f(x, mode):\n    return {use.format('N')}, 1.0 * M\n",
                 auto=True) == ["M"]  # fmt: skip


def test_whole_numbers_that_nothing_reckons_with_and_state_are_left_alone():
    assert names("LEFT = 7\nFAR = 7\nx = y > FAR\n", auto=True) == ["FAR"]

    source = "class Policy:\n    def __init__(self):\n        self.v = 0.5\n        self.w = 0.5\n"
    source += "    def act(self, obs):\n        self.v = obs\n        self.w[0] = 1\n"
    assert names(source, auto=True) == []

    assert names(f"A = 1.5\nA{'[0]' * 60} = 1\n", auto=True) == []


@pytest.mark.parametrize(
    ("value", "bounds"), [(3.0, (1.0, 9.0)), (-3.0, (-9.0, -1.0)), (0.0, (-1.0, 1.0))]
)
def test_a_range_goes_by_magnitude_and_sign(value, bounds):
    assert range_of(value) == bounds


ACTING = """\
import numpy as np

LIMIT = 26.4

class Policy:
    def act(self, obs):
        t, hour = obs.temp, float(obs.hour)
        self.i = 0.9 * self.i + (t - 24.5) / 12
        if t > 26 or 7 < hour < 19.5:
            out = self.helper(obs, 3.5)
        elif obs.loads[2] > 0.85 and len(self.q) > 5 and self.mode == 3:
            out = 2 * np.pi * 0.3
        else:
            out = round(obs.temp - LIMIT, 3) * self.i ** 1.5 + 1e-9
        for k in range(7):
            out += 0.05 * self.table[k + 4]
        return np.array([np.clip(out, -1.0, 1.0), f"{out:.3f}", -5.5])

    def helper(self, o, g=0.7):
        return g * max(o.temp, 18.0) + (o.angle > 0)

    def reset(self):
        self.i = 0.25
"""
SCALES = {
    "temp": Scale(10.0, 50.0, 10.0, zero=False), "hour": Scale(0.0, 24.0, 6.0),
    "loads": Scale(0.0, 1.0, 0.25), "angle": Scale(-3.0, 3.0, 1.5),
}  # fmt: skip


def test_numbers_within_functions_are_found_and_ranges_go_by_the_fields_beside_them():
    found = tunable(ACTING, auto=True, scales=SCALES)
    rows = [(c.line, c.value, round(c.low, 3), round(c.high, 3)) for c in found.constants]
    assert rows == [
        (3, 26.4, 16.4, 36.4),  # also where it has a name
        (8, 0.9, 0.3, 2.7), (8, 24.5, 14.5, 34.5), (8, 12, 4, 36),
        (9, 26, 16, 36), (9, 7, 1, 13), (9, 19.5, 13.5, 24),
        (10, 3.5, 1.167, 10.5), (11, 0.85, 0.6, 1), (12, 0.3, 0.1, 0.9),
        (16, 0.05, 0.017, 0.15), (17, -5.5, -16.5, -1.833),
        (19, 0.7, 0.233, 2.1), (20, 18.0, 10, 28), (20, 0, -1.5, 1.5),
    ]  # fmt: skip
    names = {c.line: c.name for c in found.constants}
    assert names[16] == "act: out += _ * self.tabl..."
    assert [c.value for c in found.constants if c.integer] == [12]
    new = found.written([c.high for c in found.constants])
    assert "if t > 36 or 13.0 < hour < 24.0:  # was 26, 7, 19.5" in new.replace("36.0", "36")
    again = with_ranges_of(new, found).constants
    assert [(c.line, c.low, c.high) for c in again] == [
        (c.line, c.low, c.high) for c in found.constants
    ]
    assert [c.name for c in tunable(ACTING, auto=True).constants] == ["LIMIT", "helper(g)"]


@pytest.mark.parametrize(
    ("scale", "value", "ends"),
    [
        (Scale(10, 45, 8.75), 26.4, (17.65, 35.15)),
        (Scale(-3, 3, 1.5), 0.3, (0.1, 0.9)),  # a magnitude: narrower
        (Scale(-20, 60, 20, zero=False), 0.5, (-19.5, 20.5)),  # a temperature: none
        (Scale(0, 1, 0.25), 0.9, (0.65, 1)),
        (Scale(10, 45, 8.75), 0.5, None),  # a margin, and no place on the scale
        (Scale(-math.inf, math.inf, 10, zero=False), 26.4, (16.4, 36.4)),
    ],
)
def test_a_scale_gives_the_narrower_range_within_its_bounds(scale, value, ends):
    assert scale.range_of(value) == (ends and pytest.approx(ends))


def test_scales_are_of_fields_with_bounds_or_of_temperatures():
    class Seen:
        """A room."""

        temp: float = field(unit="°C", doc="of the air")
        loads: np.ndarray = field(shape=(2,), low=0.0, high=[1.0, 2.0], doc="of two machines")
        speed: float = field(unit="m/s", doc="no bounds")
        count: int = field(low=0, high=8, doc="machines")

    actions = Actions((3,), low=(14.0, 0.0, -math.inf), high=(28.0, 1.0, math.inf))
    scales = scales_of(SimpleNamespace(observation=Seen), actions)
    assert scales == {
        "action[0]": Scale(14.0, 28.0, 14.0, zero=False),
        "action[1]": Scale(0.0, 1.0, 1.0, zero=False),
        "temp": Scale(-math.inf, math.inf, 10.0, zero=False), "loads": Scale(0.0, 2.0, 0.5),
        "count": Scale(0.0, 8.0, 2.0, whole=True),
    }  # fmt: skip


@pytest.mark.parametrize(
    "action",
    ["[22.5, 1]", "np.array([22.5, 1], dtype=float)", "(22.5 if obs.x > 3.0 else x, 1)"],
)
def test_a_number_that_is_returned_takes_the_bounds_of_the_action(action):
    scales = {f"action[{i}]": Scale(low, high, high - low, zero=False)
              for i, (low, high) in enumerate([(14.0, 28.0), (0.0, 1.0)])}  # fmt: skip
    source = f"class Policy:\n    def act(self, obs):\n        return {action}\n"
    found = [c for c in tunable(source, auto=True, scales=scales).constants if c.value != 3.0]
    assert [(c.value, c.low, c.high, c.integer) for c in found] == [
        (22.5, 14.0, 28.0, False), (1, 0.0, 1.0, False),
    ]  # fmt: skip
    beyond = tunable(source.replace("22.5", "40.0"), auto=True, scales=scales).constants
    assert 40.0 * 3 in [c.high for c in beyond]  # it is clipped: by its magnitude, as others are


def test_a_declaration_says_the_range_and_leaves_a_plain_value():
    found = tunable("kp = tunable(1.5, 0.1, 10, log=True)\nkd = 2.0\n")
    assert found.source == "kp = 1.5\nkd = 2.0\n"
    (kp,) = found.constants
    assert (kp.name, kp.value, kp.low, kp.high, kp.log, kp.declared) == (
        "kp", 1.5, 0.1, 10, True, True,
    )  # fmt: skip


def test_arrays_and_whole_numbers_are_declared_too():
    source = "import numpy as np\n\nclass Policy:\n"
    source += "    A = np.array(tunable([1.0, 2.0], 0, [4, 8]))\n    N = tunable(5, 1, 9)\n"
    source += "    def __init__(self, k=tunable(0.5, 0.0, 1.0)):\n        self.k = k\n"
    found = tunable(source)
    assert [(c.name, c.value, c.high, c.integer) for c in found.constants] == [
        ("Policy.A[0]", 1.0, 4, False), ("Policy.A[1]", 2.0, 8, False),
        ("Policy.N", 5, 9, True), ("__init__(k)", 0.5, 1.0, False),
    ]  # fmt: skip
    assert "tunable" not in found.source
    assert ast.parse(found.source)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("kp = tunable(5, 0, 1)", "line 1: tunable(value, low, high): 5 is not from 0 to 1"),
        ("kp = tunable(x, 0, 1)", "numbers, written out"),
        ("kp = tunable(1.0, 0, 2, log=True)", "begins above 0"),
        ("kp = tunable(1.0)", "bounds are missing"),
        ("kp = tunable(1.0, 0, 2, step=1)", "step is not known to it"),
        ("kp = tunable(1.0, 0, 2, log=1)", "log is True or False"),
        ("kp = tunable()", "the value comes first"),
        ("kp = tunable(*x)", "bounds are missing"),
        ("def act(o):\n    return tunable(1.0, 0, 2)", "line 2: tunable stands for a constant"),
        ("kp = 2 * tunable(1.0, 0, 2)", "and nowhere else"),
        (f"kp = tunable(0x{'f' * 400}, 0, 1)", "numbers, written out, from -1e+100 to 1e+100"),
        ("kp = tunable(1.0, -1e999, 1e999)", "numbers, written out, from -1e+100 to 1e+100"),
        ("kp = tunable(1.0, -1.7e308, 1.7e308)", "numbers, written out, from -1e+100 to 1e+100"),
        ("kp = tunable(1e-150, 1e-200, 1, log=True)", "begins at 1e-100 or more, not at 1e-200"),
        (
            f"kp = tunable(1{'0' * 17}, 1{'0' * 17}, 1{'0' * 16}1, log=True)",
            "there is nothing to choose",
        ),
        (f"kp = tunable([{'1.5, ' * 1001}], 0, 3)", "a program declares at most 1,000 numbers"),
        ("def tunable(*a):\n    return a[0]", "not to be defined"),
    ],
)
def test_a_wrong_declaration_is_one_line_that_says_what_to_write(source, why):
    with pytest.raises(TunableError) as refused:
        tunable(source)
    assert why in str(refused.value)
    assert str(refused.value).endswith("write for example kp = tunable(1.5, 0.1, 10, log=True)")
    assert "\n" not in str(refused.value)


def test_values_are_written_in_place_and_the_old_ones_beside_them():
    found = tunable(SOURCE, auto=True)
    new = found.written([3.14159265, 1.0, -0.25, *values(SOURCE, auto=True)[3:]])
    lines = new.splitlines()
    assert lines[2] == "LIMIT = 3.14159  # N m; was 2.5"
    assert lines[9] == "    GAINS = np.array([1.0, -0.25])  # was -0.5"
    assert len(lines) == len(SOURCE.splitlines())
    again = tunable(new, auto=True)
    assert [c.name for c in again.constants] == [c.name for c in found.constants]
    assert again.written([2.0, *values(new, auto=True)[1:]]).splitlines()[2] == (
        "LIMIT = 2.0  # N m; was 3.14159"
    )

    assert tunable(SOURCE, auto=True).written(values(SOURCE, auto=True)) == SOURCE

    found = tunable("a = {'größe': 1.5, '高': 2.5}  # höhe\n", auto=True)
    assert found.written([3.0, 5.0]) == "a = {'größe': 3.0, '高': 5.0}  # höhe; was 1.5, 2.5\n"


def test_a_place_is_where_the_plain_source_has_the_number_and_lines_are_python_s():
    source = "é = tunable(1.5, 0, 3); b = tunable(-2.5,\n   -3, 0); c = 7.25\n"
    found = tunable(source, auto=True)
    lines = [line.encode() for line in found.source.splitlines()]
    for constant in found.constants:
        line, column, _, end, whole = constant.place
        assert float(lines[line - 1][column:end]) == constant.value
        assert not whole
    assert [c.value for c in found.constants] == [1.5, -2.5, 7.25]

    source = 'A = "\x0c\x1c\u2028"\r\nB = 2.5\rC = 3.5\n'
    found = tunable(source, auto=True)
    assert [(c.name, c.line, c.literal.value) for c in found.constants] == [
        ("B", 2, 2.5), ("C", 3, 3.5),
    ]  # fmt: skip
    assert found.written((4.5, 3.5)) == source.replace("2.5", "4.5  # was 2.5")

    source = "A = 1.5; B = '''\nx'''\nC = 2.5 + \\\n    1\nD = [\n    1.5,\n    2.5]\n"
    found = tunable(source, auto=True)
    new = found.written([2 * c.value for c in found.constants])
    assert ast.literal_eval(new.split("D = ")[1].replace("# was 1.5", "").replace("# was 2.5", "")
                            ) == [3.0, 5.0]  # fmt: skip
    assert new.startswith("A = 3.0; B = '''\n")


def test_of_very_many_numbers_the_first_are_found_and_none_beyond_all_reckoning():
    found = names("A = [" + "1.5, " * 3000 + "]\nB = 1.5\n", auto=True)
    assert found == [f"A[{i}]" for i in range(1000)]

    source = f"A = 1e999\nB = 0x{'f' * 400}\nC = 1e100\nD = {{0x{'f' * 5000}: 2.5}}\nE = -1e308\n"
    assert values(source, auto=True) == [2.5]

    with pytest.raises(SyntaxError, match="too deeply"):
        tunable(f"A = {'-' * 50_000}1\n", auto=True)
