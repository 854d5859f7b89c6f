"""One filmed episode: pictures with captions, as they are taken, into its files."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from promptpo.video.caption import Caption, Moment
from promptpo.video.gif import GifWriter
from promptpo.video.mp4 import Mp4Writer

if TYPE_CHECKING:
    from PIL.Image import Image

    from promptpo.video.camera import Camera

#: Pictures a second, at most, where none are asked for.
_MAX_RATE = 30.0
#: A chart of a whole episode: pictures at most, and about how many seconds.
_CHART_PICTURES, _CHART_SECONDS = 600, 20


class Writer(Protocol):
    """A file that pictures go into."""

    path: Path

    def add(self, picture: Image) -> None:
        """Append one picture."""
        ...

    def close(self) -> None:
        """Write the file, whole or not at all."""
        ...


#: By the format's name, which is the file's suffix too: called with the path and pictures a second.
WRITERS: dict[str, Callable[[Path, float], Writer]] = {"mp4": Mp4Writer, "gif": GifWriter}


@dataclass(frozen=True)
class Pace:
    """A picture every ``every`` steps, shown at ``fps`` a second."""

    every: int
    fps: float

    @classmethod
    def of(cls, rate: float, wanted: float | None) -> Pace:
        """For ``rate`` steps a second at the environment's own pace.

        With ``wanted``, each step is a picture, and so many are shown a second. Else it goes at
        the environment's own pace, leaving out pictures where they would be more than 30 a second.
        """
        if wanted is not None:
            return cls(1, wanted)
        every = max(1, math.ceil(rate / _MAX_RATE))
        return cls(every, rate / every)

    @classmethod
    def of_chart(cls, horizon: int, wanted: float | None) -> Pace:
        """For a chart, which has no pace of its own: at most 600 pictures, in about 20 s."""
        if wanted is not None:
            return cls(1, wanted)
        every = math.ceil(horizon / _CHART_PICTURES)
        return cls(every, min(max(horizon / every / _CHART_SECONDS, 4.0), _MAX_RATE))


@dataclass
class Film:
    """Takes pictures of one episode; the caller tells each step, and closes it at the end."""

    camera: Camera
    title: str
    files: tuple[Path, ...]
    pace: Pace
    horizon: int
    tells_success: bool
    moment: Moment = field(default_factory=lambda: Moment(0))
    _caption: Caption | None = None
    _writers: list[Writer] = field(default_factory=list)

    def start(self) -> None:
        """Take the first picture; the environment has been reset."""
        self._writers = [WRITERS[f.suffix[1:]](f, self.pace.fps) for f in self.files]
        self._take()

    def step(self, reward: float, success: bool | None, *, over: bool) -> None:
        """One step has been taken; ``success`` is whether it met the success test."""
        before = self.moment
        self.moment = Moment(
            step=before.step + 1,
            reward=reward,
            total=before.total + reward,
            success=None if success is None else bool(before.success) or success,
            over=over,
        )
        if over or self.moment.step % self.pace.every == 0:
            self._take()

    def close(self, failure: str = "") -> None:
        """Write the files; a ``failure`` of the policy is on the last picture."""
        if failure:
            self.moment = replace(self.moment, failure=failure, over=True)
            self._take()
        for writer in self._writers:
            writer.close()

    def _take(self) -> None:
        picture = self.camera()
        if self._caption is None:
            self._caption = Caption(picture.width, self.title, self.horizon, self.tells_success)
        full = self._caption.below(picture, self.moment)
        for writer in self._writers:
            writer.add(full)
