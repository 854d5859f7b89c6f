"""Aisle: walk to the end of a line of cells."""

from promptpo.spec import EnvSpec, field

from . import LENGTH


class Observation:
    """The walker, before each action."""

    cell: float = field(low=0, doc="counted from the left")


ACTION = """An int: 0 a cell to the left, 1 a cell to the right."""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """1 on the last cell, else 0."""
    return float(next_observation.cell == 4)


def make():
    from .floor import Floor

    return Floor()


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=4 * LENGTH,
    success=lambda info, reward, terminated: terminated,
)
