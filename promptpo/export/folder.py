"""The exported folder: the policy, a loop that runs it, what it is, and whose terms apply."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template

from promptpo.common import text
from promptpo.common.files import write_atomically
from promptpo.errors import RunError, UsageError
from promptpo.export.learned import BESIDE, Learned, Maker
from promptpo.export.policy_file import PolicyFile
from promptpo.export.policy_module import FILE_MARKER, FOUND_MARKER, MARKER
from promptpo.export.readme import policy_loop, score_lines
from promptpo.export.spec_copy import FOLDER, bundle_files, spec_of_run
from promptpo.llm import find_recording, load_header
from promptpo.spec import EnvSpec, load_spec, spec_text
from promptpo.spec.bundle import bundle_of
from promptpo.store.codec import digest
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run
from promptpo.types import Candidate
from promptpo.version import __version__

_RUN = '''\
"""Plays $spec with policy.py, and prints what the run measured for the same seeds."""

$loop'''

_BESIDE_ROW = f"""\
| `{BESIDE}` | arrays that its `prepare(data)` returned; `policy.py` loads them |
"""

_SPEC_ROW = """\
| `spec/` | the task: its spec as the run had it, with all of its own files |
"""

#: Where the exported folder has the spec, seen from a script in it.
_SPEC_BESIDE = 'Path(__file__).with_name("spec")'

_WRITTEN = """\
The policy in `policy.py`, below the line "$marker", was written by a language model.
$changed

- Written by: $writer
- In the run: $run

What you may do with it is governed by the terms under which that model was used; whether such code
is protected by copyright at all differs from country to country. Read it before you let it move
anything."""

_MADE = """\
The policy in `policy.py` was made by promptpo (method $method) in the run $run: no language model
had a part in it, and it stands under the licence below. Read it before you let it move anything."""

_GIVEN = """\
The policy in `policy.py` was written by whoever wrote $writer, which was given to promptpo in the
run $run. $changed What you may do with it is for its author to say. Read it before
you let it move anything."""

_AS_IT_WAS = "promptpo has not changed it."
_TUNED = "promptpo has chosen its numbers (CMA-ES); comments beside them tell what they were."

_SYNTHESIZED = """\
The policy in `policy.py` was written by promptpo's own synthesizer (--model builtin) in the run
$run: no language model had a part in it, and it stands under the licence below. Read it before you
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
    """The files of the exported folder by their name. Raises RunError as ``write_folder``."""
    spec, candidate = spec_of(run), best_of(run)
    played = run.test or candidate.rollout
    file = RunFolder(run.folder).best_policy
    learned = PolicyFile.read(file).learned if candidate.prepared else None
    maker = Maker.of(candidate.source or "", learned)
    loop, needs = policy_loop(spec, played, _SPEC_BESIDE, maker)
    kept: dict[str, bytes] = {}
    if _SPEC_BESIDE in loop:
        bundle = bundle_of(spec.ref, spec_text(spec))
        kept = {f"{FOLDER}/{name}": data for name, data in bundle_files(bundle).items()}
    beside = learned.beside if learned else None
    rows = (_BESIDE_ROW if beside else "") + (_SPEC_ROW if kept else "")
    return {
        "policy.py": file.read_text(encoding="utf-8"),
        **({BESIDE: beside} if beside is not None else {}),
        "run.py": Template(_RUN).substitute(spec=spec.name, loop=loop),
        "README.md": _readme(run, spec, candidate, learned, needs, rows),
        "NOTICE.md": _notice(run, candidate),
        **kept,
    }


def spec_of(run: Run) -> EnvSpec:
    """The spec of a run: the original, or the run's own copy.

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
    """The best candidate of a run. Raises RunError where there is none yet."""
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
    """``SPEC/DATE-TIME``, as its folder is named."""
    return f"{run.folder.parent.name}/{run.folder.name}"


def writer_of(run: Run) -> str:
    """Which model wrote the policies, in words; of a replay, what its recording says."""
    if not run.asks_model:
        return f"no model (the method {run.method} made it)"
    if run.synthesized:
        return "no language model: the builtin synthesizer (--model builtin)"
    if run.given:
        return Path(run.given).name
    if run.model == "manual":
        return "whoever answered the prompts (--model manual)"
    if not run.replayed:
        return run.model
    recording = find_recording(run.spec, run.method) if run.model == "recorded" else None
    header = load_header(recording) if recording else None
    replies = {recorded.reply.model for recorded in run.replies.values()}
    return f"{header.model if header else ', '.join(sorted(replies))} (a recording, replayed)"


def _notice(run: Run, candidate: Candidate) -> str:
    """Who wrote the policy, and whose terms apply."""
    origin = _SYNTHESIZED if run.synthesized else _WRITTEN if run.asks_model else _MADE
    tuned = candidate.kind == "tuned"
    about = Template(_GIVEN if run.given else origin).substitute(
        run=name_of(run),
        writer=writer_of(run),
        method=run.method,
        marker=(FOUND_MARKER if tuned else FILE_MARKER if run.given else MARKER).strip("# -"),
        changed=_TUNED if tuned else _AS_IT_WAS,
    )
    return _template("NOTICE.md").substitute(origin=about)


def _readme(
    run: Run,
    spec: EnvSpec,
    candidate: Candidate,
    learned: Learned | None,
    needs: str,
    rows: str,
) -> str:
    references = [
        f"- To compare: {name}, return {text.number(value.mean_return)}"
        + ("" if value.success_rate is None else f", success {value.success_rate:.2f}")
        for name, value in spec.reference_scores.items()
    ]
    said = [*score_lines(candidate, run.test), *([learned.words] if learned else ())]
    lines = [f"- {line}" for line in said]
    return _template("README.md").substitute(
        spec=spec.name,
        title=spec.title,
        scores="\n".join([*lines, *references]),
        run=name_of(run),
        candidate=candidate.name,
        date=str(run.info.get("started", "unknown"))[:10],
        version=__version__,
        method=run.method,
        writer=writer_of(run),
        needs=needs,
        rows=rows,
    )


def _template(name: str) -> Template:
    return Template(files("promptpo.export").joinpath("templates", name).read_text("utf-8"))


def _differs(path: Path, content: str | bytes) -> bool:
    data = content.encode() if isinstance(content, str) else content
    return path.exists() and (not path.is_file() or path.read_bytes() != data)
