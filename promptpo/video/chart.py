"""Pictures of environments that do not draw themselves: the observation and reward over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from promptpo.common.text import number
from promptpo.video.caption import label_font

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

    from promptpo.spec import LayoutField

_GROUND, _PANEL, _TEXT = (255, 255, 255), (243, 245, 248), (52, 58, 70)
#: Blue, orange, green, purple, red, grey: apart for the colour-blind too.
_LINES = (
    (31, 98, 178),
    (217, 119, 6),
    (0, 138, 102),
    (136, 84, 176),
    (190, 50, 60),
    (110, 118, 130),
)
#: Panels of fields at most; one more shows the reward.
_MAX_FIELDS = 7
#: The time axis begins with room for so many steps, and doubles when they are used up.
_FIRST_STEPS = 50


@dataclass(frozen=True)
class _Panel:
    title: str
    columns: tuple[int, ...]


@dataclass
class Chart:
    """A camera for a chart; ``size`` is (width, height) in pixels."""

    fields: tuple[LayoutField, ...]
    size: tuple[int, int]
    _rows: list[NDArray[np.float64]] = field(default_factory=list)

    def start(self, observation: NDArray[np.float64]) -> None:
        """Forget the episode before; this one begins with ``observation``."""
        self._rows = [np.append(observation, np.nan)]

    def see(self, observation: NDArray[np.float64], reward: float) -> None:
        """One more step."""
        self._rows.append(np.append(observation, reward))

    def __call__(self) -> Image:
        """The chart of all steps so far."""
        from PIL import Image, ImageDraw

        picture = Image.new("RGB", self.size, _GROUND)
        draw = ImageDraw.Draw(picture)
        panels = self._panels()
        across = 1 if len(panels) < 3 else 2
        down = -(-len(panels) // across)
        width, height = self.size[0] // across, self.size[1] // down
        values = np.array(self._rows)
        for place, panel in enumerate(panels):
            left, top = (place % across) * width, (place // across) * height
            _draw_panel(draw, (left, top, width, height), panel.title, values[:, panel.columns])
        return picture

    def _panels(self) -> list[_Panel]:
        """The first few fields, of a long array its last number, and the reward."""
        panels = []
        for item in self.fields[:_MAX_FIELDS]:
            columns = tuple(range(item.start, item.stop))
            long = len(columns) > len(_LINES)
            title = f"{item.name}[{len(columns) - 1}]" if long else item.name
            panels.append(_Panel(title, columns[-1:] if long else columns))
        return [*panels, _Panel("reward", (len(self._rows[0]) - 1,))]


def _draw_panel(
    draw: ImageDraw, box: tuple[int, int, int, int], title: str, values: NDArray[np.float64]
) -> None:
    """Lines for the columns of ``values`` (steps, columns), with their last values."""
    left, top, width, height = box
    gap = 6
    font = label_font(width * 2)
    draw.rectangle((left + gap, top + gap, left + width - gap, top + height - gap), _PANEL)
    last = ", ".join("-" if np.isnan(v) else number(float(v)) for v in values[-1][:3])
    words = f"{title}   {last}" + (" ..." if values.shape[1] > 3 else "")
    draw.text((left + 2 * gap, top + 1.5 * gap), words, _TEXT, font=font)
    inner = (left + 2 * gap, top + 3 * gap + font.size, width - 4 * gap, 0)
    room = height - 5 * gap - font.size
    for column, line in zip(values.T, _LINES, strict=False):
        points = _points(column, values, (inner[0], inner[1], inner[2], room))
        if len(points) > 1:
            draw.line(points, line, width=2, joint="curve")


def _points(
    column: NDArray[np.float64], values: NDArray[np.float64], box: tuple[float, float, float, float]
) -> list[tuple[float, float]]:
    """Where a column's values lie in a box (left, top, width, height), at most two a pixel."""
    left, top, width, height = box
    steps = np.arange(len(column))[:: max(1, int(len(column) / (2 * width)))]
    steps = steps[np.isfinite(column[steps])]
    until = _FIRST_STEPS
    while until < len(column):
        until *= 2
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    share = (column[steps] - low) / (high - low) if high > low else np.full(len(steps), 0.5)
    x = left + width * steps / until
    return list(zip(x.tolist(), (top + height * (1 - share)).tolist(), strict=True))
