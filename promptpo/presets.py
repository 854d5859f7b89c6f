"""Named sets of settings, for ``--preset``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Named sets of values; what is given explicitly wins over them.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "rounds": 10,
        "candidates": 10,
        "episodes": 5,
        "max_repairs": 10,
        "selection_episodes": 20,
        "smallest_difference": 0,
        "published_prompt": True,
        "facts": False,
        "patience": 0,
        "early_stop": False,
        "history": "published",
        "history_tokens": 24_000,
        "probe": 0,
        "challenge": False,
        "second_line": False,
        "revise_feedback": False,
        "trace": False,
        "prepare_time": 0,
    },
    "quick": {"rounds": 2, "candidates": 2, "episodes": 3, "test_episodes": 10},
}
