"""Entry points of installed packages, as they are written on the disk."""

import pytest

from promptpo.common.plugins import plugins
from promptpo.errors import UsageError

GROUP = "promptpo.test_group"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Write the metadata of a package, as pip leaves them, where Python looks for packages."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, *points, version="1.0"):
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        (folder / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *points]) + "\n")
        return folder

    return write


def test_entry_points_come_with_the_package_and_its_version(install):
    install("acme-tools", "second = acme.tools:Second", "first = acme")
    found = [(p.name, p.module, p.attribute, p.origin) for p in plugins(GROUP)]
    assert found == [
        ("first", "acme", "", "acme-tools 1.0"),
        ("second", "acme.tools", "Second", "acme-tools 1.0"),
    ]


def test_damaged_metadata_of_one_package_hide_no_other(install):
    (install("broken") / "entry_points.txt").write_bytes(b"[\xff\xfe")
    install("acme-tools", "first = acme")
    assert [p.name for p in plugins(GROUP)] == ["first"]


def test_loading_gives_what_the_entry_point_names(install):
    install("acme-tools", "path = os.path:join")
    (plugin,) = plugins(GROUP)
    import os

    assert plugin.load() is os.path.join


@pytest.mark.parametrize("point", ["no_such_module", "os:no_such_name", "leaves_at_once"])
def test_what_cannot_be_loaded_is_one_line_with_the_packages_name(install, tmp_path, point):
    (tmp_path / "leaves_at_once.py").write_text("raise SystemExit('no\\nmore')\n")
    install("acme-tools", f"odd = {point}")
    (plugin,) = plugins(GROUP)
    with pytest.raises(UsageError, match=r"^acme-tools 1\.0: its entry point 'odd'") as caught:
        plugin.load()
    assert "\n" not in str(caught.value)
