"""The host's side and what runs inside belong together, and to nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import sandbox

FOLDER = Path(sandbox.__file__).parent

SPEAKS = """
import json, socket
def main(descriptor):
    report = {"isolation": {"seccomp": "of the copy"}}
    socket.socket(fileno=descriptor).sendall(json.dumps(report).encode() + b"\\n")
"""


def test_a_host_starts_the_warm_parent_of_its_own_copy_of_the_package(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "sandbox")
    with (tmp_path / "sandbox/inside/boot.py").open("a") as entry:
        entry.write(SPEAKS)
    script = "import sandbox; print(sandbox.Host().isolation)"

    command = [sys.executable, "-c", script]
    there = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, env=there, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert "of the copy" in done.stdout, done.stderr
