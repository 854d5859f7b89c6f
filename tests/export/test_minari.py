"""What is written as a Minari dataset is what Minari loads."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from exported_runs import ROOT, SOURCES, exit_code, finished_run
from gymnasium import spaces
from own_cartpole import own_cartpole
from scripted import GOOD

from promptpo.errors import RunError, UsageError
from promptpo.export.minari_dataset import write_dataset
from promptpo.store.folder import RunFolder
from promptpo.store.run import load_run

pytestmark = pytest.mark.slow

minari = pytest.importorskip("minari", reason="pip install 'promptpo[minari]'")
pytest.importorskip("h5py", reason="pip install 'promptpo[minari]'")


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("runs"), "cartpole")


def loaded(dataset, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(dataset.root))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return minari.load_dataset(dataset.name)


@pytest.mark.parametrize("spec", [name for name in SOURCES if name != "metaworld_reach"])
def test_minari_loads_the_recorded_arrays(spec, tmp_path, monkeypatch):
    result = finished_run(tmp_path / "runs", spec)
    found = loaded(write_dataset(load_run(result.folder), tmp_path / "data"), monkeypatch)
    recorded = RunFolder(result.folder).read_episodes("r01_c01")
    assert found.total_episodes == len(recorded) == 2
    assert found.total_steps == sum(len(e.rewards) for e in recorded)
    for ours, theirs in zip(recorded, found.iterate_episodes(), strict=True):
        rows = len(ours.rewards)
        np.testing.assert_array_equal(
            np.reshape(theirs.observations, (rows + 1, -1)).astype(np.float64), ours.observations
        )
        sent = ours.actions.astype(found.action_space.dtype)
        np.testing.assert_array_equal(np.reshape(theirs.actions, (rows, -1)), sent)
        np.testing.assert_array_equal(theirs.rewards, ours.rewards)
        assert (theirs.terminations[-1], theirs.truncations[-1]) == (
            ours.terminated, ours.truncated,
        )  # fmt: skip
        assert not theirs.terminations[:-1].any()
        assert found.action_space.contains(theirs.actions[0])
        assert found.observation_space.contains(theirs.observations[0])


def test_seeds_and_successes_are_the_episodes_metadata(tmp_path, monkeypatch):
    result = finished_run(tmp_path / "runs", "noise_world_board_1")
    found = loaded(write_dataset(load_run(result.folder), tmp_path / "data"), monkeypatch)
    about = list(found.storage.get_episode_metadata([0, 1]))
    recorded = RunFolder(result.folder).read_episodes("r01_c01")
    assert [(a["seed"], a["success"]) for a in about] == [(e.seed, e.success) for e in recorded]


def test_the_metadata_tell_the_origin(cartpole, tmp_path, monkeypatch):
    written = write_dataset(load_run(cartpole.folder), tmp_path, author="Ada")
    about = loaded(written, monkeypatch).storage.metadata
    assert about["author"] == {"Ada"}
    assert about["algorithm_name"] == "promptpo (method promptpo, model recorded)"
    assert "candidate r01_c01" in about["description"]
    assert "code_permalink" not in about


def test_the_environment_comes_back_with_the_task_s_horizon(cartpole, tmp_path, monkeypatch):
    found = loaded(write_dataset(load_run(cartpole.folder), tmp_path), monkeypatch)
    env = found.recover_environment(eval_env=True)
    assert env.spec.id == "CartPole-v1"
    assert env.spec.max_episode_steps == 500
    assert env.observation_space == found.observation_space


def test_what_is_no_observation_of_an_environment_names_none(tmp_path, monkeypatch):
    spec = tmp_path / "seen.py"
    seen = "    horizon=500,\n    observe=lambda raw, env: raw,\n"
    spec.write_text(own_cartpole(("    horizon=500,\n", seen)))
    result = finished_run(tmp_path / "runs", str(spec), GOOD)
    found = loaded(write_dataset(load_run(result.folder), tmp_path / "data"), monkeypatch)
    assert found.env_spec is None
    assert isinstance(found.observation_space, spaces.Box)
    assert "Observations are the fields of the spec: " in found.storage.metadata["description"]


def test_a_dataset_that_is_there_is_kept_unless_forced(cartpole, tmp_path):
    run = load_run(cartpole.folder)
    write_dataset(run, tmp_path)
    with pytest.raises(UsageError, match="there is such a dataset already; give --force"):
        write_dataset(run, tmp_path)
    write_dataset(run, tmp_path, force=True)


def test_a_run_without_its_episodes_is_refused(tmp_path):
    result = finished_run(tmp_path / "runs", "cartpole")
    (result.folder / "candidates" / "r01_c01" / "episodes.npz").unlink()
    with pytest.raises(RunError, match=r"episodes\.npz: the episodes are missing"):
        write_dataset(load_run(result.folder), tmp_path / "data")


def test_without_to_it_goes_where_minari_looks(cartpole, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "mine"))
    assert exit_code("export", cartpole.folder, "--minari", "--force") == 0
    name = f"promptpo/cartpole/{cartpole.folder.name}-v0"
    assert f"minari.load_dataset('{name}')" in capsys.readouterr().out
    assert minari.load_dataset(name).total_episodes == 2
    assert (tmp_path / "mine" / name / "data").is_dir()


def test_with_to_it_lies_beside_the_policy(cartpole, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MINARI_DATASETS_PATH", raising=False)
    assert exit_code("export", cartpole.folder, "--to", tmp_path, "--minari") == 0
    assert f"MINARI_DATASETS_PATH={tmp_path / 'minari'}" in capsys.readouterr().out
    assert (tmp_path / "minari" / "promptpo" / "cartpole").is_dir()
    assert (tmp_path / "policy.py").is_file()


@pytest.mark.parametrize("missing", ["minari", "h5py", "PIL"])
def test_a_missing_package_is_one_line_with_the_remedy(cartpole, tmp_path, missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from promptpo.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "export", cartpole.folder, "--to", tmp_path, "--minari"],
        check=False, cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == UsageError.exit_code
    (line,) = done.stderr.splitlines()
    assert f"'{missing}'" in line
    assert line.endswith("run: pip install 'promptpo[minari]'")
