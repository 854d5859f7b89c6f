"""A video player: MP4s decoded by a real browser, as those who watch them have it."""

import base64
import io
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

_LOAD = """async source => {
    const video = document.createElement('video');
    video.muted = true;
    window.video = video;
    await new Promise((done, failed) => {
        video.onloadeddata = done;
        video.onerror = () => failed(new Error(video.error.message));
        video.src = source;
    });
    return [video.videoWidth, video.videoHeight, video.duration];
}"""

_SEEK = """async time => {
    const video = window.video, canvas = document.createElement('canvas');
    // A seek may end before its picture is there to be drawn.
    const shown = new Promise(done => video.requestVideoFrameCallback(done));
    await new Promise(done => { video.onseeked = done; video.currentTime = time; });
    await Promise.race([shown, new Promise(done => setTimeout(done, 2000))]);
    canvas.width = video.videoWidth;
    canvas.height = video.videoHeight;
    canvas.getContext('2d').drawImage(video, 0, 0);
    return canvas.toDataURL('image/png');
}"""


@dataclass
class Clip:
    """A video that is open in the browser; ``duration`` in seconds."""

    page: Any
    width: int
    height: int
    duration: float

    def picture(self, time):
        """What is shown at a time: (height, width, 3) uint8."""
        url = self.page.evaluate(_SEEK, time)
        png = base64.b64decode(url.partition(",")[2])
        return np.array(Image.open(io.BytesIO(png)).convert("RGB"))


@dataclass
class Player:
    browser: Any

    @contextmanager
    def open(self, path):
        page = self.browser.new_page()
        data = base64.b64encode(Path(path).read_bytes()).decode()
        try:
            yield Clip(page, *page.evaluate(_LOAD, f"data:video/mp4;base64,{data}"))
        finally:
            page.close()
