"""Films of a policy's episodes: chooses them, has them filmed, holds them against their scores."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.common.lives import in_lives
from promptpo.common.text import gist, number, plural
from promptpo.errors import PromptPOError, UsageError
from promptpo.export.policy_file import PolicyFile
from promptpo.types import Episode, Rollout
from promptpo.video import choose, gl
from promptpo.video.options import Options, Watcher
from promptpo.video.process import drawing_process
from promptpo.video.studio import Filmed, Order, Progress, Reel

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.spec import EnvSpec

#: Filming plays one episode where scoring plays several at once: it may take as long as those.
_PATIENCE = 5
#: Numbers of the same episode on other machines may differ in the last digits.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Subject:
    """Whose episodes: a policy, its task, and what is known of its held-out episodes."""

    policy: PolicyFile
    spec: EnvSpec
    settings: RunConfig
    record: Rollout | None = None


def film_episodes(subject: Subject, options: Options, to: Path, watcher: Watcher) -> list[Path]:
    """Film the chosen episodes into the folder ``to``; returns the files, best episode first.

    A policy that fails in the middle is filmed until then, with a warning. So is an episode that
    comes out otherwise than it was scored.

    Raises UsageError (a package is missing, or the policy's prepared values), SpecError (the
    environment cannot be drawn), PromptPOError (the policy does not start, or the drawing process
    ended).
    """
    _require_pillow()
    _require_folder(to)
    _ = subject.policy.prepared  # or nothing is played
    drawing = gl.choose(os.environ)
    settings = subject.settings.for_spec(subject.spec)
    scored = _scored(subject, settings, options.episodes, watcher)
    chosen = choose.pick(scored, options.episodes)
    reels = tuple(_reel(subject, to, options, label, e, len(scored)) for label, e in chosen.items())
    order = Order(
        settings=_patient(subject),
        policy=subject.policy,
        life=settings.life,
        seeds=_to_play([e.seed for e in scored], [r.seed for r in reels], settings.life),
        reels=reels,
        size=options.size,
        fps=options.fps,
        high=options.quality == "high",
        trouble=drawing.trouble,
    )
    watcher.filming({label: e.length for label, e in chosen.items()})
    done = _carried_out(order, {**os.environ, **drawing.variables}, chosen, watcher)
    return [f for reel in reels if reel.label in done for f in reel.files]


def _require_pillow() -> None:
    reason = "videos need Pillow"
    if find_spec("PIL") is not None:
        from PIL import features

        if features.check("avif"):
            return
        reason = "videos need a Pillow that can write AVIF (11.3 or later, from PyPI)"
    raise UsageError(f"{reason}; pip install 'promptpo[video]'")


def _require_folder(to: Path) -> None:
    try:
        to.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=to).close()
    except OSError as e:
        raise UsageError(f"{to}: {e.strerror}; give --to a folder that can be written") from None


def _scored(
    subject: Subject, settings: RunConfig, wanted: tuple[str, ...] | int, watcher: Watcher
) -> list[Episode]:
    """The held-out episodes: from the record, else played, else (0 steps) by their seeds only."""
    from promptpo.rollout import episode_seeds
    from promptpo.run.loop import run_to_end

    if settings.test_episodes < 1:
        raise UsageError("there are no held-out episodes to film; give --test-episodes at least 1")
    seeds = episode_seeds(settings.seed, "test", settings.held_out, life=settings.life)
    known = choose.recorded(subject.record, seeds)
    if known:
        return known
    if isinstance(wanted, int):
        return [Episode(seed, 0.0, 0) for seed in seeds]
    watcher.scoring(len(seeds))
    playing = choose.play(subject.spec, settings, subject.policy, seeds, settings.life)
    return run_to_end(playing)


def _reel(
    subject: Subject, to: Path, options: Options, label: str, episode: Episode, count: int
) -> Reel:
    which = f"{label.replace('episode', 'number ')} of " if count > 1 else ""
    return Reel(
        label=label,
        seed=episode.seed,
        title=f"{subject.spec.name}: {which}{plural(count, 'held-out episode')},"
        f" seed {episode.seed}",
        files=tuple(to / f"{label}_seed{episode.seed}.{suffix}" for suffix in options.formats),
    )


def _patient(subject: Subject) -> Any:  # noqa: ANN401 - rollout.Settings, imported late
    from promptpo.rollout import worker_settings

    settings = worker_settings(subject.settings, subject.spec)
    return replace(settings, episode_timeout=_PATIENCE * settings.episode_timeout)


def _to_play(seeds: list[int], filmed: list[int], life: int) -> tuple[int, ...]:
    """Episodes on one policy object need those before them in its life; others need none."""
    if life == 1:
        return tuple(filmed)
    needed: list[int] = []
    for lived in in_lives(seeds, life, int):
        places = [lived.index(seed) for seed in filmed if seed in lived]
        needed += lived[: max(places, default=-1) + 1]
    return tuple(needed)


def _carried_out(
    order: Order, environ: Mapping[str, str], chosen: Mapping[str, Episode], watcher: Watcher
) -> set[str]:
    """Have an order carried out; returns the labels of the reels that came of it."""
    files = {reel.label: reel.files for reel in order.reels}
    done: set[str] = set()
    with drawing_process(order, environ) as messages:
        for message in messages:
            if isinstance(message, PromptPOError):
                raise message
            if isinstance(message, Progress):
                watcher.step(message.label, message.steps)
            if isinstance(message, Filmed):
                for line in _differences(chosen[message.label], message):
                    watcher.warning(line)
                watcher.done(message.label, files[message.label])
                done.add(message.label)
    for label in files.keys() - done:
        watcher.warning(f"{label}: not filmed, for the policy failed in an episode before it")
    return done


def _differences(before: Episode, now: Filmed) -> Iterator[str]:
    """What the user should know: the policy failed, or this is not the episode that was scored."""
    which = f"{now.label}, seed {before.seed}"
    if now.failure is not None:
        yield f"{which}: the policy failed at step {now.length}: {gist(now.failure)}"
    same = math.isclose(now.total, before.return_, rel_tol=_CLOSE, abs_tol=_CLOSE)
    if before.length and not (same and now.length == before.length):
        yield (
            f"{which}: filmed return {number(now.total)} in {now.length} steps, but it was scored"
            f" {number(before.return_)} in {before.length}; the simulator or the machine differs"
        )
