"""Taxi: fetch a passenger at one of four stands and bring them to another.

The town is a grid of 5 x 5 cells; row 0 is in the north, column 0 in the west. The stands are
0 red (row 0, column 0), 1 green (0, 4), 2 yellow (4, 0), 3 blue (4, 3). Walls, which cannot be
crossed, stand between columns 1 and 2 in rows 0 and 1, between columns 0 and 1 in rows 3 and 4, and
between columns 2 and 3 in rows 3 and 4. At the start, taxi, passenger's stand and destination are
drawn at random, stand and destination different. The episode ends when the passenger is dropped at
the destination, which is a success, and after 200 steps at the latest.
"""

from typing import Any

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._shared.tabular import expert


class Observation:
    """Taxi, passenger and destination, before each action."""

    row: int = field(low=0, high=4, doc="row of the taxi, 0 in the north")
    column: int = field(low=0, high=4, doc="column of the taxi, 0 in the west")
    passenger: int = field(low=0, high=4, doc="the stand where the passenger is; 4: in the taxi")
    destination: int = field(low=0, high=3, doc="the stand where the passenger wants to go")


ACTION = """
An int: 0 drives south (row + 1), 1 north (row - 1), 2 east (column + 1), 3 west (column - 1); into
a wall or the edge of the town the taxi stays where it is. 4 picks the passenger up, 5 drops the
passenger, at the destination or at another stand.
"""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: 20 for the drop at the destination, -10 for an idle 4 or 5, else -1."""
    stands = [(0, 0), (0, 4), (4, 0), (4, 3)]
    here = (observation.row, observation.column)
    if action == 4:
        waiting = observation.passenger < 4 and here == stands[observation.passenger]
        return -1.0 if waiting else -10.0
    if action == 5:
        if observation.passenger != 4 or here not in stands:
            return -10.0
        return 20.0 if here == stands[observation.destination] else -1.0
    return -1.0


def make() -> Env:
    """Gymnasium's Taxi-v4, dry, with steadfast passengers (taxi.py)."""
    import gymnasium

    return gymnasium.make("Taxi-v4", disable_env_checker=True)


def observe(raw: Raw, env: Env) -> dict[str, Any]:
    """Decode the number of the state."""
    fields = ("row", "column", "passenger", "destination")
    return dict(zip(fields, env.decode(raw), strict=True))


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    observe=observe,
    action=ACTION,
    reward=reward,
    horizon=200,
    success=lambda info, reward, terminated: terminated,
    expert=expert(200),
    # Measured: python -m promptpo.spec.baselines taxi --episodes 5000
    # The optimum is exact: start_value of _shared/tabular.py.
    references={
        "random": Reference(-771.0, 0.048),
        "zero action": Reference(-200.0, 0.0),
        "optimum": Reference(7.93, 1.0),
    },
)
