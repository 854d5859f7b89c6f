"""MP4 files, decoded by a real browser."""

import struct

import numpy as np
import pytest
from PIL import Image

from promptpo.video.mp4 import Mp4Writer

pytestmark = pytest.mark.slow

SIZE = (96, 64)
FPS = 25.0


def colour(number):
    """A colour of its own for each picture."""
    return (number * 37 % 256, number * 91 % 256, number * 151 % 256)


def write(path, count, fps=FPS, hold=1.0):
    writer = Mp4Writer(path, fps, hold)
    for number in range(count):
        writer.add(Image.new("RGB", SIZE, colour(number)))
    writer.close()
    return path


def top_level(data):
    """Names and places of the outermost boxes."""
    boxes, at = {}, 0
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        boxes[name.decode()] = at
        at += size
    assert at == len(data)
    return boxes


@pytest.fixture(scope="module")
def long_file(tmp_path_factory):
    """More pictures than are compressed in one piece."""
    return write(tmp_path_factory.mktemp("mp4") / "long.mp4", 130)


def test_a_browser_sees_its_size_and_duration(player, long_file):
    with player.open(long_file) as clip:
        assert (clip.width, clip.height) == SIZE
        assert clip.duration == pytest.approx(129 / FPS + 1.0, abs=0.002)


@pytest.mark.parametrize("number", [0, 1, 47, 48, 49, 95, 96, 128, 129])
def test_each_picture_is_shown_in_its_time(player, long_file, number):
    with player.open(long_file) as clip:
        seen = clip.picture((number + 0.5) / FPS)
    assert np.abs(seen.mean(axis=(0, 1)) - colour(number)).max() < 12


def test_the_last_picture_is_held(player, tmp_path):
    path = write(tmp_path / "held.mp4", 3, hold=2.0)
    with player.open(path) as clip:
        assert clip.duration == pytest.approx(2 / FPS + 2.0, abs=0.002)
        assert np.abs(clip.picture(2.0).mean(axis=(0, 1)) - colour(2)).max() < 12


@pytest.mark.parametrize("count", [1, 2, 49])
def test_few_pictures_make_a_file_too(player, tmp_path, count):
    with player.open(write(tmp_path / "few.mp4", count)) as clip:
        assert clip.duration == pytest.approx((count - 1) / FPS + 1.0, abs=0.002)
        last = clip.picture(clip.duration - 0.5)
    assert np.abs(last.mean(axis=(0, 1)) - colour(count - 1)).max() < 12


def test_a_rate_that_is_no_whole_number_is_kept(player, tmp_path):
    with player.open(write(tmp_path / "odd.mp4", 81, fps=80 / 3, hold=0.0)) as clip:
        assert clip.duration == pytest.approx(81 * 3 / 80, abs=0.002)


def test_the_header_comes_before_the_data(long_file):
    places = top_level(long_file.read_bytes())
    assert places["ftyp"] < places["moov"] < places["mdat"]


def test_a_file_is_whole_or_not_there(tmp_path):
    writer = Mp4Writer(tmp_path / "unfinished.mp4", FPS)
    writer.add(Image.new("RGB", SIZE))
    assert not list(tmp_path.iterdir())
