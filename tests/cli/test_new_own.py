"""``promptpo new NAME --own``: a spec with an environment of its own that is true as written."""

import subprocess
import sys

import pytest

from promptpo.checks import QUICK, Replays, check_spec
from promptpo.cli import main
from promptpo.spec import load_spec
from promptpo.spec.catalog import SHIPPED_FOLDER


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_file_is_whole_and_true(here):
    assert main(["new", "night_shift", "--own"]) == 0
    spec = load_spec("night_shift.py")
    assert spec.title.startswith("Night shift: ")
    with Replays([spec.ref]) as replays:
        findings = list(check_spec(spec, QUICK, replays.next))
    assert [f for f in findings if f.failed] == []
    expert = next(f.detail for f in findings if f.check == "reference: expert")
    assert "success 1.00" in expert, "what it begins with can be done"


def test_the_file_passes_ruff(here):
    assert main(["new", "night_shift", "--own"]) == 0
    settings = ["--config", str(SHIPPED_FOLDER.parent / "pyproject.toml")]
    for command in (["check", *settings], ["format", "--check", *settings]):
        words = [sys.executable, "-m", "ruff", *command, "night_shift.py"]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "file", "environment"),
    [
        ("night_shift", "night_shift.py", "NightShift"),
        ("night shift", "night_shift.py", "NightShift"),
        ("Night-shift", "night_shift.py", "NightShift"),
        ("warehouse.py", "warehouse.py", "Warehouse"),
        ("CartPole-v1", "cartpole_v1.py", "CartPoleV1"),
        ("observation", "observation.py", "ObservationEnv"),
    ],
)
def test_file_and_environment_are_called_after_the_name(here, name, file, environment):
    assert main(["new", name, "--own"]) == 0
    assert [path.name for path in here.iterdir()] == [file]
    assert load_spec(file).make.__name__ == environment


def test_it_says_what_to_do_next(capsys):
    assert main(["new", "night_shift", "--own", "--to", "mine.py"]) == 0
    first, *steps = capsys.readouterr().out.splitlines()
    assert first == "wrote mine.py, which is whole and true as it stands. Next:"
    assert [line.split("  ")[1] for line in steps] == [
        "edit mine.py",
        "promptpo prompt mine.py",
        "promptpo check mine.py",
        "promptpo --spec mine.py --model MODEL",
    ]


@pytest.mark.parametrize(
    ("argv", "code", "answer"),
    [
        (["9lives", "--own"], 2, "such as night_shift"),
        (["été", "--own"], 2, "'été': no class can be called after that; give a name of letters"),
        (["random", "--own"], 2, "a Python module 'random', which the file would hide"),
        (["mine", "--own", "--to", "gymnasium.py"], 2, "a Python module 'gymnasium'"),
        (["mine", "--own", "--to", "nowhere/mine.py"], 2, "give --to a file that can be written"),
        (["warehouse"], 3, "for your own: promptpo new warehouse --own"),
    ],
)
def test_what_cannot_be_is_one_line(here, capsys, argv, code, answer):
    assert main(["new", *argv]) == code
    message = capsys.readouterr().err
    assert answer in message
    assert message.count("\n") == 1
    assert list(here.iterdir()) == []


def test_a_file_is_not_overwritten(here, capsys):
    (here / "mine.py").write_text("mine")
    assert main(["new", "mine", "--own"]) == 2
    assert "exists and is left as it is" in capsys.readouterr().err
    assert (here / "mine.py").read_text() == "mine"
