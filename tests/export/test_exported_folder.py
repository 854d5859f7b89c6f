"""The exported folder runs without promptpo, and says what it is."""

import shutil
from pathlib import Path

import pytest
from exported_runs import (
    REFUSED,
    ROOT,
    SOURCES,
    episode_return,
    exit_code,
    finished_run,
    lines_of,
    measured_lines,
    readme_loop,
)
from own_cartpole import own_cartpole
from scripted import GOOD

from promptpo.errors import RunError, UsageError
from promptpo.export import SB3Policy, spec_of, write_folder
from promptpo.store.run import load_run


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("runs"), "cartpole")


@pytest.mark.slow
@pytest.mark.parametrize("spec", SOURCES)
def test_folder_readme_and_predict_play_the_measured_episodes_without_promptpo(spec, tmp_path):
    result = finished_run(tmp_path / "runs", spec)
    to = tmp_path / "taken away"
    write_folder(load_run(result.folder), to)
    # Its environment is the spec's own, and comes with promptpo.
    refused = () if spec == "noise_world_board_1" else REFUSED
    for script in (to / "run.py", readme_loop(result)):
        assert lines_of(script, *refused) == measured_lines(result)
    if spec == "metaworld_reach":
        return  # its actions are not float32, as Stable-Baselines3's are
    task = spec_of(load_run(result.folder))
    env = task.make()
    policy = SB3Policy.load(result.folder / "best" / "policy.py", task, env)
    for seed, measured in zip(result.test.seeds, result.test.returns, strict=True):
        assert episode_return(policy, env, seed) == pytest.approx(measured)


def test_no_policy_another_policy_and_another_spec_are_refused(cartpole, tmp_path):
    copy = tmp_path / "cartpole" / "20260101-000000"
    shutil.copytree(cartpole.folder, copy)
    file, to = copy / "best" / "policy.py", tmp_path / "to"
    file.write_text(file.read_text().replace("candidate r01_c01", "candidate r09_c09"))
    with pytest.raises(RunError, match="not that of r01_c01, the best candidate on record"):
        write_folder(load_run(copy), to)
    file.unlink()
    with pytest.raises(RunError, match="no best policy in it"):
        write_folder(load_run(copy), to)
    own = tmp_path / "my_cartpole.py"
    own.write_text(own_cartpole())
    result = finished_run(tmp_path / "runs", str(own), GOOD)
    own.write_text(own_cartpole() + "# changed\n")
    write_folder(load_run(result.folder), tmp_path / "again")
    shutil.rmtree(result.folder / "spec")
    with pytest.raises(RunError, match=r"my_cartpole\.py: the spec has changed"):
        write_folder(load_run(result.folder), to)


def test_the_files_say_what_they_are_and_where_they_come_from(cartpole, tmp_path):
    names = ("policy.py", "run.py", "README.md", "NOTICE.md")
    assert {file.name for file in write_folder(load_run(cartpole.folder), tmp_path)} == {*names}
    policy, _, readme, notice = ((tmp_path / name).read_text() for name in names)
    assert policy == (cartpole.folder / "best" / "policy.py").read_text()
    for words in (
        "mean return 500 in every one of 3 episodes",
        "optimum, return 500",
        f"cartpole/{cartpole.folder.name}",
        "scripted (a recording, replayed)",
    ):
        assert words in readme
    assert "$" not in readme + notice
    assert (ROOT / "LICENSE").read_text() in notice
    assert "Written by: scripted" in notice


def test_files_with_other_content_are_kept(cartpole, tmp_path):
    run = load_run(cartpole.folder)
    assert write_folder(run, tmp_path) == write_folder(run, tmp_path)
    (tmp_path / "run.py").write_text("mine")
    with pytest.raises(UsageError, match=r"run\.py: exists already; give --force"):
        write_folder(run, tmp_path)
    assert (tmp_path / "run.py").read_text() == "mine"
    write_folder(run, tmp_path, force=True)
    assert (tmp_path / "run.py").read_text() != "mine"
    with pytest.raises(UsageError, match="give --to a folder that can be written"):
        write_folder(run, tmp_path / "run.py" / "to")


def test_the_command_writes_into_the_run_by_default_and_says_what_is_wrong(
    cartpole, tmp_path, capsys
):
    assert exit_code("export", cartpole.folder) == 0
    names = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    assert names == {p.name for p in (cartpole.folder / "export").iterdir()}
    to = tmp_path / "to"
    assert exit_code("export", cartpole.folder, "--to", to, "--author", "Ada") == 2
    words = "--author: of a dataset or a recording; add --minari or --recording"
    assert capsys.readouterr().err == f"promptpo: error: {words}\n"
    assert not to.exists()
    assert exit_code("export", tmp_path) == RunError.exit_code
    assert "not a run (no events.jsonl)" in capsys.readouterr().err
