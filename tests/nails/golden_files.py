"""Golden files: what the program does today, as JSON beside the tests that compare it.

``WRITE_GOLDEN=1 pytest tests/nails -m ''`` writes them anew; read the difference before it is kept.
"""

import hashlib
import json
import os
import platform
from pathlib import Path

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_features__

FOLDER = Path(__file__).parent / "golden"
WRITE = bool(os.environ.get("WRITE_GOLDEN"))
#: What the last bit of a number may depend on.
VERSIONS = [platform.machine(), platform.python_version(), np.__version__]

#: What else it depends on: numpy's functions differ in it from processor to processor.
PROCESSOR = [name for name, present in __cpu_features__.items() if present]


def digest(text):
    """Return the first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain(value):
    """Return the value as JSON has it, floats with 9 significant digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def golden(name):
    """Return what a golden file holds; nothing where there is none yet."""
    file = FOLDER / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def hold(name, found):
    """Assert that each entry of ``found`` is as in the golden file, or write them into it."""
    found, known = plain(found), golden(name)
    if WRITE:
        FOLDER.mkdir(exist_ok=True)
        lines = [
            f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}"
            for k, v in sorted({**known, **found}.items())
        ]
        (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    for key, value in found.items():
        assert value == known.get(key), key


def need_versions(name):
    """Skip the test where the golden file is of other versions: its numbers are chaotic."""
    if not WRITE and golden(name)["versions"] != VERSIONS:
        pytest.skip(f"{name}.json was written with {golden(name)['versions']}")


#: Events that say what a run asked, played and decided; the others tell of its machine.
EVENTS = (
    *("prompt", "reply", "rollout", "candidate", "feedback", "coverage", "round", "table"),
    *("tuning", "tuned", "prepared", "selection", "test", "finished"),
)


def log_of(folder):
    """Return the last score of each candidate, and a digest of all events of each type.

    Neither the order of events counts nor whether one was written twice, as resuming may do.
    """
    found = {"scores": {}}
    lines = {kind: set() for kind in EVENTS}
    for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        kind = event.pop("type")
        del event["time"]
        event.pop("seconds", None)  # that preparing took
        if kind == "candidate":
            name = "r{round:02d}_c{candidate:02d}_{attempt}".format(**event["key"])
            found["scores"][name] = (event["score"] or {}).get("mean_return")
        if kind in lines:
            lines[kind].add(json.dumps(event, sort_keys=True))
    return found | {kind: digest("\n".join(sorted(all_))) for kind, all_ in lines.items() if all_}
