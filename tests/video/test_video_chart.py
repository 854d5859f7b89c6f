"""The chart that stands in for environments that draw nothing."""

import numpy as np
import pytest

from promptpo.spec import Field, LayoutField
from promptpo.video.chart import Chart

SIZE = (640, 480)
BLUE = (31, 98, 178)


def fields(*sizes):
    """Array fields of these sizes, one after the other."""
    ends = np.cumsum(sizes).tolist()
    return tuple(
        LayoutField(f"field{n}", "array", (size,), end - size, end, Field())
        for n, (size, end) in enumerate(zip(sizes, ends, strict=True))
    )


def chart(sizes, rows, size=SIZE):
    made = Chart(fields(*sizes), size)
    made.start(np.asarray(rows[0], dtype=float))
    for number, row in enumerate(rows[1:]):
        made.see(np.asarray(row, dtype=float), float(number % 3))
    return np.array(made())


def blue_in(picture, panel):
    """Places of the first line's pixels in a panel (left, top, right, bottom)."""
    left, top, right, bottom = panel
    return np.argwhere((picture[top:bottom, left:right] == BLUE).all(axis=2))


def test_a_value_that_rises_is_a_line_that_rises():
    picture = chart([1], [[n] for n in range(50)])
    places = blue_in(picture, (0, 30, 640, 240))
    left, right = places[places[:, 1].argmin()], places[places[:, 1].argmax()]
    assert left[0] > right[0] + 100
    assert right[1] > left[1] + 500


def test_the_first_picture_has_no_lines_yet():
    assert len(blue_in(chart([1, 1], [[1.0, 2.0]]), (0, 0, *SIZE))) == 0


def test_the_time_axis_makes_room():
    widths = [
        np.ptp(blue_in(chart([1], [[n % 7] for n in range(count)]), (0, 30, 640, 240))[:, 1])
        for count in (50, 51, 100)
    ]
    assert widths[0] > 580
    assert widths[1] < 0.6 * widths[0]
    assert widths[2] > 580


@pytest.mark.parametrize("value", [0.0, 5.0, np.nan, np.inf])
def test_values_that_have_no_range_can_be_drawn(value):
    assert chart([1, 2], [[value] * 3] * 5).shape == (480, 640, 3)


def test_what_is_not_finite_is_left_out():
    rows = [[n] for n in range(50)]
    whole = chart([1], rows)
    rows[20], rows[30] = [np.inf], [np.nan]
    changed = (chart([1], rows) != whole).any(axis=2)
    assert changed.mean() < 0.01


def test_of_a_long_array_only_the_last_number_counts():
    rows = np.zeros((40, 48))
    flat = chart([48], rows)
    rows[:, :47] = np.random.default_rng(0).random((40, 47))
    assert (chart([48], rows) == flat).all()
    rows[:, 47] = np.arange(40)
    assert (chart([48], rows) != flat).any()


def test_more_fields_than_there_is_room_for_are_left_out():
    rows = np.zeros((10, 30))
    few = chart([1] * 30, rows)
    rows[:, 7:] = 9.0
    assert (chart([1] * 30, rows) == few).all()


def test_a_new_episode_forgets_the_one_before():
    made = Chart(fields(1), SIZE)
    made.start(np.zeros(1))
    before = np.array(made())
    made.see(np.ones(1), 1.0)
    made.start(np.zeros(1))
    assert (np.array(made()) == before).all()


def test_an_episode_of_thousands_of_steps_is_drawn():
    assert chart([2], np.random.default_rng(0).random((6000, 2)), (200, 120)).std() > 5
