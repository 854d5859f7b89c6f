"""``promptpo compare`` as a user types it: tables, files, and one line for what is wrong."""

import contextlib
import csv
import os
import re
import struct
import subprocess
import sys
import termios
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from written_runs import written_run

import promptpo
from promptpo.cli import main
from promptpo.errors import RunError, UsageError

ROOT = Path(promptpo.__file__).parents[1]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def runs(tmp_path):
    """Two models with two runs each on one task, and one run on another task."""
    out = tmp_path / "runs"
    return [
        written_run(out, seed=0, search=(10, 50), test=[50.0, 60.0, 70.0]),
        written_run(out, seed=1, search=(20, 70), test=[51.0, 61.0, 71.0]),
        written_run(out, seed=0, model="ollama/b", search=(5, 9), test=[1.0, 2.0, 3.0], cost=None),
        written_run(out, seed=1, model="ollama/b", search=(6,), status="failed", cost=None),
        written_run(out, spec="other", successes=True, test=[60.0, 10.0]),
    ]


def compare(capsys, *arguments):
    assert main(["compare", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_task_has_its_tables_and_notes_say_what_they_cannot(runs, tmp_path, capsys):
    out = compare(capsys, *runs, runs[0])  # one that is given twice counts once
    first, second = out.split("\nother: ")
    assert re.search(r"A +openai/a +2 +60.5 \(60 to 61\)", first)
    assert re.search(r"B +ollama/b +2 +2 \(1 to 3\)", first)
    assert re.search(r"A - B +return +\+58 ", first)
    assert "success" not in first
    assert re.search(r"promptpo, openai/a +1 +0.50 \(0.09 to 0.91\)", second)
    assert re.search(r"expert +1.00 +95", second)
    (line,) = (x for x in out.splitlines() if "failed" in x and "return 6 in search" in x)
    assert "unknown" in line and "1 finished, 1 failed" in out
    assert "Fewer than 5 runs in a group" in out and "A group of one run" in out
    assert "Replayed replies" not in out
    other = written_run(tmp_path, search=(), status="running", model="recorded")
    out = compare(capsys, other)
    assert re.search(r"killed +none", out) and "Replayed replies: the spread" in out


@pytest.mark.slow
def test_the_tables_fit_a_terminal_of_80_columns(runs):
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    command = [sys.executable, "-m", "promptpo", "compare", *runs]
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    with subprocess.Popen(command, cwd=ROOT, stdout=slave, env=environment) as process:
        os.close(slave)
        out = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while piece := os.read(master, 4096):
                out += piece
    os.close(master)
    assert process.returncode == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.decode()).splitlines()
    assert any("0.50 (0.09 to 0.91)" in line for line in lines)  # not folded
    assert max(map(len, lines)) <= 80


def test_csv_files_hold_the_numbers(runs, tmp_path, capsys):
    compare(capsys, *runs, "--to", tmp_path / "to", "--format", "csv")
    assert sorted(p.name for p in (tmp_path / "to").iterdir()) == [
        "curves.csv", "scores.csv", "tests.csv",
    ]  # fmt: skip
    scores = rows(tmp_path / "to" / "scores.csv")
    assert [row["run"].split("/")[0] for row in scores] == ["toy"] * 4 + ["other"]
    assert (scores[0]["test_return"], scores[0]["cost"], scores[0]["search_steps"]) == (
        "60.0", "0.02", "200",
    )  # fmt: skip
    assert (scores[3]["status"], scores[3]["test_return"], scores[3]["cost"]) == ("failed", "", "")
    curves = rows(tmp_path / "to" / "curves.csv")
    assert {row["group"] for row in curves if row["axis"] == "cost" and row["spec"] == "toy"} == {
        "openai/a"
    }
    tests = rows(tmp_path / "to" / "tests.csv")
    assert [(t["a"], t["b"], t["unit"], t["paired"]) for t in tests] == [
        ("openai/a", "ollama/b", "episodes", "True")
    ]


@pytest.mark.slow
def test_figures_are_one_column_wide_with_text_as_text(runs, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="pip install 'promptpo[plots]'")
    compare(capsys, *runs, "--to", tmp_path, "--format", "png,svg")
    for axis in ("steps", "cost"):
        png = (tmp_path / f"curves_{axis}.png").read_bytes()
        assert struct.unpack(">I", png[16:20]) == (round(3.25 * 300),)
        tree = ET.parse(tmp_path / f"curves_{axis}.svg").getroot()  # noqa: S314 - our own file
        assert tree.get("width") == f"{3.25 * 72:g}pt"
        words = {"".join(text.itertext()) for text in tree.iter(f"{SVG}text")}
        assert {"toy", "other", "openai/a (2 runs)", "held-out", "expert"} <= words
        sizes = re.findall(r"font(?:-size)?: ([\d.]+)px", ET.tostring(tree, encoding="unicode"))
        assert sizes
        assert min(map(float, sizes)) >= 6
    assert "ollama/b: cost unknown" in words
    again = tmp_path / "again"
    compare(capsys, *runs, "--to", again, "--format", "svg")
    assert (again / "curves_steps.svg").read_bytes() == (tmp_path / "curves_steps.svg").read_bytes()


def test_to_alone_means_every_file_but_one_over_cost_where_nothing_cost(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="pip install 'promptpo[plots]'")
    out = compare(capsys, written_run(tmp_path / "runs", cost=0.0), "--to", tmp_path / "to")
    names = {p.name for p in (tmp_path / "to").iterdir()}
    files = {f"{name}.csv" for name in ("curves", "scores", "tests")}
    assert names == {*files, "curves_steps.png", "curves_steps.svg"}
    assert all(name in out for name in names)


def test_without_matplotlib_the_remedy_is_named(runs, tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from promptpo.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "compare", *runs, "--to", tmp_path / "to", "--format", "svg"],
        check=False, cwd=ROOT, capture_output=True, text=True, timeout=120,
        env={**os.environ, "MPLBACKEND": "agg"},
    )  # fmt: skip
    assert done.returncode == UsageError.exit_code
    assert done.stderr.strip().endswith("run: pip install 'promptpo[plots]'")
    assert not (tmp_path / "to").exists()


def test_what_is_no_run_and_where_nothing_can_be_written_are_one_line(runs, tmp_path, capsys):
    (tmp_path / "file").touch()
    for words, code, remedy in (
        ([tmp_path], RunError.exit_code, "not a run (no events.jsonl); `promptpo list` shows"),
        ([runs[0], "--to", tmp_path / "file" / "x", "--format", "csv"], 2, "give --to a folder"),
    ):
        assert main(["compare", *map(str, words)]) == code
        (line,) = capsys.readouterr().err.splitlines()
        assert remedy in line


def test_the_page_has_all_runs_with_their_addresses_curves_and_tests(runs, tmp_path, capsys):
    (runs[0] / "report.html").write_text("its page")
    out = compare(capsys, *runs, "--html", tmp_path / "page.html")
    assert out.splitlines()[-1] == str(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    table = page[page.index('class="sortable stacked runs"') :]
    assert table[: table.index("</table>")].count("<tr>") == len(runs) + 1
    assert re.findall(r'<th scope=row><a href="([^"]+)">', table) == [
        f"runs/toy/{runs[0].name}/report.html"
    ]
    for words in ("over environment steps of search", "over calls of the model", "A - B"):
        assert words in page
    assert "openai/a, seed 1</title>" in page  # each run of a group has a thin line
    assert main(["compare", str(runs[0]), "--html", "/proc/nowhere/page.html"]) == 2
    assert "choose another file with --html" in capsys.readouterr().err
