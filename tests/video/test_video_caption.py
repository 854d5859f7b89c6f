"""The strip below the picture."""

import numpy as np
import pytest
from PIL import Image

from promptpo.video.caption import Caption, Moment

WIDTHS = [96, 257, 400, 640, 1280]
PICTURE = (200, 30, 120)
LATER = Moment(123, -12345.6, -987654.3, False)


def draw(
    width, moment=LATER, height=100, title="reach: best of 50 held-out episodes, seed 5", **kw
):
    caption = Caption(width, title, kw.get("horizon", 500), kw.get("tells_success", True))
    return np.array(caption.below(Image.new("RGB", (width, height), PICTURE), moment))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_picture_stays_as_it_is_above_the_strip(width):
    full = draw(width, height=101)
    assert (full[:101, :width] == PICTURE).all()
    assert full.shape[0] > 101


@pytest.mark.parametrize("width", WIDTHS)
def test_width_and_height_are_even(width):
    assert [n % 2 for n in draw(width, height=101).shape[:2]] == [0, 0]


@pytest.mark.parametrize("width", [257, 400, 640, 1280])
def test_nothing_runs_out_of_the_strip(width):
    full = draw(width, title="a long title " * 30)
    ground = full[-1, -1]
    assert (full[101:, -2:] == ground).all()
    assert (full[-2:] == ground).all()


@pytest.mark.parametrize(
    "other",
    [
        Moment(124, -12345.6, -987654.3, False),
        Moment(123, 1.0, -987654.3, False),
        Moment(123, -12345.6, 0.5, False),
        Moment(123, -12345.6, -987654.3, True),
        Moment(123, -12345.6, -987654.3, False, over=True),
        Moment(123, -12345.6, -987654.3, False, over=True, failure="ZeroDivisionError"),
    ],
)
def test_each_part_of_a_moment_shows(other):
    assert (draw(640) != draw(640, other)).any()


def test_success_is_left_out_where_the_task_defines_none():
    assert (draw(640, tells_success=False) != draw(640)).any()
    failed = Moment(123, -12345.6, -987654.3, None, over=True)
    assert (draw(640, failed, tells_success=False) == draw(640, tells_success=False)).all()


def test_the_text_has_contrast():
    strip = draw(640)[101:].astype(int).sum(axis=2)
    assert strip.max() - np.median(strip) > 500
