"""The files of a film, and the strip below its pictures."""

import numpy as np
import pytest
from PIL import Image
from video_player import Clip

from promptpo.video.film import MAX_BYTES, Film, GifWriter, Mp4Writer

PICTURE = (200, 30, 120)
FPS = 25.0


def colour(number):
    """A colour of its own for each picture."""
    return (number * 37 % 256, number * 91 % 256, number * 151 % 256)


def write_mp4(folder, count, fps=FPS, size=(96, 64)):
    path = folder / "videos" / "film.mp4"
    writer = Mp4Writer(path, fps, folder)
    for number in range(count):
        writer.add(Image.new("RGB", size, colour(number)))
    assert not path.exists()  # a file is whole or not there
    writer.close()
    return path


def test_an_mp4_is_h264_for_every_player_with_its_header_first(tmp_path):
    path = write_mp4(tmp_path, 60, size=(98, 62))  # no multiples of 16
    clip = Clip(path)
    assert (clip.facts["codec"], clip.width, clip.height) == ("h264", 98, 62)
    assert clip.facts["pix_fmt"].startswith("yuv420p")
    data = path.read_bytes()
    assert data.index(b"ftyp") < data.index(b"moov") < data.index(b"mdat")


@pytest.mark.parametrize(("count", "fps"), [(1, FPS), (81, 80 / 3), (5, 0.5)])
def test_each_picture_is_shown_in_its_time_and_the_last_one_is_held(tmp_path, count, fps):
    clip = Clip(write_mp4(tmp_path, count, fps))
    held = max(0, round(fps) - 1)  # for a second
    assert len(clip.pictures) == count + held
    assert clip.duration == pytest.approx((count + held) / fps, abs=0.02)
    for number, picture in enumerate(clip.pictures):
        expected = colour(min(number, count - 1))
        assert np.abs(picture.mean(axis=(0, 1)) - expected).max() < 12


def write_gif(path, pictures, fps=10.0):
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


def test_a_gif_keeps_its_pace_and_is_thinned_to_be_small(tmp_path):
    gif = write_gif(tmp_path / "short.gif", shaded(20), fps=4.0)
    assert gif.info["loop"] == 0
    assert [delay for _, delay in frames(gif)] == [*[250] * 19, 1000]
    for count in (140, 141, 142, 500):
        gif = write_gif(tmp_path / "long.gif", shaded(count), fps=30.0)
        assert 70 <= gif.n_frames <= 141
        *_, (last, _) = frames(gif)
        assert np.abs(last.mean(axis=(0, 1)) - (255, 0, 0)).max() < 8
    assert write_gif(tmp_path / "large.gif", shaded(3, (1280, 640))).size == (420, 210)
    rng = np.random.default_rng(0)
    noise = (
        Image.fromarray(rng.integers(0, 256, (300, 400, 3), dtype=np.uint8)) for _ in range(60)
    )
    assert write_gif(tmp_path / "noise.gif", noise).n_frames >= 2
    assert (tmp_path / "noise.gif").stat().st_size <= MAX_BYTES


class Pictures:
    """A writer that keeps the pictures."""

    def __init__(self):
        self.all, self.closed = [], False

    def add(self, picture):
        self.all.append(np.array(picture))

    def close(self):
        self.closed = True


def draw(width=640, height=101, failure="", title="best of 50 held-out episodes", **moment):
    """The last picture of a film whose episode has come to a moment."""
    kept = Pictures()
    moment = {"steps": 123, "reward": -12345.6, "total": -987654.3, "success": False} | moment
    film = Film(
        lambda: Image.new("RGB", (width, height), PICTURE), "best", title, [kept], 1, 500, **moment
    )
    film.take()
    film.close(failure)
    assert kept.closed
    return kept.all[-1]


@pytest.mark.parametrize("width", [16, 257, 640])
def test_the_picture_stays_as_it_is_above_the_strip(width):
    full = draw(width, title="a long title " * 30)
    assert (full[:101, :width] == PICTURE).all()
    assert [n % 2 for n in full.shape[:2]] == [0, 0]
    if width > 200:  # nothing runs out of the strip
        ground = full[-1, -1]
        assert (full[101:, -2:] == ground).all()
        assert (full[-2:] == ground).all()


def test_each_part_of_a_moment_shows():
    for other in (
        {"steps": 124},
        {"reward": 1.0},
        {"total": 0.5},
        {"success": True},
        {"over": True},
        {"failure": "ZeroDivisionError"},
        {"success": None},
    ):
        assert (draw(**other) != draw()).any()
    assert (draw(success=None, over=True) == draw(success=None)).all()
    strip = draw()[101:].astype(int).sum(axis=2)
    assert strip.max() - np.median(strip) > 500


def test_a_film_takes_every_second_picture_and_the_last_one():
    kept = Pictures()
    film = Film(
        lambda: Image.new("RGB", (64, 64)), "best", "a title", [kept], 2, 500, success=False
    )
    film.take()
    for step in range(1, 6):
        film.step(1.0, success=step == 2, over=step == 5)
    assert len(kept.all) == 4  # steps 0, 2, 4 and 5
    assert (film.steps, film.total, film.success) == (5, 5.0, True)
