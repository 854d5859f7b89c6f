"""What lies where in env_specs: specs and families at the top, all else in packages."""

import ast
from pathlib import Path

import env_specs
from promptpo.spec import EnvSpec, load_spec
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
