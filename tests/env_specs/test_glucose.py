"""The glucose task: the model gives simglucose's trajectories, the rest is as described."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from env_specs._glucose.model import Patient, basal_rate, equations, parameters
from env_specs._glucose.world import (
    GlucoseWorld,
    days_of_meals,
    risk,
    sensor_errors,
)
from promptpo.spec import Task, load_spec

#: Recorded from simglucose 0.2.11 itself; data/record_simglucose.py says how.
RECORDED = Path(__file__).parent / "data" / "simglucose_adult_001.csv"
SEEDS = {"patient": 11, "sensor": 22, "meals": 33}

INSULIN, CARBOHYDRATE, GLUCOSE, SENSOR = range(1, 5)


def deviations(substeps):
    """Largest differences of three days to the recorded ones, in the columns' order."""
    recorded = np.genfromtxt(RECORDED, delimiter=",", skip_header=2)
    world = GlucoseWorld(substeps)
    raw, info = world.reset(options=SEEDS)
    rows = [[np.nan, np.nan, np.nan, info["blood_glucose"], raw[0, -1]]]
    for asked in recorded[1:, 0]:
        raw, _, terminated, _, info = world.step(np.array([asked]))
        assert not terminated
        rows.append([asked, raw[1, -1], raw[2, -1] / 5, info["blood_glucose"], raw[0, -1]])
    return np.nanmax(np.abs(np.array(rows) - recorded), axis=0)


def test_three_days_are_those_of_simglucose_to_what_its_own_integrator_allows():
    off = deviations(substeps=1)
    assert off[CARBOHYDRATE] == 0
    assert off[INSULIN] < 1e-9
    assert max(off[GLUCOSE], off[SENSOR]) < 0.01
    finer = deviations(substeps=8)
    assert max(finer[GLUCOSE], finer[SENSOR]) < 1e-5


def test_basal_insulin_keeps_the_published_steady_state():
    patient = Patient()
    slopes = equations(parameters())(patient.state, 0.0, parameters().u2ss, 0.0)
    assert np.abs(slopes).max() < 1e-4
    for _ in range(24 * 60):
        patient.minute(0.0, basal_rate())
    assert patient.glucose == pytest.approx(138.56, abs=0.1)  # Gb of the patient's parameters


def test_meals_keep_to_their_hours_and_sizes():
    days = list(islice(days_of_meals(5), 2000))
    assert np.mean([sum(day.values()) for day in days]) == pytest.approx(194, abs=4)
    assert {minute // 60 for day in days for minute in day} <= set(range(5, 24))
    assert min(grams for day in days for grams in day.values()) >= 0


def test_the_sensor_errs_by_some_mg_dl_and_drifts():
    errors = np.array(list(islice(sensor_errors(1), 20_000)))
    assert abs(np.mean(errors)) < 1.5
    assert 5 < np.std(errors) < 15
    assert np.corrcoef(errors[:-1], errors[1:])[0, 1] > 0.9
    assert np.corrcoef(errors[:-60], errors[60:])[0, 1] < 0.2


def test_risk_is_the_published_formula():
    # Magni et al., J. Diabetes Sci. Technol. 1 (2007): least at 138.9 mg/dL.
    glucose = np.arange(20.0, 600.0, 0.1)
    assert glucose[np.argmin([risk(value) for value in glucose])] == pytest.approx(138.9, abs=0.2)
    assert [round(risk(value), 1) for value in (70, 180, 250)] == [25.0, 3.5, 17.6]


def test_death_ends_the_episode_and_costs_what_is_stated():
    task = Task.open(load_spec("glucose"))
    task.reset(0)
    terminated, steps = False, 0
    while not terminated:
        after, reward, terminated, truncated, _ = task.step(np.array([0.1]))
        steps += 1
        assert not truncated
    glucose, insulin, _ = after.reshape(3, 48)
    assert steps < 288
    assert task.info["blood_glucose"] < 10
    assert task.info["steps_left"] == 5760 - steps
    lost = 100_000 + 115 * (5760 - steps)
    assert reward == pytest.approx(-risk(glucose[47]) - 50 * insulin[47] - lost)


def test_a_long_neglected_life_is_worth_more_than_any_death():
    task = Task.open(load_spec("glucose"))

    def life(rate, steps=5760):
        task.reset(2)
        total, terminated = 0.0, False
        for _ in range(steps):
            _, reward, terminated, *_ = task.step(np.array([rate]))
            total += reward
            if terminated:
                break
        return total, terminated

    neglected, died = life(0.0, 1000)
    assert not died
    overdosed, died = life(0.1)
    assert died
    assert overdosed < neglected * 5.76 - 100_000


def test_the_newest_values_stand_at_the_end_and_the_unknown_is_minus_one():
    task = Task.open(load_spec("glucose"))
    glucose, insulin, carbohydrate = task.reset(3).reshape(3, 48)
    assert glucose[47] > 39
    assert set(glucose[:47]) == set(insulin) == set(carbohydrate) == {-1.0}
    for rate in (0.02, 0.04):
        later = task.step(np.array([rate]))[0].reshape(3, 48)
    assert later[0, 45] == glucose[47]
    assert later[1, 45:] == pytest.approx([-1.0, 0.02, 0.04], abs=1e-5)
    assert later[2, 45:].tolist() == [-1.0, 0.0, 0.0], "nobody eats at midnight"
