"""Films of a policy's held-out episodes: chooses them, has them filmed, compares their scores."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from promptpo.common.concurrency import run_to_end
from promptpo.common.lives import in_lives
from promptpo.common.plaintext import shown
from promptpo.common.text import gist, number, plural
from promptpo.config import RunConfig
from promptpo.errors import PromptPOError, UsageError
from promptpo.evaluation import Player, best_of_run, score, settings_for
from promptpo.export.policy_file import PolicyFile
from promptpo.report import write_report
from promptpo.rollout import episode_seeds, worker_settings
from promptpo.rollout.watched import apart
from promptpo.spec import EnvSpec, Task, load_spec
from promptpo.store.run import load_run
from promptpo.types import Episode, Score
from promptpo.video.camera import choose_library, require_pictures
from promptpo.video.film import MOMENTS, WRITERS
from promptpo.video.studio import Filmed, Order, Reel, films

#: What ``--episodes`` may name, and the most that it may count: more are a slip of the hand.
NAMES, MOST_EPISODES = ("best", "median", "worst"), 1000
#: Filming plays one episode where scoring plays several at once: it may take as long as those.
_PATIENCE = 5
#: Seconds that the steps of a strip may take.
_STRIP_SECONDS = 20.0
#: Numbers of the same episode on other machines may differ in the last digits.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Options:
    """Choice of episodes to film, and how they are drawn.

    Attributes:
        episodes: some of "best", "median", "worst", or a number: the first so many.
        formats: some of "mp4", "gif", "jpg": six moments side by side.
        quality: "fast", or "high": with shadows and smooth edges, several times slower.
        size: (width, height) in pixels of MuJoCo's pictures, and the box that others are scaled
            into; the caption comes below. None: 640 x 480, and as large as they come.
        fps: every step is a picture, and so many are shown a second. None: the environment's own
            pace, at most 30 pictures a second.
    """

    episodes: tuple[str, ...] | int = NAMES
    formats: tuple[str, ...] = ("mp4",)
    quality: str = "fast"
    size: tuple[int, int] | None = None
    fps: float | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for values that are not allowed."""
        names = (self.episodes,) if isinstance(self.episodes, int) else self.episodes or ("",)
        for name in names:
            if name not in (range(1, MOST_EPISODES + 1) if isinstance(name, int) else NAMES):
                raise UsageError(
                    f"--episodes: {shown(name if name != '' else 'nothing')} is neither one of"
                    f" {', '.join(NAMES)} nor a number from 1 to {MOST_EPISODES:,}"
                )
        for name in self.formats or ("",):
            if name not in WRITERS:
                raise UsageError(f"--format: '{name}' is not one of {', '.join(WRITERS)}")
        if self.quality not in ("fast", "high"):
            raise UsageError(f"--quality: '{self.quality}' is not one of fast, high")
        if self.size is not None and not all(64 <= n <= 4096 for n in self.size):
            raise UsageError("--size: width and height must be from 64 to 4096 pixels")
        if self.fps is not None and not 0.1 <= self.fps <= 120:
            raise UsageError("--fps must be from 0.1 to 120")


def parse_episodes(text: str) -> tuple[str, ...] | int:
    """Return the names of ``best,median,worst``, or the number that is written instead."""
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


class Watcher:
    """Hears of the progress of films; this one does nothing. Override what is of interest."""

    def scoring(self, episodes: int) -> None:
        """Hear that so many episodes are played first, to choose from them."""

    def filming(self, labels: Mapping[str, int]) -> None:
        """Hear which episodes are filmed, and of how many steps each is (0: not known)."""

    def step(self, label: str, steps: int) -> None:
        """Hear how many steps long an episode is by now."""

    def done(self, label: str, files: Sequence[Path]) -> None:
        """Hear that the files of an episode are written."""

    def warning(self, line: str) -> None:
        """Hear a warning for the user, in one line."""


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
    Returns the files, such as ``best_seed1342177291.mp4``. The run's report shows those in
    ``RUN/videos``.

    Raises RunError (no such run, or no best policy in it yet) and what ``film_episodes`` raises.
    """
    player = best_of_run(Path(run_folder))
    assert player.run is not None  # noqa: S101 - it is the best of one
    target = Path(to) if to is not None else player.run / "videos"
    files = film_episodes(
        player, options or Options(), target, settings or {}, watcher or Watcher()
    )
    if to is None:
        add_strip(player.run)
        with contextlib.suppress(PromptPOError):  # the films are there all the same
            write_report(player.run)
    return files


class _Hurry(Watcher):
    """Ends a drawing that takes longer than a page is worth."""

    def __init__(self) -> None:
        self.until = time.monotonic() + _STRIP_SECONDS

    def step(self, label: str, steps: int) -> None:
        """Raise PromptPOError once the time is over."""
        if time.monotonic() > self.until:
            raise PromptPOError(f"{label}: drawing takes more than {_STRIP_SECONDS:g} s")


def add_strip(run_folder: Path) -> bool:
    """Draw six moments of the best policy's median held-out episode, as ``RUN/videos/strip.jpg``.

    The run's report shows them beside the score. Returns False where nothing is drawn: they are
    there already and the run has not gone on, it has no held-out episodes, or the environment, this
    machine or its packages draw nothing within ``_STRIP_SECONDS``.
    """
    strip, log = run_folder / "videos" / "strip.jpg", run_folder / "events.jsonl"
    options = Options(episodes=("median",), formats=("jpg",))
    with contextlib.suppress(PromptPOError, OSError):
        if strip.is_file() and strip.stat().st_mtime >= log.stat().st_mtime:
            return False
        strip.unlink(missing_ok=True)  # of another best policy, perhaps
        if load_run(run_folder).test is None:
            return False
        player = best_of_run(run_folder)
        for file in film_episodes(player, options, strip.parent, {}, _Hurry()):
            file.replace(strip)
            return True
    return False


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
    player = Player(str(policy), PolicyFile.read(Path(policy)))
    target = Path(to) if to is not None else Path(policy).parent / "videos"
    return film_episodes(player, options or Options(), target, settings, watcher or Watcher())


def film_episodes(
    player: Player, options: Options, to: Path, changes: Mapping[str, Any], watcher: Watcher
) -> list[Path]:
    """Film the chosen episodes into the folder ``to``; returns the files, best episode first.

    ``changes`` are settings that replace those of the player's run. A policy that fails in the
    middle is filmed until then, with a warning. So is an episode that comes out otherwise than it
    was scored.

    Raises UsageError (a package is missing, or the policy's prepared values), SpecError (the
    environment cannot be drawn), PromptPOError (the policy does not start, or the drawing process
    ended).
    """
    changes = {name: value for name, value in changes.items() if value is not None}
    if {"test_episodes": 1, **player.settings, **changes}["test_episodes"] < 1:
        raise UsageError("there are no held-out episodes to film; give --test-episodes at least 1")
    _require_packages(options)
    (config,) = settings_for([player], changes, watcher.warning)
    _require_folder(to)
    policy = player.file
    assert policy is not None  # noqa: S101 - a baseline is never filmed
    _ = policy.prepared  # or nothing is played
    spec = load_spec(config.spec, published=config.published_prompt, limit=config.env_timeout)
    config = config.for_spec(spec)
    scored = _scored(player, config, spec, changes, options.episodes, watcher)
    chosen = pick(scored, options.episodes)
    reels = [_reel(spec, to, options, name, e, len(scored)) for name, e in chosen.items()]
    settings = worker_settings(config, spec)
    longest = max(e.length for e in chosen.values()) or spec.horizon
    order = Order(
        settings=replace(settings, episode_timeout=_PATIENCE * settings.episode_timeout),
        policy=policy,
        life=config.life,
        seeds=_to_play(scored, [e.seed for e in chosen.values()], config.life),
        reels=tuple(reels),
        size=options.size,
        fps=options.fps,
        high=options.quality == "high",
        drawing=choose_library(os.environ),
        every=math.ceil(longest / (MOMENTS - 1)) if options.formats == ("jpg",) else 0,
    )
    watcher.filming({label: e.length for label, e in chosen.items()})
    files = {reel.label: reel.files for reel in reels}
    done: set[str] = set()
    with contextlib.closing(films(order, os.environ)) as states:
        for state in states:
            if not state.done:
                watcher.step(state.label, state.steps)
                continue
            done.add(state.label)
            for line in _differences(chosen[state.label], state):
                watcher.warning(line)
            watcher.done(state.label, files[state.label])
    for label in files.keys() - done:
        watcher.warning(f"{label}: not filmed, for the policy failed in an episode before it")
    return [file for label in files if label in done for file in files[label]]


def _require_packages(options: Options) -> None:
    remedy = "pip install 'promptpo[video]'"
    if find_spec("PIL") is None or find_spec("imageio_ffmpeg") is None:
        raise UsageError(f"videos need Pillow and imageio-ffmpeg; {remedy}")
    if "mp4" in options.formats:
        from imageio_ffmpeg import get_ffmpeg_exe

        try:
            ffmpeg = shutil.which(get_ffmpeg_exe())
        except RuntimeError:  # the package comes without the program on rare machines
            ffmpeg = None
        if ffmpeg is None:
            raise UsageError(
                "MP4 needs the program ffmpeg; install it, or name it in IMAGEIO_FFMPEG_EXE"
            )


def _require_folder(to: Path) -> None:
    try:
        to.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=to).close()
    except OSError as e:
        raise UsageError(f"{to}: {e.strerror}; give --to a folder that can be written") from None


def _scored(
    player: Player,
    config: RunConfig,
    spec: EnvSpec,
    changes: Mapping[str, Any],
    wanted: tuple[str, ...] | int,
    watcher: Watcher,
) -> Sequence[Episode]:
    """Return the held-out episodes: from the record, else played, else (0 steps) by their seeds."""
    seeds = tuple(episode_seeds(config.seed, "test", config.held_out, life=config.life))
    stored = player.settings
    changing = ("spec", "published_prompt", "policy_lifetime", "evaluation_episodes")
    same = all(changes.get(name, stored.get(name)) == stored.get(name) for name in changing)
    record = load_run(player.run).test if player.run is not None and same else None
    if record is not None and record.error is None and record.seeds == seeds:
        return record.episodes
    if isinstance(wanted, int):
        return [Episode(seed, 0.0, 0) for seed in seeds]
    apart(spec.ref, config.env_timeout, _open_once, spec.ref, config.published_prompt)
    watcher.scoring(len(seeds))
    (evaluation,) = run_to_end(score([player], [config]))
    if not evaluation.rollout.episodes:
        raise PromptPOError(evaluation.error)
    return evaluation.rollout.episodes


def _open_once(ref: str, published: bool) -> None:
    """Raise SpecError where the environment draws nothing."""
    spec = load_spec(ref, published=published)
    task = Task.open(spec)
    require_pictures(task.env, spec.where)
    task.close()


def pick(episodes: Sequence[Episode], wanted: tuple[str, ...] | int) -> dict[str, Episode]:
    """Return episodes by label, in the order wanted; no episode twice, so there may be fewer."""
    if isinstance(wanted, int):
        return {f"episode{n}": e for n, e in enumerate(episodes[:wanted], 1)}
    ranked = sorted(episodes, key=_score, reverse=True)
    places = {"best": 0, "median": len(ranked) // 2, "worst": len(ranked) - 1}
    chosen: dict[str, Episode] = {}
    for name in wanted:
        episode = ranked[places[name]]
        if episode not in chosen.values():
            chosen[name] = episode
    return chosen


def _score(episode: Episode) -> Score:
    """Return what sorts episodes from worst to best, as candidates are."""
    rate = None if episode.success is None else float(episode.success)
    return Score(episode.return_, rate, failed=episode.error is not None)


def _reel(
    spec: EnvSpec, to: Path, options: Options, label: str, episode: Episode, count: int
) -> Reel:
    which = f"{label.replace('episode', 'number ')} of " if count > 1 else ""
    return Reel(
        label=label,
        seed=episode.seed,
        title=f"{spec.name}: {which}{plural(count, 'held-out episode')}, seed {episode.seed}",
        files=tuple(to / f"{label}_seed{episode.seed}.{suffix}" for suffix in options.formats),
    )


def _to_play(scored: Sequence[Episode], filmed: Sequence[int], life: int) -> tuple[int, ...]:
    """Return the filmed seeds, and those before them in their lives: they share an object."""
    if life == 1:
        return tuple(filmed)
    needed: list[int] = []
    for seeds in in_lives([e.seed for e in scored], life, int):
        places = [seeds.index(seed) for seed in filmed if seed in seeds]
        needed += seeds[: max(places, default=-1) + 1]
    return tuple(needed)


def _differences(before: Episode, now: Filmed) -> Iterator[str]:
    """Yield warnings: the policy failed, or this is not the episode that was scored."""
    which = f"{now.label}, seed {before.seed}"
    if now.failure is not None:
        yield f"{which}: the policy failed at step {now.steps}: {gist(now.failure)}"
    same = math.isclose(now.total, before.return_, rel_tol=_CLOSE, abs_tol=_CLOSE)
    if before.length and not (same and now.steps == before.length):
        yield (
            f"{which}: filmed return {number(now.total)} in {now.steps} steps, but it was scored"
            f" {number(before.return_)} in {before.length}; the simulator or the machine differs"
        )
