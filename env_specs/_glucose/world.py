"""A day after day of meals, a glucose sensor and an insulin pump, as a Gymnasium environment.

Sensor, pump and meals are those of simglucose 0.2.11: its sensor "GuardianRT" (a reading every 5
minutes), its pump "Insulet", its ``RandomScenario``, drawn from the same random numbers, so that an
episode of the same three seeds is the same there.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .model import PMOL, Patient

ENV_ID = "promptpo/Glucose-v0"

MINUTES_PER_STEP = 5
STEPS_PER_DAY = 24 * 60 // MINUTES_PER_STEP
DAYS = 20
HISTORY = 48
MISSING = -1.0

#: Most insulin that the action space allows, U/min.
MOST_INSULIN = 0.1

#: Cost of a unit of insulin, U.
UNIT_COST = 10.0

#: Outside of these the patient is dead, mg/dL. Death costs the penalty, and for every step that is
#: left more than any step can cost a living patient: so dying never pays, nor does dying sooner.
SURVIVABLE = (10.0, 1000.0)
DEATH_PENALTY, COST_OF_A_LOST_STEP = 100_000.0, 115.0

#: The pump moves in steps of so many pmol/min.
_PUMP_STEP = 0.05

_READING = (39.0, 600.0)

#: Minutes from one value of the sensor's error to the next, and how many values make a stretch.
_ERROR_MINUTES, _ERROR_VALUES = 15, 10

#: Breakfast, snack, lunch, snack, dinner, snack: chance; earliest, latest, mean and deviation of
#: the time (minutes of the day); mean and deviation of the carbohydrate (g).
_MEALS = (
    (0.95, 300, 540, 420, 60, 45, 10),
    (0.30, 540, 600, 570, 30, 10, 5),
    (0.95, 600, 840, 720, 60, 70, 10),
    (0.30, 840, 960, 900, 30, 10, 5),
    (0.95, 960, 1200, 1080, 60, 80, 10),
    (0.30, 1200, 1380, 1290, 30, 10, 5),
)


def sensor_errors(seed: int) -> Iterator[float]:
    """Yield the error of each reading, mg/dL, without end.

    Breton & Kovatchev (J. Diabetes Sci. Technol. 2, 2008): an autoregressive sequence every 15
    minutes through a Johnson SU transform, between them a cubic spline over 150 minutes.
    """
    from scipy.interpolate import interp1d

    random = np.random.RandomState(seed)
    level = random.randn()

    def value() -> float:
        return float(-5.47 + 15.9574 * math.sinh((level + 0.5444) / 1.6898))

    known = [value()]
    coarse = np.arange(_ERROR_VALUES + 1) * _ERROR_MINUTES
    fine = np.arange(MINUTES_PER_STEP, coarse[-1] + 1, MINUTES_PER_STEP)
    while True:
        for _ in range(_ERROR_VALUES):
            level = 0.7 * (level + random.randn())
            known.append(value())
        yield from interp1d(coarse, known, kind="cubic")(fine).tolist()
        known = known[-1:]


def days_of_meals(seed: int) -> Iterator[dict[int, float]]:
    """Yield, for one day after the other, carbohydrate (g) by minute of the day."""
    from scipy.special import ndtr, ndtri

    random = np.random.RandomState(seed)
    while True:
        day: dict[int, float] = {}
        for chance, first, last, mean, deviation, grams, spread in _MEALS:
            if random.rand() >= chance:
                continue
            low, high = ndtr((first - mean) / deviation), ndtr((last - mean) / deviation)
            at = mean + deviation * ndtri(low + random.uniform() * (high - low))
            day.setdefault(round(float(at)), max(round(random.normal(grams, spread)), 0))
        yield day


class GlucoseWorld(gymnasium.Env[NDArray[np.float64], NDArray[np.float64]]):
    """One patient for 20 days, from midnight; a step is 5 minutes.

    Observation, shape (3, 48): the last 48 values, the newest last, of glucose as measured (mg/dL),
    insulin given (U/min) and carbohydrate served (g); -1 where nothing is known yet. Action, shape
    (1,): insulin in U/min, 0 to 0.1. Reward: minus the risk of the glucose as the sensor shows it,
    minus 10 for each unit of insulin; when the true one leaves 10 to 1000 mg/dL, the patient dies,
    which ends the episode and costs 100,000 and 115 for each step that is left. ``info`` tells
    ``blood_glucose``, the true one, ``died`` and ``steps_left``. ``substeps`` is that of the
    patient.
    """

    def __init__(self, substeps: int = 1) -> None:
        self.action_space = spaces.Box(0.0, MOST_INSULIN, (1,), np.float64)
        # No meal reaches 500 g: the largest are drawn about 80 g with a deviation of 10 g.
        high = np.repeat([[_READING[1]], [MOST_INSULIN], [500.0]], HISTORY, axis=1)
        self.observation_space = spaces.Box(MISSING, high, dtype=np.float64)
        self._substeps = substeps

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Start on day 1; ``options`` may give the seeds ``patient``, ``sensor`` and ``meals``."""
        super().reset(seed=seed)
        drawn = self.np_random.integers(2**31, size=3).tolist()
        seeds = dict(zip(("patient", "sensor", "meals"), drawn, strict=True)) | (options or {})
        self.patient = Patient(seeds["patient"], self._substeps)
        self._errors = sensor_errors(seeds["sensor"])
        self._days = days_of_meals(seeds["meals"])
        next(self._days)  # simglucose draws one for before the first midnight
        self._meals: dict[int, float] = {}
        self._minute = 0
        self._history = tuple(deque([MISSING] * HISTORY, HISTORY) for _ in range(3))
        self._history[0].append(self._read())
        self._reading = self._read()
        return self._observation(), {"blood_glucose": self.patient.glucose}

    def step(
        self, action: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Give insulin at the rate ``action[0]`` for 5 minutes."""
        rate = min(max(float(action[0]), 0.0), MOST_INSULIN)
        insulin = round(rate * PMOL / _PUMP_STEP) * _PUMP_STEP / PMOL
        glucose = measured = served = 0.0
        for _ in range(MINUTES_PER_STEP):
            of_day = self._minute % (24 * 60)
            if of_day == 0:
                self._meals = next(self._days)
            meal = self._meals.get(of_day, 0.0)
            self.patient.minute(meal, insulin)
            self._minute += 1
            if self._minute % MINUTES_PER_STEP == 0:
                self._reading = self._read()
            served += meal
            glucose += self.patient.glucose / MINUTES_PER_STEP
            measured += self._reading / MINUTES_PER_STEP
        for values, value in zip(self._history, (measured, insulin, served), strict=True):
            values.append(value)
        died = not SURVIVABLE[0] <= glucose <= SURVIVABLE[1]
        steps_left = max(DAYS * STEPS_PER_DAY - self._minute // MINUTES_PER_STEP, 0)
        reward = -risk(measured) - UNIT_COST * MINUTES_PER_STEP * insulin
        if died:
            reward -= DEATH_PENALTY + COST_OF_A_LOST_STEP * steps_left
        info = {"blood_glucose": glucose, "died": died, "steps_left": steps_left}
        return self._observation(), reward, died, False, info

    def _read(self) -> float:
        reading = self.patient.glucose + next(self._errors)
        return min(max(reading, _READING[0]), _READING[1])

    def _observation(self) -> NDArray[np.float64]:
        return np.array(self._history)


def risk(glucose: float) -> float:
    """Magni risk of a glucose (mg/dL) of 1 and more: 0 near 139, 25 at 70, 18 at 250."""
    deviation: float = math.log(glucose) ** 0.8353 - 3.7932
    return 10.0 * (3.5506 * deviation) ** 2


if ENV_ID not in gymnasium.registry:
    gymnasium.register(
        ENV_ID, entry_point=f"{__name__}:GlucoseWorld", max_episode_steps=DAYS * STEPS_PER_DAY
    )
