import pickle

import pytest

from promptpo.cli import main
from promptpo.errors import FileError, UsageError
from promptpo.rollout import cluster
from promptpo.rollout.cluster import Parcels
from promptpo.rollout.jobs import PlayJob, PrepareJob
from promptpo.rollout.seat import difference, likeness


@pytest.fixture
def store():
    return []


@pytest.fixture
def parcels(store):
    def put(content):
        store.append(content)
        return f"reference {len(store)}"

    return Parcels(put)


def test_large_values_are_sent_once_and_not_with_every_job(parcels, store):
    values = bytes(100_000)
    jobs = [parcels.pack(PlayJob("", (seed,), prepared=values)) for seed in range(3)]
    assert all((names, sent) == (["prepared"], ["reference 1"]) for _, names, sent in jobs)
    assert store == [values]
    assert pickle.loads(jobs[2][0]) == PlayJob("", (2,))  # noqa: S301
    assert parcels.pack(PlayJob("", (1,), prepared=b"small"))[1:] == ([], [])


def test_a_file_is_sent_again_only_when_it_has_changed(parcels, store, tmp_path):
    file = tmp_path / "round_1"
    file.write_bytes(b"abc")
    job = PrepareJob("", str(file), 1.0)
    first = parcels.pack(job)
    assert parcels.pack(job)[1:] == first[1:] == (["data"], ["reference 1"])
    assert bytes(store[0]) == b"abc"
    file.write_bytes(b"abcd")
    assert parcels.pack(job)[2] == ["reference 2"]
    file.unlink()
    with pytest.raises(FileError, match="round_1"):
        parcels.pack(job)


def test_machines_must_have_the_same_promptpo_and_packages():
    here = likeness()
    assert difference(here, here) == ""
    older = {**here, "promptpo": "0.0.1"}
    assert "it has promptpo 0.0.1" in difference(here, older)
    other = {**here, "packages": {**here["packages"], "mujoco": "2.0.0"}}
    assert f"pip install mujoco=={here['packages']['mujoco']}" in difference(here, other)
    assert difference(here, {**here, "packages": {}}) == ""
    assert "other code" in difference(here, {**here, "code": "else"})


def test_without_ray_one_line_says_what_brings_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"run: pip install 'promptpo\[ray\]'"):
        cluster.connect()
    assert main(["cartpole", "--executor", "ray", "--out", str(tmp_path)]) == 2
    assert "pip install 'promptpo[ray]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_more_workers_than_this_machine_bears_are_for_a_cluster(capsys, tmp_path):
    assert main(["cartpole", "--workers", "5000", "--out", str(tmp_path)]) == 2
    assert "more are for --executor ray" in capsys.readouterr().err
