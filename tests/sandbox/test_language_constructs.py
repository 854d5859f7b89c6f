"""Every construct that models write runs, and does what plain Python does."""

import pytest
from sandbox_constructs import CONSTRUCTS
from restricted import run_plain, run_restricted


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_construct_does_what_plain_python_does(name):
    restricted, _ = run_restricted(CONSTRUCTS[name])
    plain = run_plain(CONSTRUCTS[name])

    assert repr(restricted["result"]()) == repr(plain["result"]())
