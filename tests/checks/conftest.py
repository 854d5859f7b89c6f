"""Checks of the walk on a line, with texts of its spec replaced."""

import pytest
import walk_spec

from promptpo.checks import Effort, Replays, check_spec
from promptpo.spec import load_spec

SMALL = Effort(transitions=200, reference_steps=200, reference_episodes=(5, 50), start_seeds=10)


@pytest.fixture
def walk(tmp_path):
    """The file of the spec, with texts replaced."""

    def write(*replacements):
        text = walk_spec.TEXT
        for old, new in replacements:
            assert old in text, f"the spec has no {old!r}"
            text = text.replace(old, new)
        path = tmp_path / "walk.py"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def verdicts(walk):
    """Check the spec with texts replaced; return the findings by the name of the check."""

    def check(*replacements, replayed=True):
        path = walk(*replacements)
        with Replays([str(path)] * replayed) as replays:
            again = replays.next if replayed else lambda: "no need"
            return {f.check: f for f in check_spec(load_spec(path), SMALL, again)}

    return check
