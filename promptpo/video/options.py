"""What is asked of videos, and who learns how their making goes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpo.common.values import shown
from promptpo.errors import UsageError
from promptpo.video.film import WRITERS

#: What ``--episodes`` may name.
NAMES = ("best", "median", "worst")

#: More films are a slip of the hand.
MOST_EPISODES = 1000


@dataclass(frozen=True)
class Options:
    """What is asked of videos.

    Attributes:
        episodes: some of "best", "median", "worst", or a number: the first so many.
        formats: some of "mp4", "gif".
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
        """Raise UsageError for what cannot be."""
        wrong = _wrong_episodes(self.episodes)
        if wrong:
            raise UsageError(
                f"--episodes: {shown(wrong)} is neither one of {', '.join(NAMES)}"
                f" nor a number from 1 to {MOST_EPISODES:,}"
            )
        unknown = [f for f in self.formats if f not in WRITERS]
        if unknown or not self.formats:
            raise UsageError(
                f"--format: '{''.join(unknown[:1])}' is not one of {', '.join(WRITERS)}"
            )
        if self.quality not in ("fast", "high"):
            raise UsageError(f"--quality: '{self.quality}' is not one of fast, high")
        if self.size is not None and not all(64 <= n <= 4096 for n in self.size):
            raise UsageError("--size: width and height must be from 64 to 4096 pixels")
        if self.fps is not None and not 0.1 <= self.fps <= 120:
            raise UsageError("--fps must be from 0.1 to 120")


def parse_episodes(text: str) -> tuple[str, ...] | int:
    """``best,median,worst``, or the number of episodes to film from the first one on."""
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


def _wrong_episodes(episodes: tuple[str, ...] | int) -> str:
    """What of it cannot be, if anything."""
    if isinstance(episodes, int):
        return "" if 0 < episodes <= MOST_EPISODES else str(episodes)
    return next((name or "nothing" for name in episodes or ("",) if name not in NAMES), "")


class Watcher:
    """Learns how the work goes; this one takes no notice. Override what is of interest."""

    def scoring(self, episodes: int) -> None:
        """So many episodes are played first, to choose from them."""

    def filming(self, labels: Mapping[str, int]) -> None:
        """These episodes are filmed, of so many steps each (0: not known)."""

    def step(self, label: str, steps: int) -> None:
        """An episode is so many steps long by now."""

    def done(self, label: str, files: Sequence[Path]) -> None:
        """The files of an episode are there."""

    def warning(self, line: str) -> None:
        """Something that its user should know."""
