"""The lock files and pyproject.toml say the same; the wheel holds what it needs."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import promptpo

ROOT = Path(promptpo.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(?: ; (.*?))? \\$", re.MULTILINE)


def pins(name: str) -> dict[str, set[Version]]:
    found: dict[str, set[Version]] = {}
    for package, version, _ in PIN.findall((ROOT / name).read_text(encoding="utf-8")):
        found.setdefault(canonicalize_name(package), set()).add(Version(version))
    return found


def with_extras(wanted: list[str]) -> list[Requirement]:
    """The requirements, those of our own extras among them in full."""
    found = []
    for requirement in map(Requirement, wanted):
        if requirement.name == PROJECT["name"]:
            found += with_extras([line for extra in requirement.extras for line in EXTRAS[extra]])
        else:
            found.append(requirement)
    return found


LOCKS = {
    "requirements.txt": PROJECT["dependencies"],
    "requirements-ray.txt": PROJECT["dependencies"] + EXTRAS["ray"],
    "requirements-dev.txt": PROJECT["dependencies"] + EXTRAS["dev"],
    "requirements-docs.txt": PROJECT["dependencies"] + EXTRAS["docs"],
}


@pytest.mark.parametrize("file", LOCKS)
def test_a_lock_satisfies_every_dependency_with_hashes_and_no_address(file: str) -> None:
    locked = pins(file)
    for requirement in with_extras(LOCKS[file]):
        versions = locked[canonicalize_name(requirement.name)]
        assert all(v in requirement.specifier for v in versions), requirement
    text = (ROOT / file).read_text(encoding="utf-8")
    entries = re.split(r"(?m)^(?=[A-Za-z0-9._-]+==)", text)[1:]
    assert len(entries) > 50
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text
    assert not re.search(r"(?m)^\s*--(?!hash)", text)


def test_all_is_every_extra_of_users_and_tests_run_on_what_these_run_on() -> None:
    # Locked together with the tests' tools: so no two extras can ask for what excludes each other.
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.extras == EXTRAS.keys() - {"all", "dev", "docs"}
    assert "promptpo[all]" in EXTRAS["dev"]
    chain = [pins(file).items() for file in LOCKS]
    assert chain[0] <= chain[1] <= chain[2]
