"""Videos of a policy's held-out episodes, as MP4 and GIF, with a caption below the picture.

The same episodes are played again, the policy in its sandbox as always, in a process of its own
that needs no display. Needs ``pip install 'promptpo[video]'``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpo.errors import RunError, UsageError
from promptpo.video.options import Options, Watcher, parse_episodes
from promptpo.video.render import Subject, film_episodes

__all__ = ["Options", "Watcher", "parse_episodes", "render_policy", "render_run"]


def render_run(
    run_folder: str | Path,
    options: Options | None = None,
    *,
    to: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    watcher: Watcher | None = None,
) -> list[Path]:
    """Film held-out episodes of a run's best policy into ``RUN/videos``, or ``to``.

    The run's record says which episode was best, median and worst. ``settings`` replace those of
    the run (``RunConfig``'s names, such as ``spec``, ``seed``); then the episodes are scored anew.
    Returns the files, such as ``best_seed1342177291.mp4``.

    Raises RunError (no such run, or no best policy in it yet) and what ``film_episodes`` raises.
    """
    from promptpo.export.policy_file import PolicyFile
    from promptpo.export.spec_copy import spec_of_run
    from promptpo.run.options import build, elsewhere
    from promptpo.run.settings import settings_of
    from promptpo.spec import load_spec
    from promptpo.store.folder import RunFolder
    from promptpo.store.run import load_run

    folder = RunFolder.open(Path(run_folder))
    if not folder.best_policy.is_file():
        raise RunError(f"{folder.path}: no best policy in it yet; resume it, or name a file")
    stored = settings_of(folder)
    asked = build(elsewhere(stored), settings or {})
    watcher = watcher or Watcher()
    record = load_run(folder.path).test
    changing = ("spec", "published_prompt", "policy_lifetime", "evaluation_episodes")
    if any(getattr(asked, k) != stored.get(k) for k in changing):
        record = None
    ref, note = asked.spec, ""
    if ref == stored.get("spec"):
        ref, note = spec_of_run(folder.path, ref)
    if note:
        watcher.warning(note)
    spec = load_spec(ref, published=asked.published_prompt, limit=asked.env_timeout)
    subject = Subject(PolicyFile.read(folder.best_policy), spec, asked, record)
    target = Path(to) if to is not None else folder.path / "videos"
    return film_episodes(subject, options or Options(), target, watcher)


def render_policy(
    policy: str | Path,
    options: Options | None = None,
    *,
    to: str | Path | None = None,
    settings: Mapping[str, Any],
    watcher: Watcher | None = None,
) -> list[Path]:
    """Film held-out episodes of a policy's file into the folder ``videos`` beside it, or ``to``.

    ``settings`` are ``RunConfig``'s, at least ``spec``. ``test_episodes`` of them are played
    first, to find the best, median and worst. Returns the files.

    Raises UsageError (the file cannot be read) and what ``film_episodes`` raises.
    """
    from promptpo.export.policy_file import PolicyFile
    from promptpo.run.options import build
    from promptpo.spec import load_spec

    path = Path(policy)
    asked = build(settings)
    if not asked.spec:
        raise UsageError(f"{path}: give the task that it is for with --spec")
    spec = load_spec(asked.spec, published=asked.published_prompt, limit=asked.env_timeout)
    subject = Subject(PolicyFile.read(path), spec, asked)
    target = Path(to) if to is not None else path.parent / "videos"
    return film_episodes(subject, options or Options(), target, watcher or Watcher())
