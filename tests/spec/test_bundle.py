"""Which files a spec is made of, found by reading; and what runs when only those are there."""

import os
import sys
from pathlib import Path

import pytest

from promptpo.export.folder import bundle_files
from promptpo.spec import SpecError, bundle, load_spec, shipped_specs, spec_text
from promptpo.spec.bundle import bundle_of, check_intact
from promptpo.spec.importing import MANIFEST, read_manifest

HORIZON = ("horizon=50", "horizon=STEPS")


@pytest.fixture
def project(write_spec, tmp_path, tmp_path_factory, monkeypatch):
    """Write the small spec with a first statement, and files beside it; returns its path."""

    def write(statement: str, *replacements: tuple[str, str], **files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("/init", "/__init__")
            path = path if path.suffix else path.with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return write_spec(("import numpy as np", f"import numpy as np\n{statement}"), *replacements)

    # Of tests before: a module that is imported, or found on sys.path, is not looked for again.
    forget_modules(tmp_path.parent)
    others = str(tmp_path_factory.getbasetemp())
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.startswith(others)])
    yield write
    forget_modules(tmp_path)


def forget_modules(folder: Path) -> None:
    """Take what was imported from a folder out of ``sys.modules``."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(folder)):
            del sys.modules[name]


def names(path: Path | str) -> set[str]:
    """The files of a spec, without the spec's own."""
    return set(bundle_of(str(path)).contents) - {"slide.py"}


def unpacked(path: Path, folder: Path) -> Path:
    """A folder that holds nothing but the bundle of a spec."""
    for name, content in bundle_files(bundle_of(str(path))).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_a_module_beside_the_spec_is_its_own_however_it_is_imported(project):
    for statement in (
        "from . import helper",
        "from .helper import STEPS",
        "import helper",
        "from helper import STEPS as N",
        "def late():\n    from .helper import STEPS",
        "def late():\n    import importlib\n    importlib.import_module('helper')",
    ):
        assert names(project(statement, helper="STEPS = 7\n", other="")) == {"helper.py"}


def test_helpers_of_helpers_and_packages_are_followed(project):
    path = project(
        "from .worlds.grid import cells",
        worlds__init="",
        worlds__grid="from . import paint\nfrom ..sizes import N\ncells = N\n",
        worlds__paint="import colours\n",
        worlds__unused="",
        sizes="N = 1\n",
        colours="",
    )
    assert names(path) == {
        "worlds/__init__.py",
        "worlds/grid.py",
        "worlds/paint.py",
        "sizes.py",
        "colours.py",
    }


def test_what_is_installed_or_python_s_own_is_not(project, tmp_path):
    (tmp_path / "numpy.py").write_text("")
    (tmp_path / "json.py").write_text("")
    assert names(project("import json, gymnasium\nfrom promptpo import stats")) == set()


def test_a_file_that_a_module_opens_by_its_own_place_is_the_spec_s(project, tmp_path):
    for name in ("map.toml", "slide.toml", "notes.txt"):
        (tmp_path / name).write_text("")
    for statement in (
        "from pathlib import Path\nMAP = Path(__file__).with_name('map.toml')",
        "from pathlib import Path\nMAP = Path(__file__).parent / 'map.toml'",
        "import os\nMAP = os.path.join(os.path.dirname(__file__), 'map.toml')",
        "from importlib import resources\nMAP = resources.files(__package__) / 'map.toml'",
    ):
        assert names(project(statement)) == {"map.toml"}
    any_of_them = "def map_of(name): return open(__file__.replace('slide.py', f'{name}.toml'))"
    assert names(project(any_of_them)) == {"map.toml", "slide.toml"}
    own_name = "HERE = __import__('pathlib').Path(__file__).with_suffix('.toml')"
    assert names(project(own_name)) == {"slide.toml"}


def test_a_folder_that_is_listed_is_taken_whole_and_another_is_not(project, tmp_path):
    for name in ("maps/a/1.npz", "maps/2.npz", "data/3.npz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"0")
    listed = "MAPS = sorted((__import__('pathlib').Path(__file__).parent / 'maps').iterdir())"
    assert names(project(listed)) == {"maps/a/1.npz", "maps/2.npz"}


def test_a_model_brings_the_files_that_it_names(project, tmp_path):
    (tmp_path / "assets" / "meshes").mkdir(parents=True)
    (tmp_path / "assets" / "arm.xml").write_text(
        "<mujoco><compiler meshdir='meshes'/><mesh file=\"hand.stl\"/></mujoco>"
    )
    (tmp_path / "assets" / "meshes" / "hand.stl").write_bytes(b"0")
    path = project("import os\nXML = os.path.join(os.path.dirname(__file__), 'assets', 'arm.xml')")
    assert names(path) == {"assets/arm.xml", "assets/meshes/hand.stl"}


def test_the_terms_of_a_data_file_go_with_it():
    assert {"env_specs/_glucose/patient.json", "env_specs/_glucose/patient.LICENSE"} <= names(
        "glucose"
    )


def test_large_and_very_many_files_are_left_out_and_named(project, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_BYTES", 100_000)
    (tmp_path / "large.npz").write_bytes(bytes(200_000))
    (tmp_path / "small.npz").write_bytes(bytes(200))
    path = project("HERE = (__file__, 'large.npz', 'small.npz')")
    assert bundle_of(str(path)).manifest.left_out == ("large.npz (too large, 0 MB)",)
    assert names(path) == {"small.npz"}
    monkeypatch.setattr(bundle, "MOST_FILES", 10)
    (tmp_path / "maps").mkdir()
    for number in range(30):
        (tmp_path / "maps" / f"{number:02}.npz").write_bytes(b"0")
    path = project("HERE = (__file__, 'maps', 'maps/*.npz'); '*'.glob() if 0 else None")
    assert len(names(path)) == 9
    assert bundle_of(str(path)).manifest.left_out == ("maps (too many files, from 09.npz on)",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_the_right_to_read_it_is_left_out(project, tmp_path):
    (tmp_path / "secret.npz").write_bytes(b"0")
    (tmp_path / "secret.npz").chmod(0)
    path = project("HERE = (__file__, 'secret.npz')")
    assert bundle_of(str(path)).manifest.left_out == ("secret.npz (Permission denied)",)


def test_a_folder_in_the_place_of_a_file_and_a_broken_helper_do_no_harm(project, tmp_path):
    (tmp_path / "map.toml").mkdir()
    path = project(
        "def late():\n    from . import broken\nHERE = (__file__, 'map.toml')", broken="("
    )
    assert names(path) == {"broken.py"}


def test_links_are_followed(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "shared.py").write_text("STEPS = 7\n")
    (tmp_path / "helper.py").symlink_to(tmp_path / "elsewhere" / "shared.py")
    (tmp_path / "loop").symlink_to(tmp_path)
    path = project("from . import helper\nHERE = (__file__, 'loop')")
    link = tmp_path / "elsewhere" / "slide.py"
    link.symlink_to(path)
    for each in (path, link):
        assert bundle_of(str(each)).contents["helper.py"] == b"STEPS = 7\n"
        assert names(each) == {"helper.py"}


def test_a_bundle_alone_loads_as_the_spec_does(project, tmp_path_factory):
    path = project(
        "import tomllib\nfrom pathlib import Path\nimport steps\nfrom .worlds import WIDTH\n"
        "MAP = tomllib.loads(Path(__file__).with_name('map.toml').read_text())\n"
        "STEPS = steps.STEPS + MAP['n']",
        HORIZON,
        steps="STEPS = 7\n",
        worlds__init="from .sizes import WIDTH\n",
        worlds__sizes="WIDTH = 3\n",
    )
    (path.parent / "map.toml").write_text("n = 100\n")
    folder = unpacked(path, tmp_path_factory.mktemp("bundle"))
    (path.parent / "steps.py").write_text("STEPS = 'changed'\n")
    for ref in (folder, folder / "slide.py"):
        spec = load_spec(ref)
        assert (spec.horizon, spec.name, spec.ref) == (107, "slide", str(folder / "slide.py"))


def test_a_spec_in_a_package_brings_its_packages_and_reaches_above_its_folder(
    write_spec, tmp_path, tmp_path_factory
):
    package = tmp_path / "lab" / "tasks"
    package.mkdir(parents=True)
    (tmp_path / "lab" / "__init__.py").write_text("WIDTH = 3\n")
    (package / "__init__.py").write_text("from lab.sizes import STEPS\n")
    (tmp_path / "lab" / "sizes.py").write_text("STEPS = 7\n")
    path = write_spec(
        ("import numpy as np", "import numpy as np\nfrom . import STEPS\nfrom .. import WIDTH"),
        HORIZON,
        name="lab/tasks/slide.py",
    )
    assert load_spec(path).horizon == 7
    assert set(bundle_of(str(path)).contents) == {
        "lab/__init__.py",
        "lab/sizes.py",
        "lab/tasks/__init__.py",
        "lab/tasks/slide.py",
    }
    folder = unpacked(path, tmp_path_factory.mktemp("bundle"))
    (tmp_path / "lab" / "sizes.py").write_text("STEPS = 8\n")
    assert load_spec(folder).horizon == 7
    for name in [n for n in sys.modules if n.partition(".")[0] == "lab"]:
        del sys.modules[name]


@pytest.mark.slow
def test_a_shipped_spec_is_the_same_from_its_bundle_alone(tmp_path):
    # Every third: with maps, models and data files among them.
    some = {*shipped_specs()[::3], "glucose", "metaworld:push-v3", "gym:CartPole-v1"}
    for name in sorted(some):
        folder = tmp_path / name.replace(":", "_")
        folder.mkdir()
        unpacked(name, folder)
        spec, copy = load_spec(name), load_spec(folder)
        assert (copy.name, copy.title, spec_text(copy)) == (spec.name, spec.title, spec_text(spec))
        assert str(copy.path).startswith(str(folder))
        assert bundle_of(str(folder)).manifest == bundle_of(name).manifest
        assert not bundle_of(name).manifest.left_out


def test_an_edited_file_of_a_bundle_is_named(project, tmp_path_factory):
    folder = unpacked(project("from . import helper", helper=""), tmp_path_factory.mktemp("bundle"))
    manifest = read_manifest(folder)
    check_intact(folder, manifest)
    (folder / "helper.py").write_text("x = 1\n")
    with pytest.raises(SpecError, match=r"helper\.py: has been edited since it was kept"):
        check_intact(folder, manifest)


def test_a_manifest_that_names_files_elsewhere_is_refused(project, tmp_path_factory):
    folder = unpacked(project("", helper=""), tmp_path_factory.mktemp("bundle"))
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text.replace('"slide.py": ', '"../slide.py": '))
    with pytest.raises(SpecError, match="names a file outside of its folder"):
        load_spec(folder)


def test_the_manifest_of_something_else_makes_no_bundle(tmp_path):
    (tmp_path / MANIFEST).write_text('{"name": "web app"}')
    assert read_manifest(tmp_path) is None
