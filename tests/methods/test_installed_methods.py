"""A method of a package of one's own: that of docs/methods.md, built and installed by pip.

The folder that pip writes to stands first on ``PYTHONPATH`` of the processes that are started.
"""

import json
import re
from pathlib import Path

import pytest
from processes import ROOT, command, install, pretend_installed
from scripted import BAD, GOOD, Replies

from promptpo.cli import main
from promptpo.cli.views import run_rows

GROUP = "promptpo.methods"
BUILD = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "my-package"
version = "1.0"

[tool.setuptools]
packages = ["my_package"]
"""


def documented(language: str, start: str) -> str:
    """A piece of code in the documentation."""
    text = (ROOT / "docs" / "methods.md").read_text()
    (code,) = (c for c in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) if start in c)
    return code


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Where the documented package is installed."""
    source = tmp_path_factory.mktemp("source")
    (source / "my_package").mkdir()
    (source / "my_package" / "__init__.py").touch()
    method = source / "my_package" / "one_by_one.py"
    method.write_text(documented("python", "class OneByOne"))
    (source / "pyproject.toml").write_text(BUILD + documented("toml", "promptpo.methods"))
    return install(source, tmp_path_factory.mktemp("site"))


@pytest.fixture
def promptpo(tmp_path):
    """Run a command in an empty folder, packages installed in ``site``."""
    return lambda site, *argv: command(*argv, first=[site], cwd=tmp_path)


def complaint(done) -> str:
    """The one line that a command says when its options do not fit."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.slow
def test_it_and_its_options_are_known_by_their_names(site, promptpo):
    assert "digits=N" in promptpo(site, "help", "settings", "--method", "one-by-one").stdout
    assert "digits" not in promptpo(site, "help", "settings").stdout
    line = complaint(promptpo(site, "nim", "--method", "one-by-one", "--set", "digits=10"))
    assert line.endswith("digits must be at most 9, not 10")
    line = complaint(promptpo(site, "cartpole", "--method", "one-by-on"))
    assert line.endswith("unknown method 'one-by-on'; did you mean 'one-by-one'?")
    line = complaint(promptpo(site, "cartpole", "--digits", "3"))
    assert "unknown option '--digits'; write --set digits=VALUE, with --method " in line
    assert "one-by-one" in line.rpartition("--method")[2].split(", ")


@pytest.mark.slow
def test_it_runs_and_goes_on_until_it_is_gone(site, promptpo, tmp_path, monkeypatch, capsys):
    script = Replies().say(BAD, "policy", 1, 1).say(GOOD, "policy", 2, 1).say(GOOD, "policy", 3, 1)
    settings = tmp_path / "run.toml"
    settings.write_text('method = "one-by-one"\nrounds = 2\n[one-by-one]\ndigits = 3\n')
    done = promptpo(
        site, "cartpole", "--config", str(settings), "--episodes", "3", "--workers", "1",
        "--model", script.write(tmp_path / "replies.jsonl"), "--test-episodes", "4",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs" / "cartpole").iterdir()
    info = json.loads((folder / "run.json").read_text())
    assert (info["config"]["method"], info["config"]["options"]) == ("one-by-one", {"digits": 3})
    assert (info["status"], info["best"]["name"]) == ("finished", "r02_c01")
    prompt = (folder / "prompts" / "r02_c01_policy.prompt.md").read_text()
    assert re.search(r"Its mean return is \d+\.\d{3}\. Write a better one", prompt)
    more = promptpo(site, "--resume", "latest", "--rounds", "3")
    assert more.returncode == 0, more.stderr
    assert (folder / "candidates" / "r03_c01" / "policy.py").exists()
    monkeypatch.chdir(tmp_path)
    assert main(["--resume", "latest"]) == 6
    (line,) = capsys.readouterr().err.splitlines()
    assert "unknown method 'one-by-one'" in line
    (row,) = run_rows(Path("runs"))
    assert row[1:3] == ("finished", "r02_c01")


HEAD = """
from dataclasses import dataclass
from promptpo.config import option
from promptpo.methods.base import Method as Base

class Method(Base):
    needs_model = False
"""


@pytest.mark.slow
def test_a_broken_package_is_named_in_a_line_and_harms_no_other_method(tmp_path, promptpo):
    site = tmp_path / "site"
    odd, bad = "odd = odd_package:Method", "promptpo = bad_package:Method"
    pretend_installed(site, "odd-package", "2.0", GROUP, odd, odd_package="raise SystemExit(7)\n")
    pretend_installed(site, "bad-package", "2.0", GROUP, bad, bad_package="1 / 0\n")
    line = complaint(promptpo(site, "cartpole", "--method", "odd"))
    assert line.startswith(
        "promptpo: error: odd-package 2.0: its entry point 'odd' cannot be loaded (SystemExit: 7)"
    )
    assert promptpo(site, "cartpole", "--dry-run").returncode == 0
    assert "--zzz" in complaint(promptpo(site, "cartpole", "--zzz", "3"))


@pytest.mark.slow
def test_two_packages_with_a_method_of_one_name_are_both_named(tmp_path, promptpo):
    for name in ("odd-package", "even-package"):
        pretend_installed(tmp_path / "site", name, "2.0", GROUP, "odd = odd_package:Method")
    line = complaint(promptpo(tmp_path / "site", "cartpole", "--method", "odd"))
    assert "--method odd is in even-package 2.0 and odd-package 2.0; uninstall all but one" in line


def test_a_method_from_a_file_is_run_and_resumed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(documented("python", "class OneByOne"))
    script = Replies().say(BAD, "policy", 1, 1).say(GOOD, "policy", 2, 1)
    small = ("--episodes", "2", "--test-episodes", "2", "--selection-episodes", "0")
    model = script.write(tmp_path / "replies.jsonl")
    chosen = ("cartpole", "--method", "mine.py:OneByOne", "--model", model)
    assert main([*chosen, *small, "--rounds", "1", "--set", "digits=2", "--workers", "1"]) == 0
    assert main(["--resume", "latest", "--rounds", "2"]) == 0
    (folder,) = (tmp_path / "runs" / "cartpole").iterdir()
    info = json.loads((folder / "run.json").read_text())
    assert (info["status"], info["best"]["name"]) == ("finished", "r02_c01")
    assert info["config"]["options"] == {"digits": 2}
    assert "Its mean return is" in (folder / "prompts" / "r02_c01_policy.prompt.md").read_text()
    capsys.readouterr()


@pytest.mark.parametrize("seeds", [(), ("--seeds", "0,1")])
def test_what_a_method_asks_for_is_said_at_default_settings(tmp_path, monkeypatch, capsys, seeds):
    monkeypatch.chdir(tmp_path)
    text = documented("python", "class OneByOne")
    (tmp_path / "mine.py").write_text(text)
    (tmp_path / "silent.py").write_text(text.partition("    @staticmethod")[0])
    assert main(["cartpole", "--method", "mine.py:OneByOne", "--dry-run", *seeds]) == 0
    assert ("245,000" if seeds else "122,500") in capsys.readouterr().out
    assert main(["cartpole", "--method", "silent.py:OneByOne", "--dry-run", *seeds]) == 0
    assert "not known" in capsys.readouterr().out
    assert main(["prompt", "cartpole", "--method", "silent.py:OneByOne"]) == 0
    assert capsys.readouterr().out.endswith("does not show its prompts\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be loaded (FileNotFoundError: "),
        ("", "cannot be loaded (AttributeError: "),
        ("1 / 0\n", "cannot be loaded (ZeroDivisionError: division by zero)"),
        ("from pathlib import Path as Method\n", "is no method: it is no subclass of promptpo"),
        ("Method = 7\n", "is no method: it is no subclass of promptpo.methods.Method"),
        (f"{HEAD}    Options = int\n", "is no method: its Options are no dataclass"),
        (
            f"{HEAD}    @dataclass(frozen=True)\n    class Options:\n        size: int = 3\n",
            "is no method: its option 'size' is not made by promptpo.config.option",
        ),
        (
            f"{HEAD}    @dataclass\n    class Options:\n        rounds: int = option(3, 'x')\n",
            "is no method: its option 'rounds' has the name of one that every run has",
        ),
        (
            f"{HEAD}    @dataclass\n    class Options:\n        size: tuple = option((), 'x')\n",
            "is no method: its option 'size' is neither a number nor a text, true or false",
        ),
    ],
)
def test_what_is_no_method_is_one_line(tmp_path, monkeypatch, capsys, text, problem):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "odd.py").write_text(text)
    assert main(["cartpole", "--method", "odd.py:Method"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("promptpo: error: ")
    assert problem in line
