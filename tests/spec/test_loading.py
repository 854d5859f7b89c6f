"""Finding and importing specs, and the one line for each thing that is wrong with one."""

import codecs
import re
import sys

import pytest

from promptpo.errors import UsageError
from promptpo.export.policy_file import PolicyFile
from promptpo.spec import load_spec, prompt_parts, shipped_specs, spec_text, standalone_source
from promptpo.spec.catalog import SHIPPED_FOLDER

ACCENT = "\n# caf\u00e9\n"
IMPORT = "import numpy as np"


def line_of(path, text):
    """Return the number of the first line that contains a text."""
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def cases(table):
    """Return the cells of a table's lines, parted by bars."""
    return [[cell.strip() for cell in line.split(" | ")] for line in table.strip().splitlines()]


def test_a_spec_file_is_loaded_with_name_title_and_description(write_spec, monkeypatch):
    path = write_spec()
    spec = load_spec(path)
    assert (spec.name, spec.title) == ("slide", "Slide: push a block along a line.")
    assert spec.description == "The block starts at rest."
    assert (spec.path, spec.ref, spec.horizon) == (path, str(path), 50)
    monkeypatch.chdir(path.parent)
    for ref in ("slide.py", "slide", "./slide"):
        assert (load_spec(ref).name, load_spec(ref).path) == ("slide", path)


def test_an_edited_spec_is_loaded_anew(write_spec):
    first = load_spec(write_spec())
    before = prompt_parts(first)
    path = write_spec(("horizon=50", "horizon=60"), ("The block, before", "The block, ahead of"))
    assert load_spec(path).horizon == 60
    assert prompt_parts(first) == before


def test_a_module_beside_the_spec_can_be_imported_and_clashes_with_no_other(write_spec, tmp_path):
    for importing in ("from . import slide_helper", "import slide_helper"):
        path = write_spec(
            (IMPORT, f"{IMPORT}\n{importing}"), ("horizon=50", "horizon=slide_helper.STEPS")
        )
        (tmp_path / "slide_helper.py").write_text("STEPS = 7\n")
        try:
            assert load_spec(path).horizon == 7
        finally:
            sys.modules.pop("slide_helper", None)
        if importing.startswith("from"):
            other = tmp_path / "other"
            other.mkdir()
            (other / "slide.py").write_text(path.read_text())
            (other / "slide_helper.py").write_text("STEPS = 8\n")
            assert (load_spec(path).horizon, load_spec(other / "slide.py").horizon) == (7, 8)


def test_shipped_specs_are_found_by_name_whatever_lies_in_the_current_folder(
    write_spec, monkeypatch, tmp_path, new_process
):
    names = shipped_specs()
    assert names == sorted(names)
    assert {"cartpole", "metaworld_reach", "noise_world_board_1"} <= set(names)
    assert not {"__init__", "_metaworld", "family_metaworld"} & set(names)
    (tmp_path / "env_specs").mkdir()
    (tmp_path / "env_specs" / "__init__.py").write_text("")
    code = "from promptpo.spec import load_spec; print(load_spec('metaworld_reach').name)"
    assert new_process(code, cwd=tmp_path, first=tmp_path) == "metaworld_reach\n"
    monkeypatch.chdir(write_spec(name="cartpole.py").parent)
    assert load_spec("cartpole").path == SHIPPED_FOLDER / "cartpole.py"
    assert load_spec("cartpole.py").title.startswith("Slide")


def test_importing_a_shipped_spec_imports_no_simulator(new_process):
    code = """
import sys
from promptpo.spec import load_spec, prompt_parts, shipped_specs
for name in shipped_specs():
    prompt_parts(load_spec(name))
    heavy = [m for m in ("gymnasium", "mujoco", "metaworld", "scipy") if m in sys.modules]
    assert not heavy, f"{name} imports {heavy}"
"""
    assert new_process(code) == ""


def test_what_is_no_spec_is_answered_with_what_is_perhaps_meant(
    write_spec, failure, monkeypatch, tmp_path
):
    monkeypatch.chdir(write_spec().parent)
    (tmp_path / "spec.yaml").write_text("horizon: 5\n")
    for ref, words in {
        "slyde": "did you mean slide.py?",
        "metaworld_reech": "metaworld_reech: no such spec; did you mean metaworld_reach",
        "nowhere/thing.py": "nowhere/thing.py: no such file; ",
        ".": "is a folder",
        "spec.yaml": "not a Python file",
    }.items():
        assert words in failure(ref)


# --- What a spec file may do wrong ----------------------------------------------------------------

#: Text of the small spec | text in its place | the error behind file and line of that text.
WRONG = """
import numpy as np | import no_such_simulator.core as np | the package 'no_such_simulator' is not installed; run: pip install 'no_such_simulator'
import numpy as np | from ._tools import np | there is no module '_tools' beside this spec
return abs(self.position) | return abs(self.position | SyntaxError: '(' was never closed; correct
ACTION = | ACTION = 1 / 0, | ZeroDivisionError: division by zero
ACTION = | raise SystemExit('stop') # | sys.exit('stop') was called
SPEC = EnvSpec( | SPEC = dict( | SPEC is a dict, not an EnvSpec; write SPEC = EnvSpec(
horizon=50 | horizon="50" | horizon must be a positive int, not str '50'
horizon=50 | horizon=True | horizon must be a positive int
horizon=50 | horizon=0 | horizon must be a positive int, not int 0
horizon=50 | horizon=10**30 | horizon must be 1000000000 at most
action=ACTION | action=3 | action must be a text
observation=Observation | observation=3 | observation must be a class
make=make | make=3 | make must be a function called as make()
reward=reward | reward=None | reward must be a function called as reward(
reward=reward | reward=lambda a, b, c: 0.0 | <lambda> must be written with class or def
horizon=50 | horizon=50, observe=len | observe must take the arguments of observe(
horizon=50 | horizon=50, new_life=3 | new_life must be a function called as new_life(env, seed)
horizon=50 | horizon=50, target='x' | target must be a finite number or None
horizon=50 | horizon=50, references=[1] | references must be a dict
horizon=50 | horizon=50, withheld=('x') | withheld must be a tuple of texts
horizon=50 | horizon=50, deterministic=1 | deterministic must be True or False
horizon=50 | horizon=50, policy_lifetime='run' | policy_lifetime must be "episode" or "evaluation"
horizon=50 | horizon=50, evaluation_episodes=1 | evaluation_episodes must be a whole number, 2 or
horizon=50 | horizon=50, reward_tolerance=-1 | reward_tolerance must be a number >= 0
horizon=50 | horizon=50, name='../up' | name must be letters, digits
horizon=50 | horizon=50, title=5 | title must be a text, or left out
horizon=50 | horizon=50, title="a\\x1b[31m" | title must be a text without control characters
horizon=50 | horizon=50, facts=3 | facts must be a text, not int 3
horizon=50 | horizon=50, references={'expert': (22.8, 0.5)} | references['expert'] is a tuple (22.8, 0.5); write Reference(22.8, 0.5)
horizon=50 | horizon=50, references={'expert': '22'} | references['expert'] is a str '22'; write a number, or Reference(mean_return, success_rate)
horizon=50 | horizon=50, references={'expert': None} | references['expert'] is a NoneType None; write a number
horizon=50 | horizon=50, references={'expert': Reference('22')} | references['expert'] has mean_return='22'; it must be a number
horizon=50 | horizon=50, references={'expert': Reference(22, 80)} | references['expert'] has success_rate=80; it must be a number from 0 to 1
horizon=50 | horizon=50, references={'expert': Reference(22, deviation=-1)} | references['expert'] has deviation=-1; it must be a number of 0 or more
doc="0 in the middle") | doc="");     _speed: float = field() | field '_speed' starts with an underscore
field(shape=(2, 2), | field( | field 'markers' is an array and needs its shape
field(shape=(2, 2), | field(shape=[2], | field 'markers' is an array and needs its shape
contacts: int = field( | contacts: str = field( | field 'contacts' must be annotated float, int, bool
contacts: int = field( | contacts: int = field(shape=(2,), | field 'contacts' has shape (2,) but is annotated int; annotate it np.ndarray
contacts: int = field(low=0, high=3, doc="how many corners touch") | contacts: int = 0 | field 'contacts' has no description; assign field(
contacts: int = field( | contacts = field( | field 'contacts' has no type; write contacts
high=3, doc | high=(3, 4), doc | field 'contacts': high has 2 numbers, but needs 1
field(shape=(2, 2), | field(shape=(2, 2), low=(1.0, 2.0, 3.0), | field 'markers': low has 3 numbers, but the field has 4, by its shape (2, 2)
field(shape=(2, 2), | field(shape=(2, 2), low=((1, 2), (3, 4)), | field 'markers': low has rows of numbers; write one number, or all of them in one row
low=0, high=3 | low=5, high=3 | field 'contacts': low 5 is above high 3; exchange or correct them
field(shape=(2, 2), | field(shape=(2, 2), low=0, high=(1, 1, -1, 1), | field 'markers': low 0 is above high -1 at element 2
low=0, high=3 | low='zero', high=3 | field 'contacts': low must be a number or one per element
low=-1.0 | low=float('nan') | field 'position': low is no number; leave it out
unit="m", low=-1.0 | unit=5, low=-1.0 | field 'position': unit must be a text, not int 5
doc="0 in the middle" | doc=None | field 'position': doc must be a text, not NoneType None
def distance(self) | def __init__(self) | an observation class gets its __init__ from promptpo
def reward(observation, action, next_observation) | def reward(next_observation) | reward must take the arguments of reward(observation, action, next_observation)
"""  # noqa: E501 - a line a case


def test_what_is_wrong_is_named_with_its_line(write_spec, failure):
    reference = ("EnvSpec, field", "EnvSpec, Reference, field")
    for old, new, problem in cases(WRONG):
        text = new.replace(";     ", "\n    ")
        path = write_spec((old, text), reference)
        field = re.match(r"field '(\w+)'", problem)
        expected = f"{path}:{line_of(path, f'    {field[1]}' if field else text)}: {problem}"
        assert failure(path).startswith(expected), new


#: As above; the error is somewhere in the line, which names the file.
ELSEWHERE = """
SPEC = EnvSpec( | SPECIFICATION = EnvSpec( | no SPEC in this file
    reward=reward, |  | EnvSpec lacks reward; add reward=...: ``reward(observation, action, next_observation)
horizon=50 | horizon=50, targt=3.0 | EnvSpec has no argument 'targt'; did you mean 'target'?
make=make | make | EnvSpec takes keyword arguments only
import numpy as np | import numpy as np; __doc__ = 5 | __doc__ is a int
return abs(self.position) | return SPEC - abs(self.position) | class Observation uses 'SPEC'
return -next_observation.distance() | return SPEC - next_observation.distance() | reward uses 'SPEC', which the model would not see; define it inside the function, or list a helper function in reward_helpers
class Observation: | class Base: ...;class Observation(Base): | must not inherit: the model sees only this class
"""  # noqa: E501


def test_what_is_wrong_elsewhere_is_named(write_spec, failure):
    for old, new, problem in cases(ELSEWHERE):
        path = write_spec((old, new.replace("...;", "...\n\n\n")))
        message = failure(path)
        assert message.startswith(str(path))
        assert problem in message


def test_constants_and_bounds_of_numpy_are_accepted(write_spec):
    path = write_spec(
        ("    contacts: int", "    EDGE = 1.0\n    contacts: int"),
        ("low=-1.0, high=1.0", "low=np.float32(-1), high=np.array([1.0])"),
    )
    source = standalone_source(load_spec(path).observation)
    assert "EDGE = 1.0" in source
    assert "range -1 to (1)" in source


# --- Files ----------------------------------------------------------------------------------------


def test_a_spec_that_does_not_show_all_that_it_holds_is_refused(write_spec, failure):
    for hidden in ("\x1b", "\u202e", "\x0c"):
        path = write_spec(("ACTION =", f"# {hidden}\nACTION ="))
        line = path.read_text(encoding="utf-8").split("\n").index(f"# {hidden}") + 1
        expected = f"{path}:{line}: the control character U+{ord(hidden):04X}"
        assert failure(path).startswith(expected)
    odd = write_spec().rename(path.with_name("a\nb.py"))
    assert "the file's name holds a control character" in failure(odd)


def test_files_that_python_reads_are_read(write_spec):
    path = write_spec()
    text, expected = path.read_text(), prompt_parts(load_spec(path))
    for content, end in (
        (codecs.BOM_UTF8 + text.encode(), ")\n"),
        (text.replace("\n", "\r\n").encode(), ")\n"),
        (("# coding: latin-1\n" + text + ACCENT).encode("latin-1"), ACCENT),
    ):
        path.write_bytes(content)
        spec = load_spec(path)
        assert prompt_parts(spec) == expected
        assert spec_text(spec).endswith(end)


def test_a_file_that_is_no_text_is_named_with_its_line(write_spec, failure):
    path = write_spec()
    text = path.read_text()
    for content, words in (
        ((text + ACCENT).encode("latin-1"), "43: the byte 0xe9 is not UTF-8 (is the"),
        (text.encode("utf-16"), "1: the file is UTF-16; save it as UTF-8"),
        (text.encode("utf-16-le"), "1: a NUL byte; is this a text file"),
        (text.encode() + b"\0", "42: a NUL byte"),
        (b"# coding: klingon\n" + text.encode(), "1: unknown encoding: klingon; save"),
        (
            b"# coding: ascii\n" + (text + ACCENT).encode(),
            "44: the byte 0xc3 is not ascii, which the file says it is; save it as UTF-8",
        ),
    ):
        path.write_bytes(content)
        assert failure(path).startswith(f"{path}:{words}")
        with pytest.raises(UsageError, match=r"slide\.py:"):  # a policy's file is read alike
            PolicyFile.read(path)
    path = write_spec(("import numpy", "from . import helper\nimport numpy"))
    (path.parent / "helper.py").write_bytes(b"x = 1\ny = 2\0\n")
    assert failure(path).startswith(f"{path.parent}/helper.py:2: a NUL byte")


ENDINGS = {
    "import os; os._exit(3)": "os._exit(3) was called",
    "from os import _exit; _exit(3)": "os._exit(3) was called",
    "import sys; sys.exit(3)": "sys.exit(3) was called",
    "raise KeyboardInterrupt": "KeyboardInterrupt was raised",
    "E = type('E', (BaseException,), {'__str__': lambda self: 1 / 0}); raise E": "E",
    "import time; time.sleep(100)": "the import took longer than 0.3 s; import what is heavy inside"
    " make()",
}


def test_an_import_that_ends_or_holds_up_the_process_is_named(write_spec, failure):
    for statement, words in ENDINGS.items():
        path = write_spec(("ACTION = ", f"{statement}\nACTION = "))
        assert failure(path, limit=0.3).endswith(f": {words}")


def test_an_exit_that_was_imported_by_name_ends_the_process_later(write_spec, monkeypatch):
    monkeypatch.setattr("os._exit", lambda status: 1 / 0)
    path = write_spec(("ACTION = ", "from os import _exit as later\nACTION = "))
    module = sys.modules[load_spec(path).make.__module__]
    with pytest.raises(ZeroDivisionError):
        module.later(3)
