"""What a sweep is to do: seeds, runs, settings on the command line, places side by side."""

import os
import re

import pytest

from promptpo.cli.run import parser
from promptpo.errors import UsageError
from promptpo.matrix.plan import Plan, PlanFolder, PlannedRun, as_flags, limits_of, read_seeds
from promptpo.matrix.runner import slots
from promptpo.rollout.cores import available_cores


def test_seeds_are_read_from_a_list_with_ranges():
    for text, seeds in [
        ("0..4", (0, 1, 2, 3, 4)),
        ("0,3,7", (0, 3, 7)),
        ("2..3, 10,2", (2, 3, 10)),
        ("9223372036854775807", (2**63 - 1,)),
    ]:
        assert read_seeds(text) == seeds
    for text, message in [
        ("", "write it as 0..4 or 0,3,7, not ''"),
        ("-1", "write it as 0..4"),
        ("1,,2", "write it as 0..4"),
        ("4..0", "4..0 goes backwards; write 0..4"),
        ("0..1000", "0..1000 are more than 1,000 seeds"),
        ("9223372036854775808", "seed must be at most"),
        ("٣", "write it as"),
    ]:
        with pytest.raises(UsageError, match=re.escape(message)):
            read_seeds(text)


def test_a_plan_has_each_run_once_and_no_two_specs_of_one_name():
    nim, pong = PlannedRun("nim", "nim", 1), PlannedRun("pong", "pong", 1)
    assert Plan.of([nim, pong, nim], {}).runs == (nim, pong)
    two = [PlannedRun("/a/task.py", "task", 0), PlannedRun("/b/task.py", "task", 0)]
    with pytest.raises(UsageError, match=r"/a/task.py and /b/task.py are both called task"):
        Plan.of(two, {})
    with pytest.raises(UsageError, match=r"1,001 runs are more than 1,000; name fewer --seeds"):
        Plan.of([PlannedRun("nim", "nim", seed) for seed in range(1001)], {})


def test_flags_are_read_as_the_settings_that_they_came_from():
    settings = {
        "rounds": 3, "reflection": False, "published_prompt": True, "target": -1e3,
        "temperature": 0.1, "track": "tensorboard,mlflow", "model": "a b", "preset": "paper",
        "max_cost": None,
    }  # fmt: skip
    read = vars(parser().parse_args(as_flags({**settings, "workers": 7})))
    assert {name: read.get(name) for name in settings} == settings
    assert "workers" not in read
    settings = {"max_cost": 2.0, "rounds": 3, "target": -0.5, "max_env_steps": 10**7}
    assert limits_of(settings) == "--target -0.5 --max-cost 2 --max-env-steps 10000000"


def test_places_share_out_the_workers_and_the_cores_where_these_are_as_many():
    for runs, workers, sizes in [
        (5, 8, [2, 2, 2, 1, 1]), (2, 8, [4, 4]), (9, 3, [1, 1, 1]), (1, 4, [4]), (0, 4, [4]),
    ]:  # fmt: skip
        assert [slot.workers for slot in slots(runs, workers)] == sizes
    places = slots(3)
    assert sum(slot.workers for slot in places) == available_cores()
    assert sorted(core for slot in places for core in slot.cores) == sorted(os.sched_getaffinity(0))
    assert all(len(slot.cores) == slot.workers for slot in places)
    assert all(slot.cores is None for slot in slots(2, available_cores() + 1))


def test_a_run_with_a_label_has_settings_and_a_folder_of_its_own(tmp_path):
    plain, other = PlannedRun("nim", "nim", 0), PlannedRun("nim", "nim", 0, "random search")
    own = {other: {"method": "random-search", "scale": 2.0}}
    plan = Plan.of([plain, other], {"rounds": 3, "model": "builtin"}, own)
    PlanFolder(tmp_path).write(plan)

    read = PlanFolder(tmp_path).read()
    assert read.flags(plain) == ["--rounds=3", "--model=builtin", "--spec=nim", "--seed=0"]
    assert read.flags(other)[2:5] == ["--method=random-search", "--set", "scale=2.0"]
    assert [str(m.place) for m in read.runs] == ["nim", "random search/nim"]
    assert [str(m) for m in read.runs] == ["nim seed 0", "random search: nim seed 0"]
