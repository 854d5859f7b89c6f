"""A small valid spec as text, and a way to write variants of it."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import python

from promptpo.spec import SpecError, load_spec

SPEC_TEXT = '''
"""Slide: push a block along a line.

The block starts at rest.
"""

import numpy as np

from promptpo.spec import EnvSpec, field


class Observation:
    """The block, before each action."""

    position: float = field(unit="m", low=-1.0, high=1.0, doc="0 in the middle")
    markers: np.ndarray = field(shape=(2, 2), unit="m", frame="world", doc="corners")
    contacts: int = field(low=0, high=3, doc="how many corners touch")

    def distance(self) -> float:
        """Distance from the middle."""
        return abs(self.position)


ACTION = """An array of 1 float in [-1, 1]: the force in N."""


def reward(observation, action, next_observation):
    """Closer is better."""
    return -next_observation.distance()


def make():
    raise RuntimeError("never made in these tests")


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=50,
)
'''


@pytest.fixture
def write_spec(tmp_path: Path) -> Callable[..., Path]:
    """Write the small spec with texts replaced (old, new), return its path."""

    def write(*replacements: tuple[str, str], name: str = "slide.py") -> Path:
        text = textwrap.dedent(SPEC_TEXT).lstrip()
        for old, new in replacements:
            assert old in text, f"the small spec has no {old!r}"
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def failure() -> Callable[..., str]:
    """Return the message with which loading fails, checked to be one line."""

    def fail(ref: Path | str, **how: float) -> str:
        with pytest.raises(SpecError) as caught:
            load_spec(ref, **how)
        message = str(caught.value)
        assert "\n" not in message
        return message

    return fail


@pytest.fixture
def new_process() -> Callable[..., str]:
    """Run code in a process of its own, ``first`` ahead on its path; return what it prints."""

    def run(code: str, cwd: Path | None = None, first: Path | None = None, **env: str) -> str:
        done = python("-c", code, first=filter(None, [first]), cwd=cwd, **env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
