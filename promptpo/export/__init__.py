"""A run's policy for use elsewhere: a folder of its own, and Stable-Baselines3's ``predict``."""

from promptpo.export.folder import best_of, spec_of, write_folder
from promptpo.export.sb3 import SB3Policy

__all__ = ["SB3Policy", "best_of", "spec_of", "write_folder"]
