"""Metrics, constraints and the objective of a spec: declared, gathered, and refused when wrong."""

import numpy as np
import pytest
from room_spec import write_room

from promptpo.cli import main
from promptpo.errors import SpecError
from promptpo.spec import Constraint, Task, load_spec
from promptpo.spec.baselines import play_episode

ENERGY = 'lambda info, reward, terminated: info["kwh"], "sum", unit="kWh", better="low"'


def act(power):
    """A controller of constant power."""
    return lambda task, seed: lambda raw: np.array([power])


def test_the_guide_is_true_and_check_tells_what_its_metrics_come_to(tmp_path, capsys):
    assert main(["check", str(write_room(tmp_path))]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "metric: energy random" in told
    assert "at most 32 C in every step" in told
    assert "at most 27 C on average" in told
    assert "expert the spec states no such reference; measured" in told
    assert "worst tenth" in told


@pytest.mark.parametrize(
    ("gather", "expected"),
    [("sum", 10), ("mean", 2.5), ("max", 4), ("min", 1), ("last", 4)],
)
def test_steps_are_gathered(tmp_path, gather, expected):
    path = write_room(
        tmp_path,
        (ENERGY, f'lambda info, reward, terminated: info["n"], "{gather}"'),
        ('"kwh": cooling / 36}', '"kwh": 0.0, "n": self.steps}'),
        ("cooling = float(action[0])\n", "cooling = float(action[0])\n        self.steps += 1\n"),
        ("super().reset(seed=seed)\n", "super().reset(seed=seed)\n        self.steps = 0\n"),
        ("horizon=144", "horizon=4"),
    )
    task = Task.open(load_spec(path))
    for seed in (3, 3):  # a second episode begins anew
        assert play_episode(task, act(6.0), seed).metrics["energy"] == expected


def test_an_episode_succeeds_where_its_constraints_hold_and_its_goal_is_met(tmp_path):
    task = Task.open(load_spec(write_room(tmp_path)))
    assert play_episode(task, act(12.0), 0).success is True
    hot = play_episode(task, act(0.0), 0)
    assert hot.success is False
    assert hot.metrics["hottest inlet"] > 32.0
    met = "    success=lambda info, reward, terminated: {},\n    metrics="
    for goal, power, success in (
        ("True", 12.0, True),
        ("True", 0.0, False),
        ("False", 12.0, False),
    ):
        task = Task.open(load_spec(write_room(tmp_path, ("    metrics=", met.format(goal)))))
        assert play_episode(task, act(power), 0).success is success


def test_bounds_are_inclusive_and_breaches_are_measured():
    gauge = Constraint(len, "mean", at_least=1.0, at_most=3.0).gauge
    assert [gauge.breach(x) for x in (0.5, 1.0, 3.0, 5.0)] == [0.5, 0.0, 0.0, 2.0]
    assert Constraint(len, "min", at_least=1.0).gauge.better == "high"
    assert Constraint(len, "max", at_most=1.0).gauge.better == "low"


WRONG = {
    "no metric": (
        (f"Metric(\n            {ENERGY}\n        )", "3.0"),
        "'energy'] must be a Metric",
    ),
    "gather": (
        ('"sum", unit="kWh"', '"median", unit="kWh"'),
        "'energy'] must gather by one of sum",
    ),
    "better": (('unit="kWh", better="low"', 'better="less"'), "neither"),
    "no text": (('"energy": Metric', "7: Metric"), "no text on one line"),
    "two lines": (('"energy": Metric', '"a\\nb": Metric'), "no text on one line"),
    "taken": (('"energy": Metric', '"return": Metric'), "needs another name"),
    "unit": (('unit="kWh"', "unit=3"), "has a unit"),
    "no bound": (("at_most=32.0, ", ""), "'hottest inlet'] needs at_most"),
    "bound": (("at_most=32.0, ", "at_most=float('nan'), "), "'hottest inlet'] needs at_most"),
    "twice": (('"hottest inlet": Con', '"energy": Con'), "has the name of a metric"),
    "arguments": (("lambda info, reward, terminated: info", "lambda info: info"), "must take the"),
    "no function": (('lambda info, reward, terminated: info["kwh"]', "1"), "must be a function"),
    "objective": (('objective="cvar10"', 'objective="median"'), '"mean" or "cvar10"'),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_declared_wrongly_is_said_where_it_stands(tmp_path, name):
    change, words = WRONG[name]
    path = write_room(tmp_path, change)
    with pytest.raises(SpecError) as error:
        load_spec(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)


FAULTS = {
    '{}["joule"]': "metric 'energy' failed: KeyError",
    "float('nan')": "metric 'energy' is nan",
    "float('inf')": "metric 'energy' is inf",
    "None": "metric 'energy' returns NoneType as the value, not a number",
    "'a lot'": "metric 'energy' returns str as the value, not a number",
    "1e308": "metric 'energy' comes to inf over an episode",
    "exit(0)": "metric 'energy' failed: sys.exit(0) was called",
}


@pytest.mark.parametrize("value", FAULTS)
def test_a_faulty_metric_is_one_error_that_names_it(tmp_path, value):
    path = write_room(tmp_path, ('info["kwh"], "sum"', f'{value}, "sum"'))
    with pytest.raises(SpecError) as error:
        play_episode(Task.open(load_spec(path)), act(6.0), 0)
    assert FAULTS[value] in str(error.value)
    assert f"{path}:" in str(error.value)


@pytest.mark.parametrize("value", ['{}["joule"]', "1e308"])
def test_check_and_run_say_so(tmp_path, capsys, value):
    path = write_room(tmp_path, ('info["kwh"], "sum"', f'{value}, "sum"'))
    run = ("--spec", str(path), "--method", "random-search", "--rounds", "1", "--workers", "1")
    out = ("--candidates", "1", "--episodes", "1", "--out", str(tmp_path / "runs"))
    assert main(["check", str(path)]) != 0
    assert FAULTS[value] in " ".join(capsys.readouterr().out.split())
    assert main([*run, *out]) == 3
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert FAULTS[value] in said
    assert f"{path}:" in said
