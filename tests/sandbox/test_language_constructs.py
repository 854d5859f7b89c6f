"""Every construct that models write runs, and does what plain Python does."""

import pytest
from restricted import programs, run_plain, run_restricted

CONSTRUCTS = programs("constructs")


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_construct_does_what_plain_python_does(name):
    restricted, _ = run_restricted(CONSTRUCTS[name])
    plain = run_plain(CONSTRUCTS[name])

    assert repr(restricted["result"]()) == repr(plain["result"]())
