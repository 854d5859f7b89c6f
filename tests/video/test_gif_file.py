"""GIF files: what is kept of many pictures, and how large they come out."""

import numpy as np
import pytest
from PIL import Image

from promptpo.video.gif import MAX_BYTES, GifWriter


def write(path, pictures, fps=10.0):
    writer = GifWriter(path, fps)
    for picture in pictures:
        writer.add(picture)
    writer.close()
    return Image.open(path)


def shaded(count, size=(60, 40)):
    """Pictures with a bar that moves on, the last of them red."""
    for number in range(count):
        picture = Image.new("RGB", size, (0, 0, 90))
        picture.paste((255, 255, 0), (number % size[0], 0, number % size[0] + 3, size[1]))
        yield picture if number < count - 1 else Image.new("RGB", size, (255, 0, 0))


def frames(gif):
    for number in range(gif.n_frames):
        gif.seek(number)
        yield np.array(gif.convert("RGB")), gif.info["duration"]


def test_a_short_episode_keeps_every_picture_and_its_pace(tmp_path):
    gif = write(tmp_path / "short.gif", shaded(20), fps=4.0)
    delays = [delay for _, delay in frames(gif)]
    assert delays[:-1] == [250] * 19
    assert delays[-1] == 1000


@pytest.mark.parametrize("count", [139, 140, 141, 142, 500, 1001])
def test_a_long_episode_is_thinned_and_ends_with_its_last_picture(tmp_path, count):
    gif = write(tmp_path / "long.gif", shaded(count), fps=30.0)
    assert 70 <= gif.n_frames <= 141
    *_, (last, _) = frames(gif)
    assert np.abs(last.mean(axis=(0, 1)) - (255, 0, 0)).max() < 8


def test_large_pictures_are_made_smaller(tmp_path):
    gif = write(tmp_path / "large.gif", shaded(3, (1280, 640)))
    assert gif.size == (420, 210)


def test_what_hardly_compresses_stays_below_the_limit(tmp_path):
    rng = np.random.default_rng(0)
    noise = (
        Image.fromarray(rng.integers(0, 256, (300, 400, 3), dtype=np.uint8)) for _ in range(60)
    )
    gif = write(tmp_path / "noise.gif", noise)
    assert (tmp_path / "noise.gif").stat().st_size <= MAX_BYTES
    assert gif.n_frames >= 2


def test_it_repeats_for_ever(tmp_path):
    assert write(tmp_path / "loop.gif", shaded(3)).info["loop"] == 0
