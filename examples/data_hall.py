"""Data hall: keep four rows of servers cool through two days, at little cost.

Chilled air is blown under the floor of a hall and comes up in front of four rows of servers. Some
of the warm air behind them finds its way back to the front, more of it in some rows, and more
where the fans are slow. Choose the supply air's temperature and the fans' speed every 5 minutes.
Jobs start and end, the weather changes, electricity has prices by the hour, and now and then a
chiller fails for a while. Air at the inlets should stay at 27 C or below, and must never be above
32 C, where servers stop. An episode is 48 hours.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from promptpo.spec import Constraint, Env, EnvSpec, Metric, Raw, Reference, field


class Observation:
    """The hall at the start of a step of 5 minutes."""

    inlets: np.ndarray = field(
        shape=(4,), unit="C", low=0.0, high=80.0, doc="air at the servers' inlets, row by row"
    )
    return_air: float = field(unit="C", low=0.0, high=80.0, doc="warm air on its way back")
    supply_air: float = field(unit="C", low=0.0, high=80.0, doc="chilled air below the floor")
    load: float = field(unit="kW", low=40.0, high=240.0, doc="heat of all servers now")
    load_soon: float = field(
        unit="kW", low=40.0, high=240.0, doc="what the scheduler expects in 30 minutes"
    )
    outdoor: float = field(unit="C", low=-10.0, high=45.0, doc="air outside now")
    outdoor_soon: float = field(
        unit="C", low=-10.0, high=45.0, doc="forecast of it in 3 hours, wrong by 1 C or so"
    )
    hour: float = field(unit="h", low=0.0, high=24.0, doc="time of day; an episode starts at 0")
    price: float = field(unit="euro/kWh", low=0.05, high=0.6, doc="of electricity in this step")
    price_soon: float = field(unit="euro/kWh", low=0.05, high=0.6, doc="of it in 1 hour")

    def hottest(self) -> float:
        """Air at the inlets of the warmest row, in C."""
        return float(self.inlets.max())


ACTION = """An array of 2 floats: action[0] in [14, 28] is the set point of the supply air in C,
which it follows within about 15 minutes as far as the chillers can; action[1] in [0.2, 1] is the
fans' speed as a share of full speed."""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step, in euro: minus the price of its energy, minus 0.5 per C above 27 C."""
    flow = 14.0 * action[1]  # kW of heat that the air carries per C
    heat = max(flow * (observation.return_air - next_observation.supply_air), 0.0)  # kW
    lift = max(observation.outdoor - next_observation.supply_air + 12.0, 0.0)  # C
    power = heat * (0.04 + 0.01 * lift) + 14.0 * action[1] ** 3  # kW of chillers and of fans
    warm = max(next_observation.hottest() - 27.0, 0.0)
    return -float(observation.price * power / 12 + 0.5 * warm)


LEAK = np.array([0.04, 0.07, 0.11, 0.18])  # share of warm air in front of each row at full speed
MASS = 4.0  # kWh/C of the hall's air, floor and racks
CAPACITY = 300.0  # kW of the chillers


class Hall(gymnasium.Env[np.ndarray, np.ndarray]):
    """The hall, its weather, jobs and prices."""

    action_space = gymnasium.spaces.Box(
        np.array([14.0, 0.2]), np.array([28.0, 1.0]), dtype=np.float64
    )
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (13,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Draw the two days; return the observation, (13,)."""
        super().reset(seed=seed)
        draw, steps = self.np_random, np.arange(577 + 36)
        hours = steps / 12
        base, swing = draw.uniform(8.0, 26.0), draw.uniform(3.0, 8.0)
        drift = np.cumsum(draw.normal(0.0, 0.08, len(steps)))
        self.weather = base + swing * np.cos((hours - 15) / 12 * np.pi) + np.clip(drift, -4, 4)
        self.jobs = 90.0 + 25.0 * np.cos((hours - 14) / 12 * np.pi)
        for _ in range(draw.poisson(7)):
            start, length = draw.integers(0, 577), draw.integers(12, 120)
            self.jobs[start : start + length] += draw.uniform(15.0, 45.0)
        self.jobs = np.clip(self.jobs + draw.normal(0.0, 2.0, len(steps)), 40.0, 240.0)
        low, middle, peak = draw.uniform((0.08, 0.15, 0.3), (0.15, 0.3, 0.6))
        day = hours % 24
        peaks = (day >= 7) & (day < 10) | (day >= 17) & (day < 21)
        self.prices = np.where((day < 6) | (day >= 22), low, np.where(peaks, peak, middle))
        self.capacity = np.full(len(steps), CAPACITY)
        if draw.random() < 0.35:
            start = draw.integers(100, 540)
            self.capacity[start : start + draw.integers(6, 15)] = draw.uniform(60.0, 100.0)
        self.steps = 0
        self.supply = draw.uniform(18.0, 22.0)
        self.back = self.supply + self.jobs[0] / 10.0
        self.inlets = self.supply + LEAK * (self.back - self.supply)
        return self.observe(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Cool for 5 minutes with set point and fan speed, (2,); reward in euro."""
        point, fan = map(float, action)
        now, flow = self.steps, 14.0 * fan
        within = max(point, self.back - self.capacity[now] / flow)
        self.supply += 0.3 * (within - self.supply)
        heat = max(flow * (self.back - self.supply), 0.0)
        lift = max(self.weather[now] - self.supply + 12.0, 0.0)
        power = heat * (0.04 + 0.01 * lift) + 14.0 * fan**3
        self.back += (self.jobs[now] - flow * (self.back - self.supply)) / MASS / 12
        mixed = self.supply + (LEAK + 0.35 * (1.0 - fan)) * (self.back - self.supply)
        self.inlets += 0.6 * (mixed - self.inlets)
        self.steps += 1
        hottest = float(self.inlets.max())
        cost = self.prices[now] * power / 12 + 0.5 * max(hottest - 27.0, 0.0)
        info = {"kwh": power / 12, "hottest": hottest}
        return self.observe(), -float(cost), False, False, info

    def observe(self) -> np.ndarray:
        """The fields of `Observation`, in their order, (13,)."""
        now = self.steps
        outdoor, later = self.weather[now], self.weather[now + 36] + np.sin(now / 50.0)
        prices = self.prices[now], self.prices[now + 12]
        times = self.jobs[now], self.jobs[now + 6], outdoor, later, now / 12 % 24
        return np.array([*self.inlets, self.back, self.supply, *times, *prices])


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """A controller proportional to the load, and to how much the warmest row is above 24.5 C."""

    def act(raw: np.ndarray) -> np.ndarray:
        hottest, load = raw[:4].max(), max(raw[6], raw[7])
        point = 21.0 - 1.2 * (hottest - 24.5)
        fan = load / 200.0 + 0.06 * (hottest - 24.5)
        return np.clip([point, fan], (14.0, 0.2), (28.0, 1.0))

    return act


SPEC = EnvSpec(
    make=Hall,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=576,
    expert=expert,
    metrics={
        "energy": Metric(
            lambda info, reward, terminated: info["kwh"], "sum", unit="kWh", better="low"
        ),
        "minutes above 27 C": Metric(
            lambda info, reward, terminated: 5.0 * (info["hottest"] > 27.0),
            "sum",
            unit="min",
            better="low",
        ),
    },
    constraints={
        "hottest inlet": Constraint(
            lambda info, reward, terminated: info["hottest"],
            "max",
            unit="C",
            at_most=32.0,
            doc="servers stop above",
        )
    },
    objective="cvar10",
    # Measured: python -m promptpo.spec.baselines examples/data_hall.py --episodes 200
    references={
        "random": Reference(-346.44, 0.435, worst_tenth=-569.52),
        "zero action": Reference(-1934.55, 0.0, worst_tenth=-2942.9),
        "expert": Reference(-245.44, 0.925, worst_tenth=-410.92),
    },
    withheld=("kWh/C", "leak"),
)
