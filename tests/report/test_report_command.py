"""``promptpo report``, as a program."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_report_command_names_its_file_or_what_is_wrong_in_one_line(copied):
    (copied / "report.html").unlink()
    done = command("report", str(copied))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(copied / "report.html")
    assert (copied / "report.html").is_file()
    done = command("report", str(copied), str(copied))
    assert done.returncode == 2
    assert "compare" in done.stderr and done.stderr.endswith(" --html FILE\n")
    done = command("report", str(copied), "--to", "/proc/nowhere/x.html")
    assert done.returncode == 2
    assert re.fullmatch(r"promptpo: error: /proc/nowhere/x.html: .* --to\n", done.stderr)


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "promptpo", *words],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.slow
def test_a_run_ends_with_naming_its_report(tmp_path):
    quick = ["--rounds", "1", "--candidates", "1", "--episodes", "1", "--test-episodes", "1"]
    done = command("--spec", "cartpole", "--model", "recorded", "--out", str(tmp_path), *quick)
    (page,) = tmp_path.glob("cartpole/*/report.html")
    assert re.search(rf"^report +{re.escape(str(page))}$", done.stdout, re.MULTILINE)
