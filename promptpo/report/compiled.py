"""Compiled templates, kept beside them as Python keeps bytecode: most of the time of a page."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

#: As safe as the modules' bytecode: who can write here can change the package.
FOLDER = Path(__file__).parent / "templates" / "__pycache__"


class CompiledTemplates(FileSystemBytecodeCache):
    """A cache that is left out wherever it cannot be read or written.

    Jinja compares the digest of a template's text and takes nothing of another Python's.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        super().__init__(str(folder), "%s.cache")
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket, or leave it empty."""
        try:
            super().load_bytecode(bucket)
        except (OSError, EOFError, pickle.UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it, unless Python is told to keep none."""
        if sys.dont_write_bytecode:
            return
        try:
            self._folder.mkdir(exist_ok=True)
            super().dump_bytecode(bucket)
        except OSError:  # read-only, or full
            return
