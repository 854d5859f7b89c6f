"""The spec that a run keeps: ``spec/`` in its folder, and when that stands in for the original."""

from __future__ import annotations

import contextlib
from pathlib import Path

from promptpo.common.files import write_atomically
from promptpo.common.text import near_path
from promptpo.errors import SpecError
from promptpo.spec import EnvSpec, spec_text
from promptpo.spec.bundle import Bundle, bundle_of, check_intact
from promptpo.spec.importing import MANIFEST, read_manifest
from promptpo.spec.validation import PUBLISHED

#: The folder in a run's folder, and in an exported one.
FOLDER = "spec"


def keep_spec(run: Path, spec: EnvSpec) -> list[str]:
    """Write a spec and all of its own files into a run's folder, unless they are there and whole.

    Returns a line for each file that could not be kept. Raises OSError where the folder cannot be
    written.
    """
    with contextlib.suppress(SpecError):
        if (kept := read_manifest(run / FOLDER)) is not None:
            check_intact(run / FOLDER, kept)
            return []
    bundle = bundle_of(spec.ref, spec_text(spec))
    for name, content in bundle_files(bundle).items():
        write_atomically(run / FOLDER / name, content)
    left_out = bundle.manifest.left_out
    return [f"the run keeps no copy of {line}, which the spec may need" for line in left_out]


def bundle_files(bundle: Bundle) -> dict[str, bytes]:
    """The files of a bundle by their relative path, the manifest last."""
    return {**bundle.contents, MANIFEST: bundle.manifest.text.encode()}


def spec_of_run(run: Path, ref: str) -> tuple[str, str]:
    """What to load as the spec of a run, and what to say of that: nothing of the original.

    ``ref`` is what the run was started with. Where that is gone, or a file of it has changed, the
    run's own copy takes its place. Raises SpecError where the copy is damaged.
    """
    folder = run / FOLDER
    kept = read_manifest(folder)
    if kept is None:
        return ref, ""
    try:
        different = bundle_of(ref).difference(kept)
    except SpecError:
        reason = "cannot be found any more"
    else:
        if not different:
            return ref, ""
        reason = "has changed" if different == kept.module else f"has changed ({different})"
    check_intact(folder, kept)
    copy = (folder / kept.module).resolve()
    published = PUBLISHED if ref.endswith(PUBLISHED) else ""
    name = near_path(Path(ref)) if Path(ref).is_absolute() else ref
    words = f"the spec {name} {reason}; this uses the run's own copy, {near_path(copy)}"
    return f"{copy}{published}", words
