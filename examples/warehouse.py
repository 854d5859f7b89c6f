"""Warehouse: order three products every week so that little is missing and little lies about.

Customers ask for three products, measured in pallets; demand has seasons, and some years are better
than others. What is in stock is sold at once, what is not there is lost. An order arrives 1, 2 or 3
weeks later, by product. One truck a week is loaded with the orders; it holds 45 pallets. A year has
52 weeks. Of all that is asked for in it at least 94% is to be served, and the shelves hold 150
pallets: more must never lie there.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from promptpo.spec import Constraint, Env, EnvSpec, Metric, Raw, Reference, field


class Observation:
    """The warehouse at the start of a week, when orders are placed."""

    week: int = field(low=0, high=52, doc="of the year; 52 is its end")
    stock: np.ndarray = field(
        shape=(3,), unit="pallets", low=0.0, doc="on the shelves, for this week's customers"
    )
    due: np.ndarray = field(
        shape=(3, 3),
        unit="pallets",
        low=0.0,
        high=45.0,
        doc="ordered and not here yet: due[i, k] of product i arrive at the end of this week where"
        " k is 0, else k weeks after it",
    )
    demand: np.ndarray = field(
        shape=(3,),
        unit="pallets",
        low=0.0,
        doc="what customers asked for in the week before, served or not; 0 in the first week",
    )


ACTION = """An array of 3 floats in [0, 45]: pallets to order of each product. Where they add up to
more than the truck holds, all are cut in proportion; then each is rounded down to whole pallets.
Orders of a week arrive at its end (product 0), one week later (1) or two weeks later (2)."""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one week, in euro: minus what storing and losing customers cost."""
    asked = next_observation.demand
    left = np.maximum(observation.stock - asked, 0.0)
    lost = np.maximum(asked - observation.stock, 0.0)
    return -float(left @ np.array([2.0, 3.0, 5.0]) + lost @ np.array([20.0, 30.0, 50.0]))


STORING = np.array([2.0, 3.0, 5.0])  # euro per pallet left at the end of a week
LOSING = np.array([20.0, 30.0, 50.0])  # euro per pallet that was asked for and not there
MEAN = np.array([16.0, 14.0, 9.0])  # pallets a week
SEASON = np.array([0.45, 0.3, 0.6])  # share of the mean by which demand swings in the year
PEAK = np.array([24.0, 5.0, 46.0])  # week of the most demand
TRUCK = 45.0  # pallets
# The expert's levels, in pallets, as a search found them, rounded down as orders are:
# promptpo tune examples/base_stock.py examples/warehouse.py --steps 60000
LEVELS = np.array([48.0, 57.0, 50.0])

Step = tuple[np.ndarray, float, bool, bool, dict[str, Any]]


class Warehouse(gymnasium.Env[np.ndarray, np.ndarray]):
    """Stock, orders under way, and customers whose number is drawn by Poisson's law."""

    action_space = gymnasium.spaces.Box(0.0, TRUCK, (3,), np.float64)
    observation_space = gymnasium.spaces.Box(0.0, np.inf, (16,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Draw the year's level of demand, the stock, and the orders that are under way."""
        super().reset(seed=seed)
        self.week = 0
        self.level = self.np_random.uniform(0.8, 1.1, 3)
        self.stock = np.floor(self.np_random.uniform(0.8, 1.6, 3) * MEAN)
        self.due = np.tril(np.floor(self.np_random.uniform(0.5, 1.2, (3, 3)) * MEAN[:, None]), -1)
        self.demand = np.zeros(3)
        self.asked = self.served = 0.0
        return self.observe(), {}

    def step(self, action: np.ndarray) -> Step:
        """Place orders of ``action``, (3,), in pallets, and serve the week's customers."""
        orders = np.floor(action * min(1.0, TRUCK / max(action.sum(), TRUCK)))
        self.due[np.arange(3), np.arange(3)] += orders
        swing = 1.0 + SEASON * np.cos(2 * np.pi * (self.week - PEAK) / 52)
        self.demand = self.np_random.poisson(MEAN * self.level * swing).astype(float)
        sold = np.minimum(self.stock, self.demand)
        left, lost = self.stock - sold, self.demand - sold
        self.asked, self.served = self.asked + self.demand.sum(), self.served + sold.sum()
        self.stock = left + self.due[:, 0]
        self.due = np.hstack([self.due[:, 1:], np.zeros((3, 1))])
        self.week += 1
        storing, losing = float(left @ STORING), float(lost @ LOSING)
        info = {"storing": storing, "lost": lost.sum(), "fill_rate": self.served / self.asked}
        info["stored"] = self.stock.sum()
        return self.observe(), -storing - losing, False, False, info

    def observe(self) -> np.ndarray:
        """The fields of Observation, in their order, (16,)."""
        return np.concatenate([[self.week], self.stock, self.due.ravel(), self.demand])


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """A base-stock policy: order what is missing to a level of what is here and under way."""

    def act(raw: np.ndarray) -> np.ndarray:
        """Pallets to order, (3,), 0 to 45, for the observation, (16,)."""
        here = raw[1:4] + raw[4:13].reshape(3, 3).sum(axis=1)
        return np.array(np.clip(LEVELS - here, 0.0, TRUCK))

    return act


SPEC = EnvSpec(
    make=Warehouse,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=52,
    expert=expert,
    metrics={
        "storing": Metric(
            lambda info, reward, terminated: info["storing"], "sum", unit="euro", better="low"
        ),
        "lost": Metric(
            lambda info, reward, terminated: info["lost"], "sum", unit="pallets", better="low"
        ),
    },
    constraints={
        "fill rate": Constraint(
            lambda info, reward, terminated: info["fill_rate"],
            "last",
            at_least=0.94,
            doc="share of the year's demand that is served",
        ),
        "fullest shelves": Constraint(
            lambda info, reward, terminated: info["stored"], "max", unit="pallets", at_most=150.0
        ),
    },
    references={
        "random": Reference(-58663.0, 0.0),
        "zero action": Reference(-56312.0, 0.0),
        "expert": Reference(-11430.0, 0.99),
    },
)
