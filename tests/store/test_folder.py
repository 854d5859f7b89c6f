import json
import os

import numpy as np
import pytest

from promptpo.common.files import write_atomically
from promptpo.errors import RunError
from promptpo.store.folder import RunFolder
from promptpo.types import Candidate, Key, Note, Rollout, Trajectory


def new_run(out):
    with RunFolder.create(out, "cartpole") as folder:
        folder.events.touch()
    return folder


def test_a_run_appears_only_when_it_is_filled(tmp_path):
    with RunFolder.create(tmp_path, "cartpole") as folder:
        assert [p.name[0] for p in (tmp_path / "cartpole").iterdir()] == ["."]
        folder.events.write_text("{}")
    assert folder.events.read_text() == "{}"
    assert folder.path.parent == tmp_path / "cartpole"


def test_two_runs_in_one_second_get_two_folders(tmp_path):
    assert new_run(tmp_path).path != new_run(tmp_path).path


def test_a_run_can_be_locked_once_and_is_running_meanwhile(tmp_path):
    folder = new_run(tmp_path)
    lock = folder.lock()
    assert folder.is_running
    with pytest.raises(RunError, match="another process is running it"):
        folder.lock()
    os.close(lock)
    assert not folder.is_running
    os.close(folder.lock())


def test_episodes_come_back_as_they_were(tmp_path):
    folder = new_run(tmp_path)
    rng = np.random.default_rng(0)
    episodes = [
        Trajectory(
            rng.normal(size=(t + 1, 3)), rng.normal(size=(t, 2)), rng.normal(size=t),
            seed=2**30 + t, terminated=t == 1, truncated=t != 1, success=success,
        )
        for t, success in ((1, None), (7, True), (3, False))
    ]  # fmt: skip
    folder.write_episodes("r01_c01", episodes)
    for before, after in zip(episodes, folder.read_episodes("r01_c01"), strict=True):
        for name, value in vars(before).items():
            np.testing.assert_array_equal(value, getattr(after, name))


def test_a_reply_that_a_person_wrote_is_left_alone(tmp_path):
    folder = new_run(tmp_path)
    key = Key(1, 2, role="policy")
    write_atomically(folder.prompts / "r01_c02_policy.reply.md", "mine")
    folder.write_reply(key, "theirs")
    assert (folder.prompts / "r01_c02_policy.reply.md").read_text() == "mine"


def test_a_failed_candidate_keeps_its_error(tmp_path):
    folder = new_run(tmp_path)
    run = Rollout("search", (1,), error="boom")
    folder.write_result(Candidate(Key(1, 1, 2), "class Policy: ...", run, error="boom"))
    where = folder.candidate("r01_c01")
    assert (where / "policy.py").read_text() == "class Policy: ..."
    assert (where / "feedback.txt").read_text() == "boom\n"
    assert '"repairs": 2' in (where / "result.json").read_text()


def test_a_result_says_what_a_candidate_is_and_where_it_comes_from(tmp_path):
    folder = new_run(tmp_path)
    candidate = Candidate(
        Key(2, 1), None, None, "boom", "revision", ("r01_c03",), (Note("a", "b"),)
    )
    folder.write_result(candidate)
    result = json.loads((folder.candidate("r02_c01") / "result.json").read_text())
    assert (result["kind"], result["parents"]) == ("revision", ["r01_c03"])
    assert result["notes"] == [{"title": "a", "text": "b"}]
