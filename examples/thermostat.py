"""Thermostat: keep a room comfortable through two winter days, and the heating bill low.

An electric heater warms a room while it is cold outside. A wider band of temperatures is
comfortable at night than by day, and electricity costs more at some hours than at others. Choose
the heater's power every 15 minutes so that discomfort and the price of the energy add up to as
little as possible. Weather, prices and the room's first temperature differ between episodes.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from promptpo.spec import EnvSpec, field


class Observation:
    """The room, the weather and the prices at the start of a step of 15 minutes."""

    indoor: float = field(unit="deg C", low=-15.0, high=46.0, doc="air temperature of the room")
    outdoor: float = field(unit="deg C", low=-15.0, high=19.0, doc="air temperature outside")
    hour: float = field(
        unit="h", low=0.0, high=23.75, doc="time of day, 0 at midnight; an episode starts at 0"
    )
    comfort: np.ndarray = field(
        shape=(2,),
        unit="deg C",
        low=(16.0, 22.0),
        high=(20.0, 24.0),
        doc="lowest and highest comfortable indoor temperature now: 20 and 22 where "
        "7 <= hour < 22, else 16 and 24",
    )
    prices: np.ndarray = field(
        shape=(4,),
        unit="euro/kWh",
        low=0.1,
        high=0.6,
        doc="price of electricity now, and in 1, 2 and 3 hours; entry 0 is paid in this step",
    )

    def discomfort(self) -> float:
        """How far the room is outside the comfortable band, in K; 0 inside it."""
        return float(max(self.comfort[0] - self.indoor, self.indoor - self.comfort[1], 0.0))


ACTION = """An array of 1 float in [0, 3]: the heater's electric power in kW during the next 15
minutes; 0 is off, 3 is full power."""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step, in euro: minus the energy's price, minus 0.4 per K h of discomfort."""
    energy = 0.25 * action[0]  # kWh in a quarter of an hour
    discomfort = 0.25 * next_observation.discomfort()  # K h, by the band and room after the step
    return -float(observation.prices[0] * energy + 0.4 * discomfort)


class Room(gymnasium.Env[np.ndarray, np.ndarray]):
    """A room whose air and walls store heat; the walls' temperature is not observed."""

    action_space = gymnasium.spaces.Box(0.0, 3.0, (1,), np.float64)
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (9,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Draw weather, prices and temperatures of an episode; return the observation, (9,)."""
        super().reset(seed=seed)
        self.steps = 0
        self.indoor = self.np_random.uniform(15.0, 19.0)  # deg C
        self.wall = self.indoor - self.np_random.uniform(0.0, 2.0)  # deg C
        self.mean, self.swing = self.np_random.uniform((-4.0, 2.0), (8.0, 6.0))  # deg C, K
        self.drift = 0.0  # K, how far the weather is from its daily course, -5 to 5
        self.tariff = self.np_random.uniform((0.1, 0.2, 0.35), (0.2, 0.35, 0.6))  # euro/kWh
        return self.observe(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Heat with ``action``, (1,), 0 to 3 kW, for a quarter of an hour; reward in euro."""
        power, outdoor, price = float(action[0]), self.outdoor(), self.price(0)
        to_wall = (self.indoor - self.wall) / 1.5  # kW, as are the two below
        to_outside = (self.indoor - outdoor) / 25.0
        through_wall = (self.wall - outdoor) / 12.0
        self.indoor += 0.25 * (power - to_wall - to_outside) / 0.6  # 0.6 kWh/K in the air
        self.wall += 0.25 * (to_wall - through_wall) / 3.0  # 3 kWh/K in the walls
        self.drift = float(np.clip(self.drift + self.np_random.normal(0.0, 0.2), -5.0, 5.0))
        self.steps += 1
        low, high = self.comfort()
        outside = max(low - self.indoor, self.indoor - high, 0.0)
        cost = 0.25 * (price * power + 0.4 * outside)
        return self.observe(), -cost, False, False, {}

    def hour(self, ahead: int = 0) -> float:
        """Time of day, in h, 0 to 23.75, so many hours ahead."""
        return (self.steps / 4 + ahead) % 24

    def outdoor(self) -> float:
        """Temperature outside, in deg C, -15 to 19; warmest at 15 h."""
        course = self.swing * np.cos((self.hour() - 15) / 12 * np.pi)
        return float(self.mean + course + self.drift)

    def comfort(self) -> tuple[float, float]:
        """Lowest and highest comfortable temperature, in deg C."""
        return (20.0, 22.0) if 7 <= self.hour() < 22 else (16.0, 24.0)

    def price(self, ahead: int) -> float:
        """Price so many hours ahead, in euro/kWh, 0.1 to 0.6: low at night, high at the peaks."""
        hour = self.hour(ahead)
        peak = 7 <= hour < 9 or 17 <= hour < 20
        return float(self.tariff[0 if hour < 6 or hour >= 22 else 2 if peak else 1])

    def observe(self) -> np.ndarray:
        """The fields of `Observation`, in order, (9,)."""
        prices = [self.price(ahead) for ahead in range(4)]
        return np.array([self.indoor, self.outdoor(), self.hour(), *self.comfort(), *prices])


def expert(env: gymnasium.Env[np.ndarray, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A controller proportional to the distance from a set point, warming up from hour 5."""

    def act(raw: np.ndarray) -> np.ndarray:
        """Power in kW, (1,), 0 to 3, for the observation, (9,)."""
        indoor, outdoor, hour = raw[:3]
        goal = 20.2 if 5 <= hour < 21.5 else 16.2
        power = 2.0 * (goal - indoor) + (goal - outdoor) / 8.5
        return np.array([np.clip(power, 0.0, 3.0)])

    return act


SPEC = EnvSpec(
    make=Room,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=192,
    references={"random": -73.31, "zero action": -188.86, "expert": -33.09},
    expert=expert,
    withheld=("wall", "kWh/K"),
)
