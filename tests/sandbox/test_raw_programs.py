"""Whatever runs in a policy process, nothing of it reaches the host: raw Python, memory, frames.

Every attack of the corpora that aims at the host runs here past the language layer, in a process as
policies have it, beside another policy that must act on as before.
"""

import os
import secrets
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from acting import indented, policy
from raw_program import ACT, LIBRARIES, LIMITS, Outside, raw
from restricted import programs

import sandbox
from sandbox import ProgramError
from sandbox.host.policy import Preparing

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sandbox.detect().level != "strict", reason="needs strict isolation"
)
VALUES = sandbox.pack({"A": np.eye(3) * 2, "v": np.array([3.0, 1.0, 2.0]), "n": 4})


def acting(text):
    return text + ACT


def writing(body):
    head = 'm, A, v = self.m, self.m["A"], self.m["v"]\n'
    return policy(f"{head}{body}\nreturn v[:2]", "def __init__(self, m):\n    self.m = m\n")


def preparing(body):
    return f"def prepare(data):\n{indented(body, 4)}\n{policy('pass')}"


#: What makes a program of an attack, by the corpus that it stands in.
WRAPPED = {
    **{"escapes": acting, "raw": acting, "raw_mapped": acting, "raw_programs": acting},
    **{"abuse": str, "writes": writing, "prepare_abuse": preparing},
}
#: They run until their time is up.
LONG = {"abuse": ("timeout", "| any"), "prepare_abuse": ("timeout", "memory")}


def attacks():
    for corpus in WRAPPED:
        for title in programs(corpus):
            slow = any(word in title for word in LONG.get(corpus, ()))
            marks = pytest.mark.slow if slow else ()
            yield pytest.param(corpus, title, id=f"{corpus}: {title}", marks=marks)


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    secret = "only-the-host-knows-" + secrets.token_hex(8)
    folder = tmp_path_factory.mktemp("outside")
    for path in (folder, folder.parent, folder.parent.parent):
        path.chmod(0o755)
    os.environ["SANDBOX_CANARY"] = secret
    with sandbox.Host() as host:
        outside = Outside(host, folder, secret)
        yield outside
        outside.close()
    del os.environ["SANDBOX_CANARY"]


@pytest.mark.parametrize(("corpus", "title"), list(attacks()))
def test_no_attack_has_an_effect(outside, corpus, title):
    text = WRAPPED[corpus](programs(corpus)[title])
    if corpus == "prepare_abuse":
        output = prepared(outside, raw(text, outside.names, role="prepare"))
    else:
        given = VALUES if corpus == "writes" else b""
        # What ends the process by itself may need more than 0.1 s on a slow machine.
        limits = replace(LIMITS, act_seconds=2.0) if corpus == "raw" else LIMITS
        output = outside.attacked(raw(text, outside.names, limits=limits, prepared=given))

    assert outside.effects(output) == []
    if corpus in ("raw", "raw_mapped"):
        assert not output.startswith("returned True")
    if corpus == "raw":  # each is refused, or ends the process
        assert output.startswith(("raised", "returned False", "died")), output


def prepared(outside, program):
    """What a program reported or printed that only prepares."""
    channel = outside.host._spawn(program)
    try:
        with Preparing(program, channel) as session:
            return session.run().output
    except ProgramError as error:
        return error.message + error.output


def test_no_process_is_left_behind(outside):
    for name in ("fork", "fork bomb", "outlive the parent", "new session"):
        outside.attacked(raw(acting(programs("raw")[name]), outside.names))

    def left():
        for parent in outside.parents:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
            states = (Path(f"/proc/{child}/stat").read_text() for child in children)
            yield from (state for state in states if ") Z" not in state)

    deadline = time.monotonic() + 10
    while len(list(left())) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(list(left())) == 1  # the other policy's


# The tests above can fail.


def test_the_programs_have_the_interpreter_and_the_memory_and_read_the_file(outside):
    text = """
def attack():
    x = ctypes.c_int.from_address(ctypes.addressof(ctypes.c_int(7)))
    read = server()["self"]._recorded[255], address() > 0
    return *read, eval("6 * 7"), type(server()["pipes"]).__name__, LIBRARIES - sys.modules.keys()
"""
    names = {**outside.names, "LIBRARIES": set(LIBRARIES)}
    said = "returned (255, True, 42, 'Pipes', set())\n" * 2

    assert outside.attacked(raw(text + ACT, names)) == said


@pytest.mark.parametrize(
    ("body", "effect"),
    [
        ("open(TRACE, 'w').close()", "TRACE was made"),
        ("open(VICTIM, 'a').write('x')", "the file was changed"),
        ("open(MAPPED, 'r+').write('x')", "the mapped file was changed"),
        ("os.chmod(VICTIM, 0o600)", "what is known of the file was changed"),
        ("print(open(VICTIM).read())", "the secret is known"),
        ("print(os.environ['SANDBOX_CANARY'])", "the secret is known"),
        ("print(open('/etc/passwd').read())", "/etc/passwd was read"),
        ("socket.create_connection(('127.0.0.1', PORT))", "something was sent"),
        ("os.kill(os.getppid(), signal.SIGUSR1)", "signal 10"),
    ],
    ids=str,
)
def test_each_effect_is_seen_where_nothing_is_locked_down(
    outside, body, effect, monkeypatch, tmp_path
):
    trace = tmp_path / "escape"  # of this test alone: others run at the same time
    monkeypatch.setattr("raw_program.TRACE", trace)
    names = {**outside.names, "TRACE": str(trace)}.items()
    names = "\n".join(f"{name} = {value!r}" for name, value in names)
    code = f"import os, signal, socket\n{names}\n{body}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    found = outside.effects(done.stdout)
    trace.unlink(missing_ok=True)
    outside.restore()

    assert found == [effect.replace("TRACE", str(trace))]
    assert outside.effects() == []
