"""Whatever runs in a policy process, nothing of it reaches the host: raw Python, memory, frames.

Every attack of the corpora that aims at the host runs here past the language layer, in a process as
policies have it, beside another policy that must act on as before.
"""

import os
import secrets
import subprocess
import sys

import numpy as np
import pytest
from raw_program import LIBRARIES, TRACE, Outside, raw
from restricted import programs

import sandbox
from sandbox import ProgramError
from sandbox.host.policy import Preparing

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sandbox.detect().level != "strict", reason="needs strict isolation"
)
_ACT = """
class Policy:
    def act(self, obs):
        try:
            print(repr(attack())[:4000])
        except Exception as error:
            print(repr(error)[:4000])
        return [0.0, 0.5]
"""
VALUES = sandbox.pack({"A": np.eye(3) * 2, "v": np.array([3.0, 1.0, 2.0]), "n": 4})


def indented(body, by):
    return "".join(f"{' ' * by}{line}\n" for line in body.splitlines())


_WRITER = """
class Policy:
    def __init__(self, m):
        self.m = m
    def act(self, obs):
        m, A, v = self.m, self.m["A"], self.m["v"]
{body}        return v[:2]
"""


def writing(body):
    return _WRITER.format(body=indented(body, 8))


def preparing(body):
    return f"def prepare(data):\n{indented(body, 4)}\nclass Policy:\n    def act(self, obs): pass\n"


#: What makes a program of an attack, by the corpus that it stands in.
WRAPPED = {
    "escapes": lambda text: text + _ACT,
    "raw": lambda text: text + _ACT,
    "raw_programs": lambda text: text + _ACT,
    "abuse": str,
    "writes": writing,
    "prepare_abuse": preparing,
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
        output = outside.attacked(raw(text, outside.names, prepared=given))

    assert outside.effects(output) == []


def prepared(outside, program):
    """What a program reported or printed that only prepares."""
    channel = outside.host._spawn(program)
    try:
        with Preparing(program, channel) as session:
            return session.run().output
    except ProgramError as error:
        return error.message + error.output


# The tests above can fail.


def test_the_programs_have_the_interpreter_and_the_memory(outside):
    text = """
def attack():
    x = ctypes.c_int.from_address(ctypes.addressof(ctypes.c_int(7)))
    return eval("6 * 7"), type(server()["pipes"]).__name__, sorted(LIBRARIES - sys.modules.keys())
"""
    names = {**outside.names, "LIBRARIES": set(LIBRARIES)}

    assert outside.attacked(raw(text + _ACT, names)) == "(42, 'Pipes', [])\n" * 2


@pytest.mark.parametrize(
    ("body", "effect"),
    [
        ("open('/tmp/sandbox-escape', 'w').close()", f"{TRACE} was made"),
        ("open(VICTIM, 'a').write('x')", "the file was changed"),
        ("os.chmod(VICTIM, 0o600)", "what is known of the file was changed"),
        ("print(open(VICTIM).read())", "the secret is known"),
        ("print(os.environ['SANDBOX_CANARY'])", "the secret is known"),
        ("print(open('/etc/passwd').read())", "/etc/passwd was read"),
        ("socket.create_connection(('127.0.0.1', PORT))", "something was sent"),
        ("os.kill(os.getppid(), signal.SIGUSR1)", "signal 10"),
    ],
    ids=str,
)
def test_each_effect_is_seen_where_nothing_is_locked_down(outside, body, effect):
    names = "\n".join(f"{name} = {value!r}" for name, value in outside.names.items())
    code = f"import os, signal, socket\n{names}\n{body}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    found = outside.effects(done.stdout)
    TRACE.unlink(missing_ok=True)
    outside.victim.write_text(outside.secret)
    outside.victim.chmod(0o644)
    outside._signals.clear()

    assert found == [effect]
    assert outside.effects() == []
