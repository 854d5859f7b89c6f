"""GIFs that are small enough to send: few pictures, and few colours, the same for all of them."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.common.files import write_atomically

if TYPE_CHECKING:
    from PIL.Image import Image

#: Bytes that a file does not exceed.
MAX_BYTES = 5_000_000
#: Pictures kept at most: a longer episode keeps every second, every fourth, ... of them.
_MAX_PICTURES = 140
#: Pixels of the longer side.
_MAX_SIDE = 420
_COLOURS = 96
#: Pictures a second at most; an episode with many pictures passes in less time than it took.
_MAX_RATE = 12.5


@dataclass
class GifWriter:
    """Gathers pictures of one size and writes them on ``close``.

    ``fps`` is the rate at which the pictures come; the last one stays for ``hold`` seconds.
    """

    path: Path
    fps: float
    hold: float = 1.0
    _kept: list[Image] = field(default_factory=list)
    _last: Image | None = None
    _every: int = 1
    _count: int = 0

    def add(self, picture: Image) -> None:
        """Append one RGB picture."""
        self._last = picture
        if self._count % self._every == 0:
            self._kept.append(_small(picture))
            self._last = None
        self._count += 1
        if len(self._kept) > _MAX_PICTURES:
            self._kept = self._kept[::2]
            self._every *= 2

    def close(self) -> None:
        """Write the file, whole or not at all."""
        pictures = self._kept + ([_small(self._last)] if self._last else [])
        rate = min(self.fps / self._every, _MAX_RATE)
        data = self._file(pictures, rate)
        while len(data) > MAX_BYTES and len(pictures) > 2:
            pictures = pictures[:-1:2] + pictures[-1:]
            rate = max(rate / 2, 1.0)
            data = self._file(pictures, rate)
        write_atomically(self.path, data)

    def _file(self, pictures: list[Image], rate: float) -> bytes:
        from PIL import Image

        palette = _palette(pictures)
        indexed = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
        delay = max(20, round(100 / rate) * 10)  # milliseconds; browsers slow down what is faster
        delays = [delay] * (len(indexed) - 1) + [max(delay, round(1000 * self.hold))]
        buffer = io.BytesIO()
        indexed[0].save(
            buffer,
            "GIF",
            save_all=True,
            append_images=indexed[1:],
            duration=delays,
            loop=0,
            optimize=False,
        )
        return buffer.getvalue()


def _small(picture: Image) -> Image:
    from PIL import Image

    small = picture.copy()
    small.thumbnail((_MAX_SIDE, _MAX_SIDE), Image.Resampling.LANCZOS)
    return small


def _palette(pictures: list[Image]) -> Image:
    """One palette for all pictures, from a sheet of some of them."""
    from PIL import Image

    some = pictures[:: max(1, len(pictures) // 8)][:8] + pictures[-1:]
    width, height = some[0].size
    sheet = Image.new("RGB", (width, height * len(some)))
    for row, picture in enumerate(some):
        sheet.paste(picture, (0, row * height))
    return sheet.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE)
