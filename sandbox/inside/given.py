"""What programs are given by name, and cannot alter; what ``prepare`` returned among it."""

from __future__ import annotations

import inspect
import mmap
from typing import Any

from sandbox.inside.sealed import sealed_values
from sandbox.language.mappings import Named


def prepared(pages: mmap.mmap) -> Named:
    """The values in ``pages``, which are read-only."""
    return Named(sealed_values(pages), "prepare() returned")


def takes_one(cls: type[Any]) -> bool:
    """Whether objects of the class are made with an argument."""
    try:
        inspect.signature(cls).bind(None)
    except (TypeError, ValueError):
        return False
    return True
