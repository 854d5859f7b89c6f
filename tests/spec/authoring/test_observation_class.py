"""The observation class as policies see it: layout, standalone source, owned values."""

import ast
import math

import numpy as np
import pytest

from promptpo.spec import (
    field,
    layout,
    load_spec,
    observation_size,
    shipped_specs,
    standalone_source,
)


class Everything:
    """One field of every kind."""

    SCALE = 2.0

    speed: float = field(unit="m/s", low=0.0, high=3.0, doc="forward")
    count: int = field(low=0, high=9)
    touching: bool = field(doc="whether anything touches")
    position: np.ndarray = field(shape=(3,), unit="m", low=(-1.0, 0.0, 0.5), frame="world")
    grid: np.ndarray = field(shape=(2, 2))

    @property
    def doubled(self) -> float:
        """Twice the speed."""
        return self.SCALE * self.speed

    def norm(self, order: int = 2) -> float:
        """Length of the position."""
        return math.pow(sum(abs(self.position) ** order), 1 / order)


def build(observation: type, flat: np.ndarray):
    """Fill the class that the standalone source defines, with nothing else in reach."""
    space: dict = {}
    exec(standalone_source(observation), space)  # noqa: S102 - this is what is tested
    return space["Observation"](flat)


def test_fields_lie_in_order_without_gaps():
    places = [(item.name, item.kind, item.start, item.stop) for item in layout(Everything)]
    assert places == [
        ("speed", "float", 0, 1),
        ("count", "int", 1, 2),
        ("touching", "bool", 2, 3),
        ("position", "array", 3, 6),
        ("grid", "array", 6, 10),
    ]
    assert observation_size(Everything) == 10


def test_values_have_the_annotated_types():
    seen = build(Everything, np.arange(10.0))
    assert (seen.speed, seen.count, seen.touching) == (0.0, 1, True)
    assert [type(value) for value in (seen.speed, seen.count, seen.touching)] == [float, int, bool]
    assert seen.position.tolist() == [3.0, 4.0, 5.0]
    assert seen.grid.tolist() == [[6.0, 7.0], [8.0, 9.0]]


def test_arrays_are_owned_copies():
    flat = np.arange(10.0)
    seen = build(Everything, flat)
    for array in (seen.position, seen.grid):
        assert array.base is None
        array[:] = -1.0
    assert flat.tolist() == list(range(10))


def test_methods_properties_and_constants_come_along():
    seen = build(Everything, np.array([1.5, 0, 0, 3, 4, 0, 0, 0, 0, 0.0]))
    assert seen.doubled == 3.0
    assert seen.norm() == pytest.approx(5.0)


def test_the_standalone_source_imports_numpy_and_math_only():
    tree = ast.parse(standalone_source(Everything))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import math", "import numpy as np"]


def test_the_standalone_source_describes_every_field():
    source = standalone_source(Everything)
    assert "# float, m/s, range 0 to 3; forward\n        self.speed = " in source
    assert "# shape (3,), m, range (-1, 0, 0.5) to inf, frame world\n" in source
    assert '"""One field of every kind."""' in source


def test_a_class_of_another_name_keeps_it():
    space: dict = {}
    exec(standalone_source(Everything), space)  # noqa: S102 - this is what is tested
    assert space["Everything"] is space["Observation"]


@pytest.mark.parametrize("name", shipped_specs())
def test_every_number_of_a_shipped_observation_arrives(name):
    observation = load_spec(name).observation
    flat = np.random.default_rng(0).uniform(-1e6, 1e6, observation_size(observation))
    for item in layout(observation):
        if item.kind == "int":
            flat[item.slice] = np.rint(flat[item.slice])
        elif item.kind == "bool":
            flat[item.slice] = 1.0
    seen = build(observation, flat)
    values = [np.ravel(getattr(seen, item.name)) for item in layout(observation)]
    np.testing.assert_array_equal(np.concatenate(values), flat)
