"""Specs of a real small package, built and installed by pip into a folder of its own.

The folder stands first on ``PYTHONPATH`` of the processes that are started, which is quicker than a
fresh venv with all that promptpo needs, and as real: pip writes the same files.
"""

import os
import shutil
from pathlib import Path

import pytest
from processes import command, install, pretend_installed, python

SOURCE = Path(__file__).parents[1] / "data" / "acme-envs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Where the package is installed."""
    source = tmp_path_factory.mktemp("source") / "acme-envs"
    shutil.copytree(SOURCE, source)
    return install(source, tmp_path_factory.mktemp("site"))


@pytest.fixture
def promptpo(tmp_path):
    """Run a command in an empty folder, packages installed in the folders of ``site``."""
    return lambda site, *argv: command(*argv, first=[site], cwd=tmp_path)


def broken_package(site, points, **modules):
    pretend_installed(site, "broken-envs", "2.0", "promptpo.env_specs", points, **modules)


def failure(done) -> str:
    """The one line that a command says when it fails because of a spec."""
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.slow
def test_list_shows_specs_and_families_with_the_package_that_they_are_from(site, promptpo):
    lines = promptpo(site, "list").stdout.splitlines()
    for start in ("aisle  ", "depot  ", "hall  "):
        (line,) = [line for line in lines if line.startswith(start)]
        assert "acme-envs 1.0" in line
        assert "Error" not in line
    (cartpole,) = [line for line in lines if line.startswith("cartpole ")]
    assert "acme-envs" not in cartpole
    assert promptpo(site, "list", "hall").stdout.split() == [f"hall:{n}" for n in range(3, 10)]


@pytest.mark.slow
def test_installed_specs_are_true_in_every_process(site, promptpo):
    done = promptpo(site, "check", "--quick", "aisle", "depot", "hall:6")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("same episodes in a new process") == 3


def test_an_installed_spec_is_found_by_its_name(site, promptpo, tmp_path):
    assert "walk to the end of a long line" in promptpo(site, "prompt", "depot").stdout
    (tmp_path / "manual.py").write_text("")
    done = promptpo(site, "--spec", "aisle", "--dry-run", "--model", "manual")
    assert done.returncode == 0, done.stderr
    assert "task         aisle" in done.stdout
    assert "did you mean aisle" in failure(promptpo(site, "check", "aisel"))


#: Entry points that cannot be used, by name, and what is said of each.
BROKEN = {
    "gone": ("no_such_package", "names the module 'no_such_package', which is not there"),
    "half": ("odd_specs.no_such_module", "which is not there"),
    "made": ("odd_specs:make", "names 'make'; it has to name a module only"),
    "bare": ("odd_specs", "in which there is no SPEC"),
    "dot": (".", "which is not there"),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Where a package with nothing but such entry points is installed."""
    site = tmp_path_factory.mktemp("broken")
    points = "\n".join(f"{name} = {module}" for name, (module, _) in BROKEN.items())
    broken_package(site, points, odd_specs="raise SystemExit(7)\n")
    return site


@pytest.mark.slow
def test_each_broken_entry_point_is_one_line_of_list(broken):
    code = "from promptpo.spec import catalog; print(*catalog.installed().problems, sep='\\n')"
    lines = sorted(python("-c", code, first=[broken]).stdout.splitlines())
    for line, name in zip(lines, sorted(BROKEN), strict=True):
        assert line.startswith(f"broken-envs 2.0: its entry point '{name}'")
        assert BROKEN[name][1] in line


@pytest.mark.slow
def test_a_broken_package_harms_nothing_and_is_named_where_a_spec_is_missing(broken, promptpo):
    assert promptpo(broken, "prompt", "cartpole").returncode == 0
    assert "broken-envs 2.0" in failure(promptpo(broken, "check", "no_such_spec"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["SPEC = 1 / 0\n", "SPEC = (\n", "SPEC = 7\n", "import os\nos._exit(0)\nSPEC = 1\n"]
)
def test_an_installed_spec_that_fails_is_named_with_its_package(tmp_path, promptpo, text):
    site = tmp_path / "site"
    broken_package(site, "odd = odd_specs", odd_specs=text)
    line = failure(promptpo(site, "prompt", "odd"))
    assert str(site / "odd_specs.py") in line
    assert "installed by broken-envs 2.0" in line


@pytest.mark.slow
def test_an_installed_spec_called_like_a_shipped_one_does_not_take_its_place(tmp_path, promptpo):
    site = tmp_path / "site"
    broken_package(site, "cartpole = odd_specs", odd_specs="SPEC = 1 / 0\n")
    assert promptpo(site, "prompt", "cartpole").returncode == 0
    assert "'cartpole' is the name of a shipped one" in failure(promptpo(site, "prompt", "zzz"))


@pytest.mark.slow
def test_a_run_goes_by_its_own_copy_once_the_package_is_another_or_gone(site, tmp_path, promptpo):
    own = tmp_path / "site"
    shutil.copytree(site, own)
    brief = ["--rounds", "1", "--candidates", "1", "--episodes", "1", "--test-episodes", "2"]
    again = ["eval", "latest", "--episodes", "2", "--workers", "1"]
    assert (
        promptpo(own, "depot", "--method", "random-search", "--workers", "1", *brief).returncode
        == 0
    )
    scores = promptpo(own, *again)
    assert (scores.returncode, scores.stderr) == (0, "")
    (own / "acme_envs" / "__init__.py").write_text("LENGTH = 'none'\n")
    changed = promptpo(own, *again)
    assert "the spec depot has changed (acme_envs/__init__.py); this uses" in changed.stderr
    shutil.rmtree(own)
    gone = promptpo(own, *again)
    assert "the spec depot cannot be found any more; this uses" in gone.stderr
    assert scores.stdout == changed.stdout == gone.stdout


def test_two_packages_with_a_spec_of_one_name_are_both_named(site, tmp_path, promptpo):
    other = tmp_path / "site"
    broken_package(other, "aisle = odd_specs", odd_specs="SPEC = 1 / 0\n")
    line = failure(promptpo(os.pathsep.join([str(other), str(site)]), "prompt", "aisle"))
    assert "acme-envs 1.0" in line
    assert "broken-envs 2.0" in line
