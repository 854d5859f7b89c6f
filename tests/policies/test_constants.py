"""The numbers of a source that an optimizer may choose."""

import ast

import pytest

from promptpo.policies.constants import TunableError, range_of, tunable

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
