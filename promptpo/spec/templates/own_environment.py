"""Cart on rail: drive a cart along a rail to a goal, and stop there.

Cart and goal are placed anew in each episode: the cart, at rest, in the left half of the rail, the
goal in the right one. An episode succeeds, and ends, when the cart is within 0.1 m of the goal and
slower than 0.1 m/s; it is cut after 200 steps of 0.1 s.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, field

# A language model reads the text above, the class Observation, ACTION and reward(), as they stand
# here. All else stays hidden: how the world behaves is for its policies to find out.


class Observation:
    """Cart and goal, before each action."""

    position: float = field(
        unit="m", low=-5.0, high=5.0, doc="0 in the middle of the rail, positive to the right"
    )
    velocity: float = field(unit="m/s", low=-5.0, high=5.0, doc="positive to the right")
    goal: float = field(
        unit="m", low=1.0, high=4.0, doc="where to stop; the same during an episode"
    )


ACTION = """An array of 1 float in [-1, 1]: the motor's force in N, positive to the right."""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: minus the distance to the goal after it, in m, and what force costs."""
    distance = abs(next_observation.goal - next_observation.position)
    return -float(distance + 0.1 * action[0] ** 2)


class CartOnRail(gymnasium.Env[np.ndarray, np.ndarray]):
    """A cart of 1 kg on a rail of 10 m with stops at its ends."""

    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)
    observation_space = gymnasium.spaces.Box(-5.0, 5.0, (3,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Place cart and goal."""
        super().reset(seed=seed)  # seeds self.np_random: draw all chance from it
        self.position = self.np_random.uniform(-4.0, -1.0)
        self.goal = self.np_random.uniform(1.0, 4.0)
        self.velocity = 0.0
        return self.observe(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Push the cart for 0.1 s; ``action``, shape (1,), is within the bounds of its space."""
        force = float(action[0])
        self.velocity += 0.1 * (force - 0.2 * self.velocity)  # 0.2 N s/m of friction
        self.position += 0.1 * self.velocity
        if abs(self.position) > 5.0:
            self.position, self.velocity = float(np.clip(self.position, -5.0, 5.0)), 0.0
        distance = abs(self.goal - self.position)
        arrived = distance < 0.1 and abs(self.velocity) < 0.1
        return self.observe(), -distance - 0.1 * force**2, arrived, False, {"arrived": arrived}

    def observe(self) -> np.ndarray:
        """The fields of Observation, in their order."""
        return np.array([self.position, self.velocity, self.goal])


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """A controller that you know, to compare with; leave it out, here and below, if you have none.

    ``raw`` is what the environment's reset and step return as the observation.
    """

    def act(raw: np.ndarray) -> np.ndarray:
        position, velocity, goal = raw
        return np.array([goal - position - 1.8 * velocity])

    return act


SPEC = EnvSpec(
    make=CartOnRail,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=200,
    success=lambda info, reward, terminated: info["arrived"],
    expert=expert,
    # What else counts, recorded of every episode and shown (import Metric, Constraint):
    # metrics={"effort": Metric(lambda info, reward, terminated: info["force"] ** 2, "sum")},
    # constraints={"top speed": Constraint(speed, "max", unit="m/s", at_most=2.0)},
    # objective="cvar10",  # the worst tenth of the episodes ranks policies, not the mean
    # What there is to compare with. Measure it anew when the environment has changed:
    # python -m promptpo.spec.baselines THIS_FILE --episodes 100
    references={},
)
