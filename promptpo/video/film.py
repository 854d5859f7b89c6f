"""One filmed episode: pictures with a caption below them, written to MP4 and GIF files."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.common.files import write_atomically
from promptpo.common.text import number
from promptpo.errors import PromptPOError

if TYPE_CHECKING:
    from PIL.Image import Image

#: Seconds for which the last picture stays.
_HOLD = 1.0
#: Of a GIF: most pictures (a longer episode keeps every second, every fourth, ... of them), pixels
#: of the longer side, colours, pictures a second at most, and bytes at most.
_PICTURES, _SIDE, _COLOURS, _RATE, MAX_BYTES = 140, 420, 96, 12.5, 5_000_000

#: Of a strip: how many pictures stand side by side, and pixels of the width of each.
MOMENTS, _SHOWN = 6, 220

Colour = tuple[int, int, int]
#: A text with its colour.
Words = tuple[str, Colour]

_GROUND, _BRIGHT, _MUTED = (22, 25, 31), (240, 243, 247), (160, 169, 184)
_GOOD, _BAD = (106, 214, 138), (255, 128, 118)


@dataclass
class Mp4Writer:
    """Writes H.264 by ffmpeg, a program that imageio-ffmpeg brings or finds.

    Width and height of the pictures are even. ``fps`` is pictures per second; ``scratch`` is a
    folder for the unfinished file.
    """

    path: Path
    fps: float
    scratch: Path
    _count: int = 0
    _last: bytes = b""
    _ffmpeg: Any = None

    def add(self, picture: Image) -> None:
        """Append one RGB picture."""
        from imageio_ffmpeg import write_frames

        if self._ffmpeg is None:
            options = ["-movflags", "+faststart"]  # the header first: players start at once
            self._ffmpeg = write_frames(
                str(self._draft), picture.size, fps=self.fps, codec="libx264", quality=6,
                macro_block_size=2, output_params=options,
            )  # fmt: skip
            self._ffmpeg.send(None)
        self._last = picture.tobytes()
        self._ffmpeg.send(self._last)
        self._count += 1

    def close(self) -> None:
        """Write the file, whole or not at all. Raises PromptPOError where ffmpeg has failed."""
        from imageio_ffmpeg import count_frames_and_secs

        held = max(0, round(self.fps * _HOLD) - 1)
        for _ in range(held):
            self._ffmpeg.send(self._last)
        self._ffmpeg.close()
        if count_frames_and_secs(str(self._draft))[0] != self._count + held:
            raise PromptPOError(f"{self.path}: ffmpeg wrote a part only; is the disk full?")
        write_atomically(self.path, self._draft.read_bytes())

    @property
    def _draft(self) -> Path:
        return self.scratch / self.path.name


@dataclass
class GifWriter:
    """Writes GIFs that are small enough to send: few pictures, few colours common to all.

    ``fps`` is the rate at which pictures come; ``scratch`` is not used.
    """

    path: Path
    fps: float
    scratch: Path | None = None
    _pictures: list[Image] = field(default_factory=list)
    _last: Image | None = None
    _every: int = 1
    _count: int = 0

    def add(self, picture: Image) -> None:
        """Append one RGB picture."""
        from PIL.Image import Resampling

        self._last = picture.copy()
        self._last.thumbnail((_SIDE, _SIDE), Resampling.LANCZOS)
        if self._count % self._every == 0:
            self._pictures.append(self._last)
        self._count += 1
        if len(self._pictures) > _PICTURES:
            self._pictures = self._pictures[::2]
            self._every *= 2

    def close(self) -> None:
        """Write the file, whole or not at all."""
        pictures, rate = list(self._pictures), min(self.fps / self._every, _RATE)
        if self._last is not None and self._last is not pictures[-1]:
            pictures.append(self._last)
        data = _gif(pictures, rate)
        while len(data) > MAX_BYTES and len(pictures) > 2:
            pictures, rate = [*pictures[:-1:2], pictures[-1]], max(rate / 2, 1.0)
            data = _gif(pictures, rate)
        write_atomically(self.path, data)


def _gif(pictures: list[Image], rate: float) -> bytes:
    """Return a GIF of the pictures, with one palette taken from a few of them."""
    from PIL import Image

    some = [*pictures[:: max(1, len(pictures) // 8)][:8], pictures[-1]]
    width, height = some[0].size
    sheet = Image.new("RGB", (width, height * len(some)))
    for row, picture in enumerate(some):
        sheet.paste(picture, (0, row * height))
    palette = sheet.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE)
    first, *rest = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    delay = max(20, round(100 / rate) * 10)  # milliseconds; browsers slow down what is faster
    delays = [delay] * len(rest) + [max(delay, round(1000 * _HOLD))]
    buffer = io.BytesIO()
    first.save(buffer, "GIF", save_all=True, append_images=rest, duration=delays, loop=0)
    return buffer.getvalue()


@dataclass
class StripWriter:
    """Writes a few moments of an episode side by side as one JPEG, without their captions.

    ``fps`` and ``scratch`` are not used.
    """

    path: Path
    fps: float = 0.0
    scratch: Path | None = None
    _pictures: list[Image] = field(default_factory=list)

    def add(self, picture: Image) -> None:
        """Append one RGB picture."""
        from PIL.Image import Resampling

        below = picture.height - round(4.6 * _letters(picture.width))
        size = (_SHOWN, round(_SHOWN * below / picture.width))
        shown = picture.crop((0, 0, picture.width, below)).resize(size, Resampling.LANCZOS)
        self._pictures.append(shown)

    def close(self) -> None:
        """Write the file, whole or not at all."""
        from PIL import Image

        last = len(self._pictures) - 1
        chosen = [self._pictures[round(i * last / (MOMENTS - 1))] for i in range(MOMENTS)]
        width, height = chosen[0].size
        strip = Image.new("RGB", (MOMENTS * width, height), _GROUND)
        for place, picture in enumerate(chosen):
            strip.paste(picture, (place * width, 0))
        buffer = io.BytesIO()
        strip.save(buffer, "JPEG", quality=82, optimize=True)
        write_atomically(self.path, buffer.getvalue())


Writer = Mp4Writer | GifWriter | StripWriter

#: By the format's name, which is the file's suffix too.
WRITERS: dict[str, type[Writer]] = {"mp4": Mp4Writer, "gif": GifWriter, "jpg": StripWriter}


@dataclass
class Film:
    """One episode as it is filmed: a picture every ``every`` steps, for all of the writers.

    ``label`` and ``title`` say which episode it is. ``success`` is None where the task defines
    none; ``met``: whether a step has met its success test.
    """

    camera: Callable[[], Image]
    label: str
    title: str
    writers: list[Writer]
    every: int
    horizon: int
    success: bool | None = None
    met: bool = False
    steps: int = 0
    total: float = 0.0
    reward: float | None = None
    over: bool = False

    def step(self, reward: float, success: bool | None, *, over: bool) -> None:
        """Count a step, and take a picture where one is due; ``success``: the step met the test."""
        self.steps += 1
        self.total += reward
        self.reward, self.over = reward, over
        self.success = None if success is None else bool(self.success) or success
        if over or self.steps % self.every == 0:
            self.take()

    def take(self, failure: str = "") -> None:
        """Take a picture of the environment as it stands; ``failure``: why the policy failed."""
        cells: list[Words] = [
            (f"step\n{self.steps} / {self.horizon}", _BRIGHT),
            ("reward\n" + ("" if self.reward is None else number(self.reward)), _BRIGHT),
            (f"return\n{number(self.total)}", _BRIGHT),
        ]
        if self.success:
            cells.append(("success\nyes", _GOOD))
        elif self.success is not None:
            over = self.over or bool(failure)
            cells.append(("success\nno", _BAD) if over else ("success\nnot yet", _MUTED))
        title = (f"policy failed: {failure}", _BAD) if failure else (self.title, _MUTED)
        picture = captioned(self.camera(), title, cells)
        for writer in self.writers:
            writer.add(picture)

    def close(self, failure: str = "") -> None:
        """Write the files; a ``failure`` of the policy is on the last picture."""
        if failure:
            self.take(failure)
        for writer in self.writers:
            writer.close()


def _letters(width: int) -> int:
    """Return the height of a caption's letters, in pixels."""
    return min(max(round(width / 40), 11), 26)


def captioned(picture: Image, title: Words, cells: list[Words]) -> Image:
    """Return a picture of even width and height with a strip below: a title, and cells under it.

    A cell's text is a label and a value in two lines.
    """
    from PIL import Image, ImageDraw, ImageFont

    size = _letters(picture.width)
    height = picture.height + round(4.6 * size)
    full = Image.new("RGB", (picture.width + picture.width % 2, height + height % 2), _GROUND)
    full.paste(picture, (0, 0))
    draw, font = ImageDraw.Draw(full), ImageFont.load_default(size)
    left, room = 0.75 * size, picture.width - 1.5 * size

    words, colour = title
    while len(words) > 3 and draw.textlength(words, font) > room:
        words = f"{words[:-4]}..."
    draw.text((left, picture.height + 0.3 * size), words, colour, font)
    for column, (text, colour) in enumerate(cells):
        label, value = text.split("\n")
        x = left + column * room / len(cells)
        draw.text((x, picture.height + 1.65 * size), label, _MUTED, font)
        draw.text((x, picture.height + 2.95 * size), value, colour, font)
    return full
