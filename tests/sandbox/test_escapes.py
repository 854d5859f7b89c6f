"""Attempts to reach the interpreter's internals: by the language layer alone, and by both."""

import io
import os
import types
from pathlib import Path

import numpy as np
import pytest
from restricted import programs, run_restricted

from sandbox import Box, CompileError, Host, Interface, Limits, ProgramError
from sandbox.language.facades import Facade

ESCAPES = programs("escapes")
TRACE = Path("/tmp/sandbox-escape")  # noqa: S108 - where the attacks try to write
CANARY = "only-the-host-knows-this"
REFUSALS = (AttributeError, CompileError, ImportError, NameError, TypeError, ValueError)
POWERS = (
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.CellType,
    io.IOBase,
    os._Environ,
)
BUILTINS = (open, eval, exec, compile, __import__, globals, locals, vars)


def powers_in(value, depth=0):
    """What in ``value`` would lead out of the language."""
    if isinstance(value, types.ModuleType) and not isinstance(value, Facade):
        yield value
    if isinstance(value, POWERS) or any(value is builtin for builtin in BUILTINS):
        yield value
    if isinstance(value, dict):
        if "__builtins__" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list | tuple) and depth < 3:
        for item in value:
            yield from powers_in(item, depth + 1)


@pytest.mark.parametrize("name", ESCAPES)
def test_language_layer_alone_gives_no_power(name):
    try:
        namespace, _ = run_restricted(ESCAPES[name] + "\nRESULT = attack()\n")
    except REFUSALS:
        return

    assert list(powers_in(namespace["RESULT"])) == []


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


@pytest.mark.parametrize("name", ESCAPES)
def test_both_layers_let_nothing_out(host, name):
    limits = Limits(act_seconds=0.2, init_seconds=30, memory_mb=256)
    output = ""
    try:
        with host.policy(ESCAPES[name] + POLICY, Interface(1, None, Box((1,))), limits) as policy:
            policy.reset([0], [0])
            assert policy.act([0], np.zeros((1, 1))).tolist() == [[0.5]]
            output = policy.output
    except ProgramError as error:
        output = error.message + error.output

    assert not TRACE.exists()
    assert CANARY not in output
    assert "root:" not in output
    assert str(Path.cwd()) not in output
