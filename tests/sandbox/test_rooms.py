"""Which module of the sandbox may import which; and that both sides are of one copy of it."""

import ast
import os
import re
import shutil
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import sandbox

FOLDER = Path(sandbox.__file__).parent

#: What modules of a folder may import besides their own folder. "": the modules that both sides
#: share; "sandbox": the package as its users see it.
MAY_IMPORT = {
    "sandbox": {"", "host"},
    "host": {""},
    "inside": {"", "language", "lockdown"},
    "language": {""},
    "lockdown": set(),
    "": set(),
}


def imports(folder):
    """Each module of the package with the modules of it that it imports, wherever in its text.

    A string that is the name of a module counts too: it is for ``import_module``.
    """
    paths = {path.relative_to(folder.parent).with_suffix(""): path for path in folder.rglob("*.py")}
    modules = {".".join(name.parts).removesuffix(".__init__"): p for name, p in paths.items()}
    return {
        module: set(imported(ast.parse(path.read_text()), modules)) - {module}
        for module, path in modules.items()
    }


def imported(tree, modules):
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (name.name for name in names if name.name in modules)
            case ast.ImportFrom(_, _, level) if level:
                raise AssertionError("imports are absolute here")
            case ast.ImportFrom(module, names) if module in modules:
                inner = (f"{module}.{name.name}" for name in names)
                yield from (name if name in modules else module for name in inner)
            case ast.Constant(str(text)) if text in modules and "." in text:
                yield text


def room(module):
    """The folder that a module is in."""
    if module in ("sandbox", "sandbox.__main__"):
        return "sandbox"
    name = module.split(".")[1]
    return name if name in MAY_IMPORT else ""


def circle(graph):
    """Modules that import each other in a circle, the first one also last; or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def trespasses(graph):
    return [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others
        if room(other) not in {room(module), *MAY_IMPORT[room(module)]}
    ]


def test_no_modules_import_each_other_in_a_circle():
    assert circle(imports(FOLDER)) is None


def test_the_host_imports_nothing_from_inside_nor_the_other_way_round():
    assert trespasses(imports(FOLDER)) == []


def test_every_folder_is_in_the_table():
    assert {path.parent.name for path in FOLDER.glob("*/*.py")} == MAY_IMPORT.keys() - {
        "",
        "sandbox",
    }


@pytest.mark.parametrize(
    "line",
    [
        "import sandbox.inside.parent",
        "from sandbox.inside.parent import Parent",
        "from sandbox.inside import parent",
        "def lazily():\n    from sandbox.inside import parent",
        "if TYPE_CHECKING:\n    from sandbox.inside import parent",
        "import_module('sandbox.inside.parent')",
    ],
)
def test_any_way_to_import_counts(tmp_path, line):
    for name, text in {"host/warm": line, "inside/parent": "import sandbox.host.warm"}.items():
        module = tmp_path / "sandbox" / f"{name}.py"
        module.parent.mkdir(parents=True)
        module.with_name("__init__.py").touch()
        module.write_text(text)

    graph = imports(tmp_path / "sandbox")

    assert len(circle(graph)) == 3
    assert len(trespasses(graph)) == 2


LOADED = "import sys; print(*(name for name in sys.modules if name.startswith('sandbox.')))"


@pytest.mark.parametrize(
    ("first", "others"),
    [
        ("import sandbox; sandbox.Host", r"sandbox\.(inside|language|lockdown)\b"),
        ("import sandbox.inside.boot, sandbox.inside.parent", r"sandbox\.host\b"),
    ],
    ids=["host", "warm parent"],
)
def test_a_process_loads_nothing_of_the_other_side(first, others):
    command = [sys.executable, "-c", f"{first}; {LOADED}"]
    loaded = subprocess.check_output(command, text=True, cwd=FOLDER.parent)

    assert "sandbox.interface" in loaded
    assert re.findall(others, loaded) == []


SPEAKS = """
import json, socket
def main(descriptor, libraries):
    report = {"isolation": {"seccomp": "of the copy"}}
    socket.socket(fileno=descriptor).sendall(json.dumps(report).encode() + b"\\n")
"""


def test_a_host_starts_the_warm_parent_of_its_own_copy_of_the_package(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "sandbox")
    with (tmp_path / "sandbox/inside/boot.py").open("a") as entry:
        entry.write(SPEAKS)
    script = "import sandbox; print(sandbox.Host().isolation)"

    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "of the copy" in done.stdout, done.stderr
