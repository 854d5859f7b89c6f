"""What lies where in env_specs: specs and families at the top, all else in packages."""

import ast
import sys
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from shipped import checked_without

import env_specs
from promptpo.spec import EnvSpec, SpecError, Task, load_spec
from promptpo.spec.catalog import shipped

FOLDER = Path(env_specs.__file__).parent


def test_every_module_at_the_top_is_a_spec_or_a_family():
    found = shipped()
    files = {path for path in FOLDER.iterdir() if path.is_file()} - {FOLDER / "__init__.py"}
    assert files == {entry.path for entry in (*found.specs, *found.families)}
    for entry in found.specs:
        assert isinstance(load_spec(entry.name), EnvSpec), entry.name
    for entry in found.families:
        assert entry.title, entry.name
        assert callable(entry.members), entry.name


def test_every_folder_at_the_top_is_a_package_that_says_what_it_holds():
    folders = [path for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert folders
    for folder in folders:
        assert folder.name.startswith("_"), folder.name
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder.name


def test_specs_and_helpers_use_the_public_interface_of_specs():
    deeper = [
        f"{path.relative_to(FOLDER)} imports {node.module}"
        for path in FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(("promptpo", "sandbox"))
        and node.module not in ("promptpo.spec", "promptpo.spec.writing", "promptpo.spec.drafts")
    ]
    assert deeper == []


def test_gymnasium_makes_and_approves_of_our_own_environments_without_an_import():
    for spec, env_id in {
        "glucose": "env_specs._glucose.world:promptpo/Glucose-v0",
        "maze": "env_specs._games.maze:promptpo/Maze-v0",
        "nim": "env_specs._games.nim:promptpo/Nim-v0",
        "pandemic": "env_specs._pandemic.world:promptpo/Pandemic-v0",
        "pong": "env_specs._games.pong:promptpo/Pong-v0",
    }.items():
        env = gymnasium.make(env_id)
        check_env(env.unwrapped, skip_render_check=True)
        if spec != "nim":  # its games end by themselves
            assert env.spec.max_episode_steps == load_spec(spec).horizon


@pytest.mark.slow
def test_a_missing_package_is_one_line_with_the_extra_that_brings_it(tmp_path, monkeypatch):
    for spec, package, extra in (
        ("lunar_lander", "Box2D", "box2d"),
        ("pointmaze_large", "gymnasium_robotics", "pointmaze"),
    ):
        done = checked_without(package, spec, tmp_path)
        assert done.returncode == 3
        assert done.stderr.count("\n") == 1
        assert f"the package '{package}' is not installed" in done.stderr
        assert done.stderr.endswith(f"run: pip install 'promptpo[{extra}]'\n")
    monkeypatch.setitem(sys.modules, "libsumo", None)
    with pytest.raises(SpecError, match=r"'libsumo' .*: pip install 'promptpo\[traffic\]'"):
        Task.open(load_spec("traffic"))
