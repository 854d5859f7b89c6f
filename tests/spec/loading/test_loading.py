"""Finding and importing specs, and the one line that says what is wrong with one."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from promptpo.spec import SpecError, load_spec, shipped_specs, standalone_source
from promptpo.spec.catalog import SHIPPED_FOLDER

ROOT = SHIPPED_FOLDER.parent


def failure(path: Path | str) -> str:
    """Return the message with which loading fails, checked to be one line."""
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def line_of(path: Path, text: str) -> int:
    """Return the number of the first line that contains a text."""
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_spec_file_is_loaded_with_name_title_and_description(write_spec):
    path = write_spec()
    spec = load_spec(path)
    assert (spec.name, spec.title) == ("slide", "Slide: push a block along a line.")
    assert spec.description == "The block starts at rest."
    assert spec.path == path
    assert spec.horizon == 50


def test_a_relative_path_and_a_string_are_accepted(write_spec, monkeypatch):
    path = write_spec()
    monkeypatch.chdir(path.parent)
    assert load_spec("slide.py").path == path


def test_an_edited_spec_is_loaded_anew(write_spec):
    assert load_spec(write_spec()).horizon == 50
    path = write_spec(("horizon=50", "horizon=60"), ("The block, before", "The block, ahead of"))
    assert load_spec(path).horizon == 60


@pytest.mark.parametrize("importing", ["from . import slide_helper", "import slide_helper"])
def test_a_module_beside_the_spec_can_be_imported(write_spec, tmp_path, importing):
    (tmp_path / "slide_helper.py").write_text("STEPS = 7\n")
    path = write_spec(
        ("import numpy as np", f"import numpy as np\n{importing}"),
        ("horizon=50", "horizon=slide_helper.STEPS"),
    )
    try:
        assert load_spec(path).horizon == 7
    finally:
        sys.modules.pop("slide_helper", None)


def test_helpers_of_equal_name_in_two_folders_do_not_clash(write_spec, tmp_path):
    path = write_spec(
        ("import numpy as np", "import numpy as np\nfrom . import helper"),
        ("horizon=50", "horizon=helper.STEPS"),
    )
    (tmp_path / "helper.py").write_text("STEPS = 7\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "slide.py").write_text(path.read_text())
    (other / "helper.py").write_text("STEPS = 8\n")
    assert (load_spec(path).horizon, load_spec(other / "slide.py").horizon) == (7, 8)


def test_shipped_specs_are_found_by_name_from_any_folder(tmp_path):
    code = "from promptpo.spec import load_spec; print(load_spec('cartpole').title)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith("CartPole: ")


def test_a_folder_named_env_specs_does_not_hide_the_shipped_ones(tmp_path):
    (tmp_path / "env_specs").mkdir()
    (tmp_path / "env_specs" / "__init__.py").write_text("")
    code = "from promptpo.spec import load_spec; print(load_spec('metaworld_reach').name)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "metaworld_reach"


def test_helpers_are_not_listed_as_specs():
    names = shipped_specs()
    assert names == sorted(names)
    assert {"cartpole", "metaworld_reach", "noise_world_board_1"} <= set(names)
    assert not {"__init__", "_metaworld", "family_metaworld"} & set(names)


def test_a_name_finds_the_file_of_that_name_in_the_current_folder(write_spec, monkeypatch):
    path = write_spec()
    monkeypatch.chdir(path.parent)
    spec = load_spec("slide")
    assert (spec.name, spec.path, spec.ref) == ("slide", path, str(path))
    assert load_spec("./slide").path == path


def test_a_shipped_name_is_the_shipped_spec_whatever_lies_in_the_current_folder(
    write_spec, monkeypatch
):
    monkeypatch.chdir(write_spec(name="cartpole.py").parent)
    assert load_spec("cartpole").path == SHIPPED_FOLDER / "cartpole.py"
    assert load_spec("cartpole.py").title.startswith("Slide")


def test_a_misspelt_name_is_answered_with_a_file_in_the_current_folder(write_spec, monkeypatch):
    monkeypatch.chdir(write_spec().parent)
    assert failure("slyde").endswith("did you mean slide.py?")


def test_a_misspelt_name_gets_the_nearest_shipped_names():
    message = failure("metaworld_reech")
    assert "no such spec;" in message
    assert "did you mean metaworld_reach" in message


def test_a_missing_file_is_named():
    assert failure("nowhere/thing.py").startswith("nowhere/thing.py: no such file; ")


def test_a_folder_is_refused(tmp_path):
    assert "is a folder" in failure(tmp_path)


def test_a_file_that_is_not_python_is_refused(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text("horizon: 5\n")
    assert "not a Python file" in failure(path)


def test_a_missing_package_gets_the_pip_command_and_the_line(write_spec):
    path = write_spec(("import numpy as np", "import numpy as np\nimport no_such_simulator.core"))
    line = line_of(path, "no_such_simulator")
    assert failure(path) == (
        f"{path}:{line}: the package 'no_such_simulator' is not installed; "
        "run: pip install 'no_such_simulator'"
    )


def test_a_missing_helper_is_told_apart_from_a_missing_package(write_spec):
    path = write_spec(("import numpy as np", "import numpy as np\nfrom ._tools import a"))
    assert "there is no module '_tools' beside this spec" in failure(path)


def test_a_syntax_error_has_its_line(write_spec):
    path = write_spec(("return abs(self.position)", "return abs(self.position"))
    assert failure(path).startswith(f"{path}:{line_of(path, 'abs(self')}: SyntaxError: ")


def test_an_exception_on_import_has_its_line(write_spec):
    path = write_spec(("ACTION = ", "LIMIT = 1 / 0\nACTION = "))
    expected = f"{path}:{line_of(path, '1 / 0')}: ZeroDivisionError: division by zero"
    assert failure(path) == expected


def test_a_spec_that_exits_on_import_does_not_end_the_program(write_spec):
    path = write_spec(("ACTION = ", "raise SystemExit('stop')\nACTION = "))
    assert "sys.exit('stop') was called" in failure(path)


def test_a_file_without_spec(write_spec):
    path = write_spec(("SPEC = ", "SPECIFICATION = "))
    assert "no SPEC in this file" in failure(path)


def test_a_spec_of_another_type(write_spec):
    path = write_spec(("SPEC = EnvSpec(", "SPEC = dict("))
    assert failure(path).startswith(f"{path}:{line_of(path, 'SPEC =')}: SPEC is a dict, not an ")


def test_a_missing_part_is_named_and_explained(write_spec):
    path = write_spec(("    reward=reward,\n", ""))
    message = failure(path)
    assert message.startswith(f"{path}:{line_of(path, 'SPEC =')}: EnvSpec lacks reward; add ")
    assert "reward(observation, action, next_observation)" in message


def test_an_unknown_part_gets_the_nearest_name(write_spec):
    path = write_spec(("horizon=50", "horizon=50, targt=3.0"))
    assert "no argument 'targt'; did you mean 'target'?" in failure(path)


def test_positional_arguments_are_refused(write_spec):
    path = write_spec(("make=make", "make"))
    assert "takes keyword arguments only" in failure(path)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("horizon=50", 'horizon="50"', "horizon must be a positive int, not str '50'"),
        ("horizon=50", "horizon=True", "horizon must be a positive int"),
        ("horizon=50", "horizon=0", "horizon must be a positive int, not int 0"),
        ("action=ACTION", "action=3", "action must be a text"),
        ("observation=Observation", "observation=3", "observation must be a class"),
        ("make=make", "make=3", "make must be a function called as make()"),
        ("reward=reward", "reward=None", "reward must be a function called as reward("),
        ("horizon=50", "horizon=50, observe=len", "observe must take the arguments of observe("),
        ("horizon=50", "horizon=50, target='x'", "target must be a finite number or None"),
        ("horizon=50", "horizon=50, references=[1]", "references must be a dict"),
        ("horizon=50", "horizon=50, withheld=('x')", "withheld must be a tuple of texts"),
        ("horizon=50", "horizon=50, deterministic=1", "deterministic must be True or False"),
        ("horizon=50", "horizon=50, policy_lifetime='run'", 'must be "episode" or "evaluation"'),
        ("horizon=50", "horizon=50, evaluation_episodes=1", "must be a whole number, 2 or more"),
        (
            "horizon=50",
            "horizon=50, new_life=3",
            "must be a function called as new_life(env, seed)",
        ),
        ("horizon=50", "horizon=50, reward_tolerance=-1", "reward_tolerance must be a number >= 0"),
        ("reward=reward", "reward=lambda a, b, c: 0.0", "must be written with class or def"),
    ],
)
def test_a_wrong_part_is_named_with_its_line(write_spec, old, new, problem):
    path = write_spec((old, new))
    message = failure(path)
    assert message.startswith(f"{path}:{line_of(path, new)}: ")
    assert problem in message


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('doc="0 in the middle")', 'doc="")\n    _speed: float = field()', "underscore"),
        ("markers: np.ndarray = field(shape=(2, 2), ", "markers: np.ndarray = field(", "its shape"),
        (
            "markers: np.ndarray = field(shape=(2, 2)",
            "markers: np.ndarray = field(shape=[2]",
            "its",
        ),
        ("contacts: int = field(", "contacts: str = field(", "must be annotated float, int, bool"),
        ("contacts: int = field(", "contacts: int = field(shape=(2,), ", "annotate it np.ndarray"),
        (
            'contacts: int = field(low=0, high=3, doc="how many corners touch")',
            "contacts: int = 0",
            "has no description; assign field(",
        ),
        ("high=3, doc", "high=(3, 4), doc", "high has 2 numbers, but needs 1"),
        (
            "field(shape=(2, 2), ",
            "field(shape=(2, 2), low=(1.0, 2.0, 3.0), ",
            "low has 3 numbers, but the field has 4, by its shape (2, 2)",
        ),
        (
            "field(shape=(2, 2), ",
            "field(shape=(2, 2), low=((1, 2), (3, 4)), ",
            "low has rows of numbers; write one number, or all of them in one row",
        ),
        ("low=0, high=3", "low=5, high=3", "low 5 is above high 3; exchange or correct them"),
        (
            "field(shape=(2, 2), ",
            "field(shape=(2, 2), low=0, high=(1, 1, -1, 1), ",
            "low 0 is above high -1 at element 2",
        ),
        ("low=0, high=3", "low='zero', high=3", "low must be a number or one per element"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(write_spec, old, new, problem):
    path = write_spec((old, new))
    message = failure(path)
    number, name = re.match(rf"{re.escape(str(path))}:(\d+): field '(\w+)'", message).groups()
    assert int(number) == line_of(path, f"    {name}: ")
    assert problem in message


def test_a_field_without_a_type_is_named_with_its_line(write_spec):
    path = write_spec(("contacts: int = field(", "contacts = field("))
    expected = f"{path}:{line_of(path, 'contacts =')}: field 'contacts' has no type; write contacts"
    assert failure(path).startswith(expected)


def test_a_constant_of_the_class_is_no_field(write_spec):
    path = write_spec(("    contacts: int", "    EDGE = 1.0\n    contacts: int"))
    assert "EDGE = 1.0" in standalone_source(load_spec(path).observation)


def test_bounds_may_be_numbers_of_numpy(write_spec):
    path = write_spec(("low=-1.0, high=1.0", "low=np.float32(-1), high=np.array([1.0])"))
    assert "range -1 to (1)" in standalone_source(load_spec(path).observation)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("(22.8, 0.5)", "['expert'] is a tuple (22.8, 0.5); write Reference(22.8, 0.5)"),
        ("'22'", "['expert'] is a str '22'; write a number, or Reference(mean_return, success"),
        ("None", "['expert'] is a NoneType None; write a number"),
        ("Reference('22')", "['expert'] has mean_return='22'; it must be a number"),
        ("Reference(22, 80)", "['expert'] has success_rate=80; it must be a number from 0 to 1"),
        (
            "Reference(22, deviation=-1)",
            "['expert'] has deviation=-1; it must be a number of 0 or more",
        ),
    ],
)
def test_a_wrong_reference_is_named_with_its_remedy(write_spec, value, problem):
    path = write_spec(
        ("EnvSpec, field", "EnvSpec, Reference, field"),
        ("horizon=50", f"horizon=50, references={{'random': 1.0, 'expert': {value}}}"),
    )
    message = failure(path)
    assert message.startswith(f"{path}:{line_of(path, 'horizon=50')}: references")
    assert problem in message


def test_an_observation_class_must_not_inherit(write_spec):
    path = write_spec(("class Observation:", "class Base: ...\n\n\nclass Observation(Base):"))
    assert "must not inherit: the model sees only this class" in failure(path)


def test_an_observation_class_must_not_have_its_own_init(write_spec):
    path = write_spec(("def distance(self)", "def __init__(self)"))
    assert failure(path).startswith(f"{path}:{line_of(path, '__init__')}: ")


def test_a_method_must_not_use_names_of_the_module(write_spec):
    path = write_spec(
        ("return abs(self.position)", "return LIMIT - abs(self.position)"),
        ("ACTION =", "LIMIT = 1.0\nACTION ="),
    )
    assert "class Observation uses 'LIMIT'" in failure(path)


def test_a_reward_must_not_use_names_that_the_model_does_not_see(write_spec):
    path = write_spec(
        ("return -next_observation.distance()", "return LIMIT - next_observation.distance()"),
        ("ACTION =", "LIMIT = 1.0\nACTION ="),
    )
    message = failure(path)
    assert message.startswith(f"{path}:{line_of(path, 'def reward')}: reward uses 'LIMIT'")
    assert "reward_helpers" in message


def test_a_reward_must_take_three_arguments(write_spec):
    path = write_spec(
        ("def reward(observation, action, next_observation)", "def reward(next_observation)")
    )
    message = failure(path)
    assert message.startswith(f"{path}:{line_of(path, 'def reward')}: ")
    assert "reward(observation, action, next_observation)" in message


def test_importing_a_shipped_spec_imports_no_simulator():
    code = """
        import sys
        from promptpo.spec import load_spec, prompt_parts, shipped_specs
        for name in shipped_specs():
            prompt_parts(load_spec(name))
            heavy = [m for m in ("gymnasium", "mujoco", "metaworld", "scipy") if m in sys.modules]
            assert not heavy, f"{name} imports {heavy}"
        print("none")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.stdout.strip() == "none", run.stderr


@pytest.mark.parametrize("hidden", ["\x1b", "\u202e", "\x0c"])
def test_a_spec_that_does_not_show_all_that_it_holds_is_refused_with_its_line(write_spec, hidden):
    path = write_spec(("ACTION =", f"# {hidden}\nACTION ="))
    line = path.read_text(encoding="utf-8").split("\n").index(f"# {hidden}") + 1
    message = failure(path)
    assert message.startswith(f"{path}:{line}: the control character U+{ord(hidden):04X}")


def test_a_text_of_a_spec_holds_no_control_character(write_spec):
    path = write_spec(("SPEC = EnvSpec(", 'SPEC = EnvSpec(title="a\\x1b[31m", '))
    assert "title must be a text without control characters" in failure(path)


def test_a_spec_whose_name_breaks_lines_is_to_be_renamed(write_spec):
    path = write_spec()
    odd = path.rename(path.with_name("a\nb.py"))
    assert "the file's name holds a control character" in failure(odd)
