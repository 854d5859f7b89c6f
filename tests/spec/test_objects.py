"""An EnvSpec object where a spec is asked for."""

import dataclasses
import importlib
import sys

import pytest
from processes import python

from promptpo.errors import SpecError
from promptpo.spec import load_spec, prompt_parts
from promptpo.spec.loader import loaded_spec

#: A spec whose parts are classes that use super() and inherit, closures, decorated and partial.
PARTS = """import functools
import sys
import threading


class Base:
    speed = 1.0

    @property
    def there(self): return self.speed

    @staticmethod
    def still(): return 0

    def __new__(cls): return super().__new__(cls)


class Env(Base):
    @classmethod
    def build(cls): return super().__new__(cls)


def maker(speed):
    cells = {"self": None}

    def build(): return cells, speed
    cells["self"] = build
    return build


def named(function):
    @functools.wraps(function)
    def inner(*arguments): return function(*arguments)
    return inner


@named
def observe(raw, env): return raw


@functools.singledispatch
def chosen(raw): return raw


chain = float("nan")
for _ in range(3000):
    chain = [chain]
ODD = chain, chosen, threading.Lock(), np.random.default_rng(0), sys.modules[__name__]


@functools.lru_cache
def make(size, *parts): raise RuntimeError(size)
"""
MAKE = "make=functools.partial(make, 3, Env, Env.build, maker(2.0), *ODD),\n    observe=observe"
BODY = 'def make():\n    raise RuntimeError("never made in these tests")\n'


@pytest.fixture
def module(write_spec, tmp_path, monkeypatch):
    """The small spec, imported as any module is."""
    write_spec((BODY, PARTS), ("make=make", MAKE), name="slide_module.py")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("slide_module")
    del sys.modules["slide_module"]


def test_an_object_is_found_again_by_its_file_in_either_form(module, tmp_path):
    for ref in ("cartpole", "noise_world_board_1", "metaworld_reach"):
        spec, published = load_spec(ref), load_spec(ref, published=True)
        assert (loaded_spec(spec).ref, loaded_spec(spec).name) == (spec.ref, spec.name)
        assert loaded_spec(spec, published=True).ref == published.ref
        assert loaded_spec(published).ref == published.ref
    assert loaded_spec(module.SPEC).path == tmp_path / "slide_module.py"


def test_a_variant_is_refused_with_the_part_that_differs(module):
    for spec in (load_spec("cartpole"), module.SPEC):
        with pytest.raises(SpecError, match=r"horizon differs.*a file of its own"):
            loaded_spec(dataclasses.replace(load_spec(loaded_spec(spec).ref), horizon=7))


def test_a_spec_whose_file_has_changed_is_refused(module, tmp_path):
    file = tmp_path / "slide_module.py"
    text = file.read_text()
    for old, new, part in (
        ("-next_observation", "-2 * next_observation", "reward"),
        ("speed = 1.0", "speed = 1.5", "make"),
        ("return 0", "return 1", "make"),
        ("maker(2.0)", "maker(3.0)", "make"),
        ("low=-1.0", "low=-2.0", "observation"),
    ):
        file.write_text(text.replace(old, new))
        with pytest.raises(SpecError, match=rf"its {part} differs.*load it again"):
            loaded_spec(module.SPEC)


def test_a_spec_without_a_file_is_told_how_to_get_one(module):
    nowhere = dataclasses.replace(module.SPEC, name="slide")
    with pytest.raises(
        SpecError, match=r"^the EnvSpec 'slide' is the SPEC of no file.*%%writefile"
    ):
        loaded_spec(nowhere)


def test_an_object_gives_the_prompt_that_its_file_gives(write_spec, tmp_path):
    file = write_spec((BODY, PARTS), ("make=make", MAKE), name="my_task.py")
    package = tmp_path / "acme" / "tasks"
    package.mkdir(parents=True)
    for name in ("__init__.py", "../__init__.py", "chosen.py"):
        (package / name).write_text("from acme.tasks.slide import SPEC\n" * (name == "chosen.py"))
    (package / "slide.py").write_text(file.read_text().replace("Slide:", "In a package:"))
    uses = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from promptpo.spec import prompt_parts
from promptpo.spec.loader import loaded_spec
from acme.tasks.chosen import SPEC as inner
if __name__ == "__main__":
    for spec in (SPEC, inner):
        print(prompt_parts(loaded_spec(spec)).text)
"""
    wanted = [prompt_parts(load_spec(path)).text for path in (file, package / "slide.py")]
    assert [text.splitlines()[0] for text in wanted] == [
        "Slide: push a block along a line.",
        "In a package: push a block along a line.",
    ]
    for first in (
        file.read_text(),
        "from my_task import SPEC",
        "import my_task as m; SPEC = m.SPEC",
    ):
        done = run(tmp_path / "script.py", first + uses)
        assert (done.stdout, done.stderr) == ("\n".join([*wanted, ""]), "")


def run(path, text):
    path.write_text(text)
    return python(path)


def test_a_script_that_forgets_its_guard_is_an_error_of_one_line(write_spec):
    text = write_spec(name="script.py").read_text()
    call = "from promptpo.spec.loader import loaded_spec\nprint(loaded_spec(SPEC).name)"
    done = run(text_file := write_spec(name="script.py"), f"{text}\n{call}")
    last = done.stderr.splitlines()[-1]
    assert 'put the call under if __name__ == "__main__":' in last
    assert f"{text_file}:" in last
