"""What is written as a Minari dataset is what Minari loads."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from exported_runs import ROOT, exit_code, finished_run
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


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The folder of datasets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    return tmp_path / "data"


def written(run, **how):
    name, _ = write_dataset(load_run(run.folder), **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return minari.load_dataset(name)


@pytest.mark.parametrize("spec", ["mujoco_halfcheetah", "noise_world_board_1"])
def test_minari_loads_the_recorded_arrays_seeds_and_successes(spec, tmp_path):
    result = finished_run(tmp_path / "runs", spec)
    data = written(result)
    recorded = RunFolder(result.folder).read_episodes("r01_c01")
    assert data.total_episodes == len(recorded) == 2
    assert data.total_steps == sum(len(e.rewards) for e in recorded)
    for ours, theirs in zip(recorded, data.iterate_episodes(), strict=True):
        rows = len(ours.rewards)
        np.testing.assert_array_equal(
            np.reshape(theirs.observations, (rows + 1, -1)).astype(np.float64), ours.observations
        )
        sent = ours.actions.astype(data.action_space.dtype)
        np.testing.assert_array_equal(np.reshape(theirs.actions, (rows, -1)), sent)
        np.testing.assert_array_equal(theirs.rewards, ours.rewards)
        assert (theirs.terminations[-1], theirs.truncations[-1]) == (
            ours.terminated, ours.truncated,
        )  # fmt: skip
        assert not theirs.terminations[:-1].any()
        assert data.action_space.contains(theirs.actions[0])
        assert data.observation_space.contains(theirs.observations[0])
    about = list(data.storage.get_episode_metadata([0, 1]))
    assert [a["seed"] for a in about] == [e.seed for e in recorded]
    assert [a.get("success") for a in about] == [e.success for e in recorded]


def test_the_metadata_tell_the_origin_and_the_environment_comes_back(cartpole):
    data = written(cartpole, author="Ada")
    about = data.storage.metadata
    assert about["author"] == {"Ada"}
    assert about["algorithm_name"] == "promptpo (method promptpo, model recorded)"
    assert "candidate r01_c01" in about["description"]
    assert "code_permalink" not in about
    env = data.recover_environment(eval_env=True)
    assert (env.spec.id, env.spec.max_episode_steps) == ("CartPole-v1", 500)
    assert env.observation_space == data.observation_space


def test_what_is_no_observation_of_an_environment_names_none(tmp_path):
    spec = tmp_path / "seen.py"
    seen = "    horizon=500,\n    observe=lambda raw, env: raw,\n"
    spec.write_text(own_cartpole(("    horizon=500,\n", seen)))
    data = written(finished_run(tmp_path / "runs", str(spec), GOOD))
    assert data.env_spec is None
    assert isinstance(data.observation_space, spaces.Box)
    assert "Observations are the fields of the spec: " in data.storage.metadata["description"]


def test_the_command_writes_to_where_minari_looks_or_beside_the_policy_and_keeps_what_is_there(
    tmp_path, place, capsys
):
    folder = finished_run(tmp_path / "runs", "cartpole").folder
    name, to = f"promptpo/cartpole/{folder.name}-v0", tmp_path / "to"
    for more, code in (((), 0), ((), 2), (("--force",), 0)):
        assert exit_code("export", folder, "--minari", *more) == code
        out, err = capsys.readouterr()
        assert code or f"minari.load_dataset('{name}')" in out
        assert ("there is such a dataset already; give --force" in err) == bool(code)
    assert minari.load_dataset(name).total_episodes == 2
    assert (place / name / "data").is_dir()
    assert exit_code("export", folder, "--to", to, "--minari") == 0
    assert f"MINARI_DATASETS_PATH={to / 'minari'} minari.load" in capsys.readouterr().out
    assert (to / "minari" / name / "data").is_dir()
    assert (to / "policy.py").is_file()
    (folder / "candidates" / "r01_c01" / "episodes.npz").unlink()
    with pytest.raises(RunError, match=r"episodes\.npz: the episodes are missing"):
        write_dataset(load_run(folder), force=True)


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
