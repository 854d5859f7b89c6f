"""An EnvSpec object where a spec is asked for."""

import dataclasses
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import promptpo
from promptpo.errors import SpecError
from promptpo.spec import load_spec, prompt_parts
from promptpo.spec.loader import loaded_spec

ROOT = Path(promptpo.__file__).parents[1]
CLASS = "def make():"


@pytest.fixture
def module(write_spec, tmp_path, monkeypatch):
    """The small spec, imported as any module is."""
    write_spec(name="slide_module.py")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("slide_module")
    del sys.modules["slide_module"]


@pytest.mark.parametrize("ref", ["cartpole", "noise_world_board_1", "metaworld_reach"])
def test_what_load_spec_returned_is_found_again(ref):
    spec = load_spec(ref)
    assert loaded_spec(spec).ref == spec.ref
    assert loaded_spec(spec).name == spec.name


def test_the_published_form_of_an_object_is_that_of_its_file():
    spec = load_spec("noise_world_board_1")
    published = load_spec("noise_world_board_1", published=True)
    assert loaded_spec(spec, published=True).ref == published.ref
    assert loaded_spec(published).ref == published.ref


def test_the_spec_of_an_imported_module_is_found_by_its_file(module, tmp_path):
    assert loaded_spec(module.SPEC).path == tmp_path / "slide_module.py"


def test_a_variant_is_refused_with_the_part_that_differs(module):
    for spec in (load_spec("cartpole"), module.SPEC):
        with pytest.raises(SpecError, match=r"horizon differs.*a file of its own"):
            loaded_spec(dataclasses.replace(load_spec(loaded_spec(spec).ref), horizon=7))


def test_a_spec_whose_file_has_changed_is_refused(module, tmp_path):
    file = tmp_path / "slide_module.py"
    file.write_text(file.read_text().replace("-next_observation", "-2 * next_observation"))
    with pytest.raises(SpecError, match=r"its reward differs.*load it again"):
        loaded_spec(module.SPEC)


def test_a_spec_without_a_file_is_told_how_to_get_one(module):
    nowhere = dataclasses.replace(module.SPEC, name="slide")
    with pytest.raises(
        SpecError, match=r"^the EnvSpec 'slide' is the SPEC of no file.*%%writefile"
    ):
        loaded_spec(nowhere)


#: Ways in which the parts of a spec are written, as replacements in the small one.
WAYS = {
    "as it stands": (),
    "super": ((CLASS, """class Env:
    def __init__(self):
        super().__init__()

    def reset(self):
        return super().__repr__()


def make():"""), ("make=make", "make=Env")),
    "inheritance": ((CLASS, """class Base:
    speed = 1.0

    @property
    def there(self): return self.speed

    @staticmethod
    def still(): return 0

    def __new__(cls): return super().__new__(cls)


class Env(Base):
    @classmethod
    def build(cls): return super().__new__(cls)


def make():"""), ("make=make", "make=Env.build")),
    "closure": ((CLASS, """def maker(speed):
    kept = {"self": None}

    def build(): return kept, speed
    kept["self"] = build
    return build


def make():"""), ("make=make", "make=maker(2.0)")),
    "decorator": ((CLASS, """import functools


def named(function):
    @functools.wraps(function)
    def inner(*arguments): return function(*arguments)
    return inner


@functools.lru_cache
def built(size): raise RuntimeError(size)


@named
def observe(raw, env): return raw


def make():"""), ("make=make", "make=functools.partial(built, 3),\n    observe=observe")),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_an_object_gives_the_prompt_that_its_file_gives(write_spec, tmp_path, way):
    file = write_spec(*WAYS[way], name="my_task.py")
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


def script(write_spec, last):
    path = write_spec(name="script.py")
    path.write_text(f"{path.read_text()}\nfrom promptpo.spec.loader import loaded_spec\n{last}")
    return run(path, path.read_text())


def run(path, text):
    path.write_text(text)
    return subprocess.run(
        [sys.executable, path], check=False, capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_a_script_may_use_the_spec_that_it_defines(write_spec):
    done = script(write_spec, "if __name__ == '__main__':\n    print(loaded_spec(SPEC).name)")
    assert (done.stdout, done.stderr) == ("script\n", "")


def test_a_script_that_forgets_its_guard_is_told(write_spec):
    done = script(write_spec, "print(loaded_spec(SPEC).name)")
    last = done.stderr.splitlines()[-1]
    assert 'put the call under if __name__ == "__main__":' in last
    assert "script.py:" in last
