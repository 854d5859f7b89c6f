"""What the tests of the sandbox share."""

import pytest

import sandbox


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running
