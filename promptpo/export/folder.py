"""Folders with a policy and its spec: the exported one, and the copy of the spec in a run's."""

from __future__ import annotations

import contextlib
from pathlib import Path

from promptpo.common import text
from promptpo.common.files import write_atomically
from promptpo.common.text import near_path
from promptpo.errors import RunError, SpecError, UsageError
from promptpo.export.learned import BESIDE
from promptpo.export.policy_file import PolicyFile
from promptpo.export.policy_module import FILE_MARKER, FOUND_MARKER, MARKER, BestPolicy, template
from promptpo.llm.recording import find_recording, load_header
from promptpo.spec import EnvSpec, load_spec, spec_text
from promptpo.spec.bundle import Bundle, bundle_of, check_intact
from promptpo.spec.importing import MANIFEST, read_manifest
from promptpo.spec.validation import PUBLISHED
from promptpo.store.codec import digest
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run
from promptpo.types import Candidate
from promptpo.version import __version__

#: The folder of the spec in a run's folder, and in an exported one.
SPEC_FOLDER = "spec"

#: Where the exported folder has the spec, seen from a script in it.
_SPEC_BESIDE = 'Path(__file__).with_name("spec")'

_WRITTEN = """\
The policy in `policy.py`, below the line "{marker}", was written by a language model.
{changed}

- Written by: {writer}
- In the run: {run}

What you may do with it is governed by the terms under which that model was used; whether such code
is protected by copyright at all differs from country to country. Read it before you let it move
anything."""

_GIVEN = """\
The policy in `policy.py` was written by whoever wrote {writer}, which was given to promptpo in the
run {run}. {changed} What you may do with it is for its author to say. Read it before
you let it move anything."""

_TUNED = "promptpo has chosen its numbers (CMA-ES); comments beside them tell what they were."

_OURS = """\
The policy in `policy.py` was {origin} in the run
{run}: no language model had a part in it, and it stands under the licence below. Read it before you
let it move anything."""


def write_folder(run: Run, to: Path, *, force: bool = False) -> list[Path]:
    """Write the best policy of a run into the folder ``to``, and return the files.

    Raises RunError where the run has no policy, or its spec has changed since; UsageError where a
    file of another content is there already and ``force`` is not given, or cannot be written.
    """
    contents = folder_files(run)
    for name, content in contents.items():
        if not force and _differs(to / name, content):
            raise UsageError(f"{to / name}: exists already; give --force to replace it")
    try:
        for name, content in contents.items():
            write_atomically(to / name, content)
    except OSError as e:
        raise UsageError(f"{to}: {e.strerror}; give --to a folder that can be written") from None
    return [to / name for name in contents]


def folder_files(run: Run) -> dict[str, str | bytes]:
    """Return the exported folder's files by their name. Raises RunError as ``write_folder``."""
    spec, candidate = spec_of(run), best_of(run)
    file = RunFolder(run.folder).best_policy
    learned = PolicyFile.read(file).learned if candidate.prepared else None
    best = BestPolicy(
        spec, candidate, run.evidence, run.folder.name, model=run.model, learned=learned
    )
    beside = learned.beside if learned else None
    loop, needs = best.loop(_SPEC_BESIDE)
    copy: dict[str, bytes] = {}
    if _SPEC_BESIDE in loop:
        bundle = bundle_of(spec.ref, spec_text(spec))
        copy = {f"{SPEC_FOLDER}/{name}": data for name, data in bundle_files(bundle).items()}
    rows = template("beside_row.md").substitute(place="") if beside else ""
    if copy:
        rows += "| `spec/` | the task: its spec as the run had it, with all of its own files |\n"
    lines = best.facts
    for name, value in spec.reference_scores.items():
        success = "" if value.success_rate is None else f", success {value.success_rate:.2f}"
        low = value.worst_tenth
        tenth = "" if low is None else f" (worst tenth {text.number(low)})"
        lines.append(f"To compare: {name}, return {text.number(value.mean_return)}{tenth}{success}")
    readme = template("README.md").substitute(
        spec=spec.name,
        title=spec.title,
        scores="\n".join(f"- {line}" for line in lines),
        run=name_of(run),
        candidate=candidate.name,
        date=str(run.info.get("started", "unknown"))[:10],
        version=__version__,
        method=run.method,
        writer=writer_of(run),
        needs=needs,
        rows=rows,
    )
    about = (
        f"Plays {spec.name} with policy.py, and prints what the run measured for the same seeds."
    )
    return {
        "policy.py": best.module,
        **({BESIDE: beside} if beside is not None else {}),
        "run.py": f'"""{about}"""\n\n{loop}',
        "README.md": readme,
        "NOTICE.md": template("NOTICE.md").substitute(origin=_origin(run, candidate)),
        **copy,
    }


def keep_spec(run: Path, spec: EnvSpec) -> list[str]:
    """Write a spec and all of its own files into a run's folder, unless they are there and whole.

    Returns a line for each file that could not be kept. Raises OSError where the folder cannot be
    written.
    """
    with contextlib.suppress(SpecError):
        if (manifest := read_manifest(run / SPEC_FOLDER)) is not None:
            check_intact(run / SPEC_FOLDER, manifest)
            return []
    bundle = bundle_of(spec.ref, spec_text(spec))
    for name, content in bundle_files(bundle).items():
        write_atomically(run / SPEC_FOLDER / name, content)
    left_out = bundle.manifest.left_out
    return [f"the run keeps no copy of {line}, which the spec may need" for line in left_out]


def bundle_files(bundle: Bundle) -> dict[str, bytes]:
    """Return the files of a bundle by their relative path, the manifest last."""
    return {**bundle.contents, MANIFEST: bundle.manifest.text.encode()}


def spec_of_run(run: Path, ref: str) -> tuple[str, str]:
    """Return what to load as the spec of a run, and a line on it: empty for the original.

    ``ref`` is what the run was started with. Where that is gone, or a file of it has changed, the
    run's own copy takes its place. Raises SpecError where the copy is damaged.
    """
    folder = run / SPEC_FOLDER
    manifest = read_manifest(folder)
    if manifest is None:
        return ref, ""
    try:
        different = bundle_of(ref).difference(manifest)
    except SpecError:
        reason = "cannot be found any more"
    else:
        if not different:
            return ref, ""
        reason = "has changed" if different == manifest.module else f"has changed ({different})"
    check_intact(folder, manifest)
    copy = (folder / manifest.module).resolve()
    published = PUBLISHED if ref.endswith(PUBLISHED) else ""
    name = near_path(Path(ref)) if Path(ref).is_absolute() else ref
    words = f"the spec {name} {reason}; this uses the run's own copy, {near_path(copy)}"
    return f"{copy}{published}", words


def spec_of(run: Run) -> EnvSpec:
    """Return the spec of a run: the original, or the run's own copy.

    Raises SpecError where there is none, RunError where it has changed and the run has no copy.
    """
    ref, _ = spec_of_run(run.folder, run.settings["spec"])
    spec = load_spec(ref, published=run.settings.get("published_prompt", False))
    if spec.path and digest(spec_text(spec)) != run.header["spec"]["sha"]:
        raise RunError(
            f"{spec.path}: the spec has changed since {run.folder} began; put it back as it was"
        )
    return spec


def best_of(run: Run) -> Candidate:
    """Return the best candidate of a run. Raises RunError where there is none yet."""
    trial, file = run.best_trial, RunFolder(run.folder).best_policy
    if trial is None or not file.is_file():
        raise RunError(
            f"{run.folder}: no best policy in it ({run.status}); resume it, or name another run"
        )
    if f"candidate {trial.name} of run" not in file.read_text(encoding="utf-8"):
        raise RunError(
            f"{file}: not that of {trial.name}, the best candidate on record ({run.status});"
            " resume the run, or wait until it ends"
        )
    return trial.candidate


def name_of(run: Run) -> str:
    """Return ``SPEC/DATE-TIME``, as the run's folder is named."""
    return f"{run.folder.parent.name}/{run.folder.name}"


def writer_of(run: Run) -> str:
    """Return the author of the policies in words; of a replay, what its recording says."""
    if not run.asks_model:
        return f"no model (the method {run.method} made it)"
    if run.synthesized:
        return "no language model: the builtin synthesizer (--model builtin)"
    if run.policy_file:
        return Path(run.policy_file).name
    if run.model == "manual":
        return "whoever answered the prompts (--model manual)"
    if not run.replayed:
        return run.model
    recording = find_recording(run.spec, run.method) if run.model == "recorded" else None
    header = load_header(recording) if recording else None
    replies = {recorded.reply.model for recorded in run.replies.values()}
    return f"{header.model if header else ', '.join(sorted(replies))} (a recording, replayed)"


def _origin(run: Run, candidate: Candidate) -> str:
    """Return who wrote the policy, and whose terms apply."""
    if run.synthesized:
        origin = "written by promptpo's own synthesizer (--model builtin)"
        return _OURS.format(origin=origin, run=name_of(run))
    if not run.asks_model:
        return _OURS.format(origin=f"made by promptpo (method {run.method})", run=name_of(run))
    tuned = candidate.kind == "tuned"
    marker = FOUND_MARKER if tuned else FILE_MARKER if run.policy_file else MARKER
    return (_GIVEN if run.policy_file else _WRITTEN).format(
        run=name_of(run),
        writer=writer_of(run),
        marker=marker.strip("# -"),
        changed=_TUNED if tuned else "promptpo has not changed it.",
    )


def _differs(path: Path, content: str | bytes) -> bool:
    data = content.encode() if isinstance(content, str) else content
    return path.exists() and (not path.is_file() or path.read_bytes() != data)
