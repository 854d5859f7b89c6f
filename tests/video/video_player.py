"""Videos as a player has them: decoded by ffmpeg."""

import imageio_ffmpeg
import numpy as np


class Clip:
    """The pictures of an MP4 file, (height, width, 3) uint8 each; ``duration`` in seconds."""

    def __init__(self, path):
        frames = imageio_ffmpeg.read_frames(str(path))
        self.facts = next(frames)
        self.width, self.height = self.facts["size"]
        self.duration = self.facts["duration"]
        shape = self.height, self.width, 3
        self.pictures = [np.frombuffer(frame, np.uint8).reshape(shape) for frame in frames]

    def picture(self, time):
        """The one that is shown at a time."""
        return self.pictures[min(int(time * self.facts["fps"]), len(self.pictures) - 1)]
