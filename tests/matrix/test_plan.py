"""What a sweep is to do: seeds, runs, settings on the command line, places side by side."""

import os

import pytest

from promptpo.cli.run import parser
from promptpo.errors import UsageError
from promptpo.matrix.plan import Plan, PlanFolder, PlannedRun, as_flags, limits_of, read_seeds
from promptpo.matrix.runner import slots
from promptpo.rollout.cores import available_cores


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0..4", (0, 1, 2, 3, 4)),
        ("0,3,7", (0, 3, 7)),
        ("5", (5,)),
        ("2..3, 10,2", (2, 3, 10)),
        ("9223372036854775807", (2**63 - 1,)),
    ],
)
def test_seeds(text, seeds):
    assert read_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write it as 0..4 or 0,3,7, not ''"),
        ("0-4", "write it as 0..4 or 0,3,7, not '0-4'"),
        ("-1", "write it as 0..4"),
        ("1,,2", "write it as 0..4"),
        ("4..0", "4..0 goes backwards; write 0..4"),
        ("0..1000", "0..1000 are more than 1,000 seeds"),
        ("9223372036854775808", "seed must be at most"),
        ("٣", "write it as"),
    ],
)
def test_seeds_that_are_none(text, message):
    with pytest.raises(UsageError, match=message.replace(".", r"\.")):
        read_seeds(text)


def test_each_run_is_in_a_plan_once():
    nim, pong = PlannedRun("nim", "nim", 1), PlannedRun("pong", "pong", 1)
    assert Plan.of([nim, pong, nim], {}).runs == (nim, pong)


def test_two_specs_of_one_name_would_share_a_folder():
    members = [PlannedRun("/a/task.py", "task", 0), PlannedRun("/b/task.py", "task", 0)]
    with pytest.raises(UsageError, match=r"/a/task.py and /b/task.py are both called task"):
        Plan.of(members, {})


def test_too_many_runs_are_a_slip_of_the_hand():
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


def test_limits_are_told_as_one_types_them():
    settings = {"max_cost": 2.0, "rounds": 3, "target": -0.5, "max_env_steps": 10**7}
    assert limits_of(settings) == "--target -0.5 --max-cost 2 --max-env-steps 10000000"


@pytest.mark.parametrize(
    ("runs", "workers", "sizes"),
    [(5, 8, [2, 2, 2, 1, 1]), (2, 8, [4, 4]), (9, 3, [1, 1, 1]), (1, 4, [4]), (0, 4, [4])],
)
def test_places_share_out_the_workers(runs, workers, sizes):
    assert [slot.workers for slot in slots(runs, workers)] == sizes


def test_with_a_worker_for_every_core_each_place_has_cores_of_its_own():
    places = slots(3)
    assert sum(slot.workers for slot in places) == available_cores()
    held = [core for slot in places for core in slot.cores]
    assert sorted(held) == sorted(os.sched_getaffinity(0))
    assert all(len(slot.cores) == slot.workers for slot in places)


def test_with_fewer_workers_than_cores_no_run_is_kept_to_some():
    assert all(slot.cores is None for slot in slots(2, available_cores() + 1))


def test_a_member_with_a_label_has_settings_and_a_folder_of_its_own(tmp_path):
    plain, other = PlannedRun("nim", "nim", 0), PlannedRun("nim", "nim", 0, "random search")
    own = {other: {"method": "random-search", "scale": 2.0}}
    plan = Plan.of([plain, other], {"rounds": 3, "model": "builtin"}, own)
    PlanFolder(tmp_path).write(plan)

    read = PlanFolder(tmp_path).read()
    assert read.flags(plain) == ["--rounds=3", "--model=builtin", "--spec=nim", "--seed=0"]
    assert read.flags(other)[2:5] == ["--method=random-search", "--set", "scale=2.0"]
    assert [str(m.place) for m in read.runs] == ["nim", "random search/nim"]
    assert [str(m) for m in read.runs] == ["nim seed 0", "random search: nim seed 0"]
