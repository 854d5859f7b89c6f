"""Reference values are measured as stated: by playing, seed by seed."""

import json

import numpy as np

from promptpo.spec import Task, load_spec
from promptpo.spec.baselines import main, measure, random_actions, zero_actions
from promptpo.spec.catalog import expanded


def test_a_budget_of_steps_ends_after_whole_episodes():
    task = Task.open(load_spec("noise_world_board_1"))
    assert measure(task, zero_actions, range(50), enough=301).episodes == 4
    assert measure(task, zero_actions, range(50), enough=301, fewest=6).steps == 600
    assert measure(task, zero_actions, range(3), enough=301).episodes == 3


def test_the_deviation_is_that_of_an_episode(capsys):
    task = Task.open(load_spec("cartpole"))
    returns = [measure(task, random_actions, [seed]).reference.mean_return for seed in range(9)]
    assert main(["cartpole", "--episodes", "9", "--seed", "0"]) == 0
    line = capsys.readouterr().out.splitlines()[0]
    assert f"  deviation {np.std(returns, ddof=1):.4g}  (" in line
    assert f" +- {np.std(returns, ddof=1) / 3:.2f} " in line


def test_the_command_reports_a_bad_spec_on_one_line(capsys):
    assert main(["no_such_spec"]) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_values_are_added_to_a_file_that_keeps_what_it_has(tmp_path, capsys):
    file = tmp_path / "references.json"
    file.write_text('{"mine.py": {"random": [1.0, null, 2.0, 3]}}')
    assert main(["noise_world_board_1", "--episodes", "20", "--json", str(file)]) == 0
    known = json.loads(file.read_text())
    assert known["mine.py"] == {"random": [1.0, None, 2.0, 3]}
    assert list(known["noise_world_board_1"]) == ["random", "zero action", "expert"]
    assert known["noise_world_board_1"]["zero action"] == [-100.0, 0.0, 0.0, 20]
    mean, rate, deviation, episodes = known["noise_world_board_1"]["expert"]
    assert (rate, episodes) == (1.0, 20)
    assert 960 < mean < 990
    assert 1 < deviation < 30


def test_a_family_stands_for_its_members_without_a_file(capsys):
    assert main(["metaworld", "--episodes", "1"]) == 3
    assert "metaworld" in capsys.readouterr().err
    assert main(["metawrld:", "--episodes", "1"]) == 3
    assert "did you mean metaworld:" in capsys.readouterr().err
    refs = list(expanded(["cartpole", "metaworld:"]))
    assert (refs[0], len(refs)) == ("cartpole", 46)
    assert "metaworld:reach-v3" not in refs
