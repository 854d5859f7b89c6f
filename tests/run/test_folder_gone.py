"""The folder of a run is deleted, moved or replaced while the run goes on: it pays no more."""

import shutil
import threading
import time

import pytest
from llm_server import Answer, ScriptedServer
from scripted import run_folder

from promptpo.cli import main

SMALL = ("--workers", "1", "--rounds", "2", "--candidates", "3", "--set", "max_concurrency=1",
         "--episodes", "2", "--test-episodes", "2", "--selection-episodes", "2")  # fmt: skip


def deleted(folder):
    shutil.rmtree(folder)


def moved(folder):
    folder.rename(folder.with_name("elsewhere"))


def replaced(folder):
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    copy.rename(folder)


def without_its_log(folder):
    (folder / "events.jsonl").unlink()


@pytest.mark.parametrize(
    ("loss", "word"),
    [(deleted, "deleted"), (moved, "moved"), (replaced, "deleted"), (without_its_log, "deleted")],
)
@pytest.mark.parametrize("status", [200, 429])
def test_a_run_whose_folder_is_gone_asks_nothing_more(
    tmp_path, capsys, monkeypatch, loss, word, status
):
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    def script(request):
        if request.number < 2:
            return Answer()
        loss(run_folder(tmp_path))
        return Answer(status=status)

    with ScriptedServer(script) as server:
        model = ("--model", "openai/scripted", "--api-base", server.url)
        code = main(["cartpole", *SMALL, *model, "--out", str(tmp_path)])
    told = capsys.readouterr().err
    assert code == 8, told
    assert told.count("\n") == 1
    assert f"/events.jsonl: {word} while the run went on" in told
    assert len(server.requests) == 3
    assert loss is not deleted or run_folder(tmp_path) is None  # nothing has made it anew


@pytest.mark.parametrize(
    ("argv", "seen"),
    [
        (("--model", "manual"), "prompts/*.prompt.md"),
        (("--method", "random-search"), "candidates/*/result.json"),
    ],
)
def test_a_run_that_waits_or_asks_no_model_ends_too(tmp_path, capsys, argv, seen):
    def delete():
        deadline = time.monotonic() + 60
        while not [*tmp_path.glob(f"cartpole/2*/{seen}")] and time.monotonic() < deadline:
            time.sleep(0.01)
        while folder := run_folder(tmp_path):  # what is written meanwhile may be in the way
            shutil.rmtree(folder, ignore_errors=True)

    deleting = threading.Thread(target=delete)
    deleting.start()
    code = main(["cartpole", *SMALL, *argv, "--rounds", "100", "--out", str(tmp_path)])
    deleting.join()
    told = capsys.readouterr().err
    assert code == 8, told
    assert told.count("\n") == 1
    assert "/events.jsonl: deleted while the run went on" in told
    assert run_folder(tmp_path) is None
