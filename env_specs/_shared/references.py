"""Reference values that were measured for the members of a family, as the source of their specs.

``python -m promptpo.spec.baselines`` writes them with ``--json FILE``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


def references_source(file: Path, ref: str) -> str:
    """The inside of ``references={...}`` of a member, ``family:member``; empty if none is known."""
    rows = [
        f'"{name}": Reference({mean!r}, {rate!r}, deviation={deviation!r}, episodes={episodes})'
        for name, (mean, rate, deviation, episodes) in _measured(file).get(ref, {}).items()
    ]
    return "".join(f"\n        {row}," for row in rows) + ("\n    " if rows else "")


@cache
def _measured(file: Path) -> dict[str, dict[str, list[float]]]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found
