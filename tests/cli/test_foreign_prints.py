"""What a spec prints, whenever and however, never reaches standard output."""

import json
import re

import pytest
from faulty_spec import write
from processes import command

#: Each prints a line of its own.
PRINTS = {
    "Python": "print('NOISE', 1)",
    "sys.__stdout__": "sys.__stdout__.write('NOISE 2\\n')",
    "a descriptor": "os.write(1, b'NOISE 3\\n')",
    "C": "ctypes.CDLL(None).puts(b'NOISE 4'); ctypes.CDLL(None).fflush(None)",
    "a child": "import subprocess; subprocess.run(['echo', 'NOISE 5'])",
    "standard error": "sys.stderr.write('NOISE \\x1b[2J 6\\n')",
}


#: And these print when the spec has been read.
LATER = (
    "import atexit, threading; atexit.register(print, 'NOISE at exit')",
    "threading.Timer(0.1, print, ('NOISE in a thread',)).start()",
)


def test_what_is_printed_at_import_and_later_goes_to_standard_error(tmp_path):
    spec = write(tmp_path / "room.py", at_import="; ".join([*PRINTS.values(), *LATER]))
    done = command("prompt", spec)
    assert done.returncode == 0
    assert "NOISE" not in done.stdout
    assert done.stdout.startswith("=====")
    for words in (*range(1, 6), "at exit", "in a thread"):
        assert f"NOISE {words}\n" in done.stderr, words
    assert re.search(r"^room: NOISE .*6$", done.stderr, re.MULTILINE)
    assert "\x1b" not in done.stderr


@pytest.mark.slow
def test_every_line_of_a_run_that_is_followed_is_json(tmp_path):
    noise = {"at_import": PRINTS["Python"], "in_make": PRINTS["C"], "in_reset": PRINTS["a child"]}
    spec = write(tmp_path / "room.py", in_step=PRINTS["a descriptor"], **noise)
    few = {"rounds": 1, "candidates": 1, "episodes": 2, "test-episodes": 2, "workers": 1}
    options = [f"--{name}={value}" for name, value in few.items()]
    done = command(
        spec, "--model", "builtin", *options, "--set", "tune=false", "--json", "--out", tmp_path
    )
    assert done.returncode == 0
    assert len([json.loads(line) for line in done.stdout.splitlines()]) > 5
    assert "room: NOISE 3" in done.stderr
    assert done.stderr.count("\n") < 20
    assert "more lines" in done.stderr


@pytest.mark.slow
def test_what_is_checked_is_printed_without_what_the_environment_prints(tmp_path):
    spec = write(tmp_path / "room.py", in_step=PRINTS["Python"], at_import=PRINTS["C"])
    done = command("check", spec, "--quick")
    assert done.stdout.startswith("room: ")
    assert "NOISE" not in done.stdout
    assert "room: NOISE 1" in done.stderr
