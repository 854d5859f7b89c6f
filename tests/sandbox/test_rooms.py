"""Which module of the sandbox may import which; and that both sides are of one copy of it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_house import circle, imports

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


def room(module):
    """The folder that a module is in."""
    if module in ("sandbox", "sandbox.__main__"):
        return "sandbox"
    name = module.split(".")[1]
    return name if name in MAY_IMPORT else ""


def trespasses(graph):
    return [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others - {"sandbox"}  # every module is in it
        if room(other) not in {room(module), *MAY_IMPORT[room(module)]}
    ]


def test_the_host_imports_nothing_from_inside_nor_the_other_way_round():
    graph = imports(FOLDER)
    inner = {name: others - {"sandbox"} for name, others in graph.items()}
    folders = {path.parent.name for path in FOLDER.glob("*/*.py")}

    assert circle(inner) is None
    assert trespasses(graph) == []
    assert trespasses({"sandbox.host.host": {"sandbox.inside.parent"}})
    assert trespasses({"sandbox.inside.parent": {"sandbox.host"}})
    assert folders == MAY_IMPORT.keys() - {"", "sandbox"}


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
    command = [sys.executable, "-c", "import sandbox; print(sandbox.Host().isolation)"]
    environ = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, check=False)

    assert b"of the copy" in done.stdout, done.stderr
