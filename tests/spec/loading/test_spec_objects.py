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
from promptpo.spec import load_spec
from promptpo.spec.loading.objects import loaded_spec

ROOT = Path(promptpo.__file__).parents[1]


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


def script(write_spec, last):
    path = write_spec(name="script.py")
    path.write_text(
        f"{path.read_text()}\nfrom promptpo.spec.loading.objects import loaded_spec\n{last}"
    )
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
