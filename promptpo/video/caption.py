"""The strip below each picture: which episode this is, its step, reward, return and success."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from promptpo.common.text import number

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

_GROUND, _LINE = (22, 25, 31), (58, 64, 76)
_BRIGHT, _MUTED = (240, 243, 247), (160, 169, 184)
_GOOD, _BAD = (106, 214, 138), (255, 128, 118)


@dataclass(frozen=True)
class Moment:
    """Where an episode stands after ``step`` steps.

    ``reward`` is that of the last step (None before the first one); ``success`` is None where the
    task defines none. ``failure`` is why the policy failed here, if it did.
    """

    step: int
    reward: float | None = None
    total: float = 0.0
    success: bool | None = None
    over: bool = False
    failure: str = ""


@dataclass(frozen=True)
class Caption:
    """Draws strips for pictures of ``width`` pixels; ``title`` says which episode it is."""

    width: int
    title: str
    horizon: int
    tells_success: bool

    def below(self, picture: Image, moment: Moment) -> Image:
        """The picture with its strip below it; width and height are even."""
        from PIL import Image, ImageDraw

        full = Image.new("RGB", (_even(self.width), _even(picture.height + self.height)), _GROUND)
        full.paste(picture, (0, 0))
        draw = ImageDraw.Draw(full)
        draw.line((0, picture.height, full.width, picture.height), _LINE)
        self._draw(draw, picture.height, moment)
        return full

    @cached_property
    def size(self) -> int:
        """Pixels of the letters."""
        return _letters(self.width)

    @cached_property
    def height(self) -> int:
        """Pixels of the strip."""
        return round(4.6 * self.size)

    def _draw(self, draw: ImageDraw, top: int, moment: Moment) -> None:
        margin = self.size * 3 // 4
        title = f"policy failed: {moment.failure}" if moment.failure else self.title
        draw.text(
            (margin, top + round(0.4 * self.size)),
            _shortened(title, self._label_font, self.width - 2 * margin),
            _BAD if moment.failure else _MUTED,
            font=self._label_font,
        )
        cells = self._cells(moment)
        step = (self.width - 2 * margin) / len(cells)
        for column, (label, value, colour) in enumerate(cells):
            left = margin + round(column * step)
            draw.text((left, top + round(1.75 * self.size)), label, _MUTED, font=self._label_font)
            draw.text((left, top + round(2.85 * self.size)), value, colour, font=self._value_font)

    def _cells(self, moment: Moment) -> list[tuple[str, str, tuple[int, int, int]]]:
        reward = "" if moment.reward is None else number(moment.reward)
        cells = [
            ("step", f"{moment.step} / {self.horizon}", _BRIGHT),
            ("reward", reward, _BRIGHT),
            ("return", number(moment.total), _BRIGHT),
        ]
        if self.tells_success:
            so_far = ("no", _BAD) if moment.over else ("not yet", _MUTED)
            cells.append(("success", *(("yes", _GOOD) if moment.success else so_far)))
        return cells

    @cached_property
    def _label_font(self) -> FreeTypeFont:
        return label_font(self.width)

    @cached_property
    def _value_font(self) -> FreeTypeFont:
        return _font(round(1.1 * self.size))


def _letters(width: int) -> int:
    """Size that is legible in a picture of any width."""
    return min(max(round(width / 40), 11), 26)


def label_font(width: int) -> FreeTypeFont:
    """The font of small words in a picture of that width."""
    return _font(round(0.85 * _letters(width)))


def _font(size: int) -> FreeTypeFont:
    """Pillow's own font, so that pictures look alike everywhere."""
    from PIL import ImageFont
    from PIL.ImageFont import FreeTypeFont

    font = ImageFont.load_default(size)
    if not isinstance(font, FreeTypeFont):
        raise TypeError("this Pillow is built without FreeType; install the one from PyPI")
    return font


def _shortened(text: str, font: FreeTypeFont, room: int) -> str:
    """The text, or as much of it as fits, with dots."""
    if font.getlength(text) <= room:
        return text
    while text and font.getlength(text + "...") > room:
        text = text[:-1]
    return text.rstrip() + "..."


def _even(pixels: int) -> int:
    return pixels + pixels % 2
