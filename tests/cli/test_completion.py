"""Completion in real shells: what is typed, then TAB, and the line that the shell makes of it."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import promptpo
from promptpo.cli import main
from promptpo.cli.candidates import candidates
from promptpo.cli.completion import split
from promptpo.cli.parser import COMMANDS
from promptpo.methods import method_names
from promptpo.run.options import fields, flag

pytestmark = pytest.mark.slow

ROOT = Path(promptpo.__file__).parents[1]

#: How a shell is started without anybody's settings, and told to complete.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(promptpo completion bash)"),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -Uz compinit && compinit -u -D && source <(promptpo completion zsh)",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a run and a spec of one's own in it."""
    log = tmp_path / "runs" / "cartpole" / "20261120-143000" / "events.jsonl"
    log.parent.mkdir(parents=True)
    log.touch()
    (tmp_path / "my task.py").touch()
    (tmp_path / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def after(line: str) -> set[str]:
    """What may come next on a line."""
    words, _ = split(line)
    return set(candidates(words[1:-1], words[-1]))


def test_a_suite_is_a_file_or_one_that_ships(folder: Path) -> None:
    (folder / "mine.toml").touch()
    assert {"smoke", "r2po10", "mine.toml"} <= after("promptpo bench ")
    assert after("promptpo bench smoke --dry") == {"--dry-run"}


def test_the_first_word_is_a_command_or_a_spec(folder: Path) -> None:
    assert set(COMMANDS) | {"cartpole", "metaworld:", "my task.py"} <= after("promptpo ")
    assert "notes.txt" not in after("promptpo ")
    assert after("promptpo lis") == {"list"}
    assert after("promptpo --rounds 3 --no-color ev") == {"eval"}


@pytest.mark.parametrize("line", ["promptpo --", "promptpo cartpole --", "promptpo run nim --"])
def test_a_search_has_its_options(folder: Path, line: str) -> None:
    assert {flag(name) for name in fields()} <= after(line)
    assert "--quick" not in after(line)


def test_a_search_has_the_options_of_its_method(folder: Path) -> None:
    offered = after("promptpo cartpole --method random-search --")
    known = {flag(name, "random-search") for name in fields("random-search")}
    assert known - offered == {"--method"}  # it is given already
    assert "--max-repairs" not in offered


def test_a_command_has_its_own_options_but_those_that_are_given(folder: Path) -> None:
    assert "--quick" in after("promptpo check --")
    assert "--quick" not in after("promptpo check --quick cartpole --")
    assert "--rounds" not in after("promptpo check --")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("promptpo check mountain_c", {"mountain_car", "mountain_car_continuous"}),
        ("promptpo --spec=mountain_c", {"--spec=mountain_car", "--spec=mountain_car_continuous"}),
        ("promptpo check cartpole mountain_car_", {"mountain_car_continuous"}),
        ("promptpo check --quick metaworld:push-w", {"metaworld:push-wall-v3"}),
        ("promptpo list minig", {"minigrid"}),
        ("promptpo --method p", {"promptpo", "props", "props+"}),
        ("promptpo --method ", set(method_names())),
        ("promptpo --method=ra", {"--method=random-search"}),
        ("promptpo --method nosuch --rou", set()),
        ("promptpo help run --method b", {"best-of-n"}),
        ("promptpo --sandbox ", {"auto", "strict"}),
        ("promptpo --preset=", {"--preset=paper", "--preset=quick"}),
        ("promptpo --model rec", {"recorded", "recorded:"}),
        ("promptpo --resume ", {"latest", "cartpole", "runs/"}),
        ("promptpo eval l", {"latest"}),
        ("promptpo eval m", {"my task.py"}),
        ("promptpo eval latest cartp", {"cartpole"}),
        ("promptpo report cartpole/", {"cartpole/20261120-143000"}),
        ("promptpo compare latest runs/cartpole/2", {"runs/cartpole/20261120-143000/"}),
        ("promptpo help comp", {"compare", "completion"}),
        ("promptpo completion z", {"zsh"}),
        ("promptpo export latest --to ", {"runs/"}),
        ("promptpo --config n", {"notes.txt"}),
        ("promptpo --config nowhere/n", set()),
        ("promptpo --rounds ", set()),
        ("promptpo --bogus=", set()),
        ("promptpo check nofamily:", set()),
        ("promptpo export latest more", set()),
        ("promptpo check -- --qui", set()),
    ],
)
def test_what_may_come_next(folder: Path, line: str, found: set[str]) -> None:
    assert after(line) == found


@pytest.mark.parametrize(
    ("line", "words", "quoted"),
    [
        ("promptpo ", ["promptpo", ""], False),
        ("promptpo ch", ["promptpo", "ch"], False),
        ("promptpo 'my ta", ["promptpo", "my ta"], True),
        ('promptpo "my ta', ["promptpo", "my ta"], True),
        (r"promptpo my\ ta", ["promptpo", "my ta"], False),
        ("promptpo 'my task.py' ", ["promptpo", "my task.py", ""], False),
        ("promptpo #", ["promptpo", "#"], False),
    ],
)
def test_a_line_is_split_as_a_shell_does(line: str, words: list[str], quoted: bool) -> None:
    assert split(line) == (words, quoted)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_says_how_it_is_installed(
    capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    assert main(["completion", shell]) == 0
    head = capsys.readouterr().out[:800]
    assert f"promptpo completion {shell}" in head


def test_a_shell_that_is_not_known_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bsh"]) == 2
    assert "'bsh' is not known; did you mean 'bash'?" in capsys.readouterr().err


def environment(folder: Path) -> dict[str, str]:
    """That of a shell whose promptpo is this one."""
    program = folder / "bin" / "promptpo"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m promptpo "$@"\n')
    program.chmod(0o755)
    return {
        "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
        "HOME": str(folder), "TERM": "dumb", "PS1": "> ", "LANG": "C.UTF-8",
    }  # fmt: skip


class Terminal:
    """A shell on a terminal."""

    def __init__(self, shell: str, folder: Path) -> None:
        command, setup = SHELLS[shell]
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stdin=theirs, stdout=theirs,
            stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.type(f"{setup}; echo rea''dy\n", "ready")

    def type(self, text: str, wanted: str) -> str:
        """Type, and read until something is there."""
        os.write(self.ours, text.encode())
        seen, deadline = "", time.monotonic() + 60
        while wanted not in seen:
            assert time.monotonic() < deadline, seen
            if select.select([self.ours], [], [], 1)[0]:
                seen += os.read(self.ours, 65536).decode(errors="replace")
        return seen

    def completed(self, line: str) -> str:
        """The line after TAB and one more letter: it is put between quotes, and echoed."""
        os.write(self.ours, f"{line}\tx".encode())
        seen = self.type("\x01echo '<<\x05>>'\n", ">>\r\n")
        while not (found := re.search(r"^<<(.*)>>\r?$", seen, re.MULTILINE)):
            seen += self.type("", ">>")
        return found[1]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


def require(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; .ci/run installs it")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_line_is_completed_by_tab(shell: str, folder: Path) -> None:
    require(shell)
    terminal = Terminal(shell, folder)
    try:
        assert terminal.completed("promptpo lis") == "promptpo list x"
        assert terminal.completed("promptpo check metaworld:push-w") == (
            "promptpo check metaworld:push-wall-v3 x"
        )
        assert terminal.completed("promptpo --preset=pap") == "promptpo --preset=paper x"
        assert terminal.completed("promptpo --resume runs/cart") == (
            "promptpo --resume runs/cartpole/x"
        )
        assert terminal.completed("promptpo prompt my") == r"promptpo prompt my\ task.py x"
    finally:
        terminal.close()


def test_what_fish_offers(folder: Path) -> None:
    require("fish")
    script = "promptpo completion fish | source; for line in $argv; complete -C $line; end"
    lines = ("promptpo lis", "promptpo check metaworld:push-w", "promptpo prompt my")
    done = subprocess.run(
        ["fish", "--no-config", "-c", script, *lines],
        cwd=folder, env=environment(folder), capture_output=True, text=True, check=True,
    )  # fmt: skip
    offered = [line.split("\t") for line in done.stdout.splitlines()]
    assert offered[0] == ["list", COMMANDS["list"].help]
    assert [words[0] for words in offered[1:]] == ["metaworld:push-wall-v3", "my task.py"]
