"""promptpo as a library."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from promptpo.config import RunConfig, build, fields
from promptpo.config_values import unknown_name
from promptpo.errors import UsageError
from promptpo.outcome import Result
from promptpo.run import execute
from promptpo.run_settings import configure, settings_of
from promptpo.store.folder import RunFolder
from promptpo.types import Listener


def optimize(
    spec: str | PathLike[str] | None = None,
    *,
    on_event: Listener | None = None,
    resume: str | PathLike[str] | None = None,
    **settings: Any,  # noqa: ANN401 - checked by RunConfig
) -> Result:
    """Search for a policy; what ``python -m promptpo`` does, without the terminal.

    ``spec`` is a spec file or the name of a shipped one. ``settings`` are the fields of
    ``RunConfig`` (``model``, ``rounds``, ``candidates``, ``episodes``, ``seed``, ``max_cost``, ...)
    and ``preset``. ``on_event`` receives every Event, in the thread of the run. ``resume``
    continues the run in that folder; then only settings that may change on resuming can be given.

    Blocks until the run has ended, in a notebook too. Raises PromptPOError (SpecError,
    ModelError, ...; see ``promptpo.errors``).

        result = promptpo.optimize("env_specs/cartpole.py", model="recorded", rounds=3)
        print(result.test.score.mean_return, result.best.source)
    """
    if spec is not None:
        settings["spec"] = str(spec)
    unknown = settings.keys() - {*fields(), "preset"}
    if unknown:
        raise UsageError(unknown_name("setting", min(unknown), fields()))
    if resume is not None:
        folder = Path(resume)
        return execute(resumed_config(folder, settings), listener=on_event, resume=folder)
    if not settings.get("spec"):
        raise UsageError("no spec; give a spec file or the name of a shipped one")
    return execute(configure(settings), listener=on_event)


def resumed_config(folder: Path, given: dict[str, Any]) -> RunConfig:
    """The settings of an earlier run, with those that may change replaced by ``given``.

    Raises UsageError where a setting is given that shaped what the run has already done.
    """
    from promptpo.config import flag

    stored = settings_of(RunFolder.open(folder))
    known = fields()
    changed = {k: v for k, v in given.items() if v is not None and stored.get(k) != v}
    for name in changed:
        if name not in known or not known[name].metadata["resumable"]:
            was = f" (it was {stored[name]})" if name in stored else ""
            spelled = flag(name) if name in known else f"--{name}"
            free = ", ".join(flag(n) for n, f in known.items() if f.metadata["resumable"])
            raise UsageError(
                f"{spelled} cannot change when a run is resumed{was}; leave it out or start a"
                f" new run; what may change: {free}"
            )
    return build(stored, changed)
