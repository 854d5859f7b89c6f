"""CliffWalking: walk along a slippery cliff from one end to the other without falling.

The ground is a grid of 4 rows and 12 columns; row 0 is in the north, column 0 in the west. The
start is row 3, column 0; the goal is row 3, column 11; the ten cells between them are the cliff. A
step off the cliff costs much and puts the walker back on the start. The ground is slippery: a move
may lead elsewhere than intended. The episode ends at the goal, and after 200 steps at the latest.
It succeeds if the goal is entered.
"""

from typing import Any

from promptpo.spec import Env, EnvSpec, Reference, field

from ._shared.tabular import expert


class Observation:
    """Where the walker stands, before each action."""

    cell: int = field(low=0, high=47, doc="12 * row + column: 36 the start, 47 the goal")


ACTION = """
An int: 0 moves north (row - 1), 1 east (column + 1), 2 south (row + 1), 3 west (column - 1).
"""


def reward(
    observation: Observation, action: int, next_observation: Observation, *, fell: bool
) -> float:
    """Reward of one step; ``fell``: it led off the cliff, and hence back to the start."""
    return -100.0 if fell else -1.0


def make() -> Env:
    """Gymnasium's CliffWalkingSlippery-v1 (cliffwalking.py); it tells of falls in ``info``."""
    import gymnasium

    class TellingOfFalls(gymnasium.Wrapper[Any, Any, Any, Any]):
        @property
        def P(self) -> Any:  # noqa: ANN401, N802 - Gymnasium's name
            """The table of transitions, for the expert."""
            table: Any = self.unwrapped
            return table.P

        def step(self, action: Any) -> Any:  # noqa: ANN401
            raw, reward, terminated, truncated, info = self.env.step(action)
            return raw, reward, terminated, truncated, {**info, "fell": reward == -100}

    return TellingOfFalls(gymnasium.make("CliffWalkingSlippery-v1", disable_env_checker=True))


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_inputs=lambda info: {"fell": info["fell"]},
    horizon=200,
    success=lambda info, reward, terminated: terminated,
    expert=expert(200),
    # Measured: python -m promptpo.spec.baselines cliff_walking --episodes 5000
    # The optimum is exact: start_value of _shared/tabular.py.
    references={
        "random": Reference(-2095.0, 0.023),
        "zero action": Reference(-300.0, 0.0),
        "optimum": Reference(-64.70, 1.0),
    },
    withheld=("probability", "perpendicular", "third"),
)
