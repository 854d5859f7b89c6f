import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptpo.cli import main
from promptpo.common.terminal import Steady, say
from promptpo.common.text import near_path
from promptpo.errors import FileError, PromptPOError, file_error, known_error
from promptpo.store.events import Event
from promptpo.ui.plain import PlainView


def shell(command):
    """Run a line of shell in which $python runs; its exit code and standard error."""
    done = subprocess.run(
        ["bash", "-c", command], check=False, capture_output=True, text=True, timeout=60,
        env={**os.environ, "python": sys.executable},
    )  # fmt: skip
    return done.returncode, done.stderr


def test_closed_streams_are_not_taken_by_the_next_file(tmp_path):
    file = tmp_path / "file"
    code = (
        "from promptpo.common import terminal; terminal.open_all();"
        f"file = open({str(file)!r}, 'w'); print(file.fileno(), file=file)"
    )
    assert shell(f'$python -c "{code}" <&- >&- 2>&-') == (0, "")
    assert int(file.read_text()) > 2


@pytest.mark.parametrize("where", [">&-", ">/dev/full"])
def test_output_that_cannot_be_written_is_one_line_and_an_exit_code(where):
    code, errors = shell(f"$python -m promptpo --version {where}")
    assert code == 8
    assert errors.startswith("promptpo: error: standard output: ")
    assert errors.count("\n") == 1


def test_an_error_that_nobody_can_be_told_keeps_its_exit_code():
    assert shell("$python -m promptpo nonsense 2>/dev/full")[0] == 2


def test_a_view_that_nobody_sees_any_more_ends_no_run():
    with Path("/dev/full").open("w") as full:
        stream = Steady(full)
        view = PlainView(stream)
        for _ in range(3):
            view(Event("notice", {"text": "still here"}))
        assert "No space left" in str(stream.problem)


def test_a_view_whose_stream_is_closed_ends_no_run(tmp_path):
    file = (tmp_path / "out").open("w")
    file.close()
    stream = Steady(file)
    say("still here", stream)
    assert isinstance(stream.problem, ValueError)


def test_an_error_of_the_system_is_one_line_with_a_remedy(monkeypatch, capsys):
    def command(argv):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("promptpo.cli._dispatch", command)
    assert main(["list"]) == 8
    line = "promptpo: error: Too many open files; raise the limit on open files (ulimit -n)\n"
    assert capsys.readouterr().err == line


def test_what_a_library_makes_of_such_an_error_is_known_too():
    def library():
        try:
            raise OSError(24, "Too many open files")
        finally:
            raise UnboundLocalError("descriptor")

    with pytest.raises(UnboundLocalError) as e:
        library()
    assert isinstance(known_error(e.value), FileError)
    assert known_error(UnboundLocalError("ours")) is None
    assert isinstance(known_error(MemoryError()), PromptPOError)


def test_without_a_current_folder_paths_are_shown_whole_and_errors_say_so(tmp_path):
    with contextlib.chdir(tmp_path):
        gone = tmp_path / "gone"
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()
        assert near_path("/somewhere/else") == "/somewhere/else"
        told = str(file_error(FileNotFoundError(2, "No such file or directory")))
    assert told == "the current folder has been deleted; change to another one"
