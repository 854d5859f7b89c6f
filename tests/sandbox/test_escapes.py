"""Attempts to reach the interpreter's internals: by the language layer alone, and by both.

The title of each attempt tells which layer holds:

    compiling   the source is refused
    running     a guard refuses, or what was looked for is not there
    harmless    it runs, and what it gets leads nowhere
    process     the language lets it through; the locked-down process holds it
"""

import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from reach import powers
from restricted import programs, run_restricted

import sandbox
from sandbox import Box, CompileError, Host, Interface, Limits, ProgramError

ESCAPES = programs("escapes")
README = (Path(sandbox.__file__).parent / "README.md").read_text()
TRACE = Path("/tmp/sandbox-escape")  # noqa: S108 - where the attacks try to write
CANARY = "only-the-host-knows-this"
PROCESS = {title for title in ESCAPES if title.endswith("| process")}


def layer_that_holds(source):
    try:
        namespace, _ = run_restricted(source + "\nRESULT = attack()\n")
    except CompileError:
        return "compiling"
    except Exception:
        return "running"
    found = list(powers(namespace["RESULT"], depth=2))
    return f"none: {found}" if found else "harmless"


@pytest.mark.parametrize("title", [title for title in ESCAPES if title not in PROCESS])
def test_language_layer_alone_holds_where_the_corpus_says(title):
    assert layer_that_holds(ESCAPES[title]) == title.rpartition(" | ")[2]


def test_the_readme_says_how_many_each_layer_holds():
    held = Counter(title.rpartition(" | ")[2] for title in ESCAPES)

    assert set(held) <= {"compiling", "running", "harmless", "process"}
    numbers = re.search(
        r"Of the (\d+) .* (\d+) are .* (\d+) by a .* (\d+) run .* (\d+) are", README
    )
    counts = (held[layer] for layer in ("compiling", "running", "harmless", "process"))
    assert [int(n) for n in numbers.groups()] == [len(ESCAPES), *counts]


POLICY = """
class Policy:
    def act(self, obs):
        print(attack())
        return 0.5
"""


@pytest.fixture(scope="module")
def host():
    os.environ["SANDBOX_CANARY"] = CANARY
    with Host() as running:
        yield running
    del os.environ["SANDBOX_CANARY"]


def in_a_process(title):
    """What is refused when compiling never runs, so there it is the slow suite that looks."""
    marks = pytest.mark.slow if title.endswith("| compiling") else ()
    return pytest.param(title, marks=marks)


@pytest.mark.parametrize("title", map(in_a_process, ESCAPES))
def test_both_layers_let_nothing_out(host, title):
    limits = Limits(act_seconds=0.2, init_seconds=30, memory_mb=256)
    output = ""
    try:
        with host.policy(ESCAPES[title] + POLICY, Interface(1, None, Box((1,))), limits) as policy:
            policy.reset([0], [0])
            assert policy.act([0], np.zeros((1, 1))).tolist() == [[0.5]]
            output = policy.output
    except ProgramError as error:
        output = error.message + error.output

    assert not TRACE.exists()
    assert CANARY not in output
    assert "root:" not in output
    assert str(Path.cwd()) not in output
