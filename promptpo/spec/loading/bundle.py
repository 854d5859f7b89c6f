"""A spec with all of its own files in one folder, as a run keeps it and an export takes it along.

manifest.json          which file is the spec, what it is called, and the digest of each file
env_specs/traffic.py   the files, where they lay to each other
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from promptpo.common.plaintext import clean_line
from promptpo.errors import SpecError, file_error

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """What a bundle is, without the contents of its files.

    Attributes:
        name: the spec's name.
        module: the spec's file, relative to the bundle, with ``/``.
        imports: top-level modules of the bundle that its modules import by their bare names.
        files: digest of each file, by its relative path.
        left_out: a line for each file that belongs to the spec and could not be taken.
    """

    name: str
    module: str
    imports: tuple[str, ...]
    files: dict[str, str]
    left_out: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What stands in ``manifest.json``."""
        return json.dumps(vars(self), indent=2) + "\n"


@dataclass(frozen=True)
class Bundle:
    """A manifest and the contents of its files."""

    manifest: Manifest
    contents: dict[str, bytes]

    def difference(self, other: Manifest) -> str:
        """A file in which it differs from another; empty where it does not."""
        ours, theirs = self.manifest.files, other.files
        differing = [f for f in sorted({*ours, *theirs}) if ours.get(f) != theirs.get(f)]
        if self.manifest.module != other.module:
            return self.manifest.module
        return differing[0] if differing else ""


def digest(content: bytes) -> str:
    """What tells a file's content from any other."""
    return hashlib.sha256(content).hexdigest()


def read_manifest(folder: Path) -> Manifest | None:
    """What a folder holds as a bundle; None where it is none.

    Raises SpecError where its manifest cannot be read, or is not what promptpo writes.
    """
    file = folder / MANIFEST
    try:
        found = json.loads(file.read_bytes())
        manifest = Manifest(
            name=str(found["name"]),
            module=str(found["module"]),
            imports=tuple(map(str, found["imports"])),
            files={str(name): str(value) for name, value in found["files"].items()},
            left_out=tuple(map(str, found["left_out"])),
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SpecError(str(file_error(error, file))) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # a manifest of something else
    names = [manifest.module, *manifest.files]
    if any(".." in PurePosixPath(name).parts or name.startswith("/") for name in names):
        raise SpecError(
            f"{file}: names a file outside of its folder; it is not what promptpo wrote"
        )
    return manifest


def check_intact(folder: Path, manifest: Manifest) -> None:
    """Raise SpecError where a file of a bundle is not what its manifest says."""
    for name, expected in manifest.files.items():
        file = folder / name
        try:
            content = file.read_bytes()
        except OSError as error:
            raise SpecError(str(file_error(error, file))) from None
        if digest(content) != expected:
            raise SpecError(
                f"{clean_line(str(file))}: has been edited since it was kept; put it back as it"
                " was, or copy the folder elsewhere and name that copy as the spec"
            )
