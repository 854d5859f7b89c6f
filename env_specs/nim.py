"""Nim: leave the last stick to the opponent.

Ten sticks lie on the table. The policy and an opponent take 1, 2 or 3 sticks in turn; the policy
begins. Who takes the last stick loses, and the episode ends. An observation shows the sticks that
are left after the opponent's move. How the opponent plays is not told. A policy that asks for more
sticks than there are takes all of them, and so loses. An episode succeeds if the game is won.
"""

from collections.abc import Callable

from promptpo.spec import Env, EnvSpec, Raw, Reference, field


class Observation:
    """The table, before each move of the policy."""

    sticks: int = field(low=0, high=10, doc="sticks left; 0: the game is over")


ACTION = """An int, 1, 2 or 3: how many sticks to take."""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: 1 for a won game, -1 for a lost one, else 0."""
    if action >= observation.sticks:
        return -1.0
    return 1.0 if next_observation.sticks == 0 else 0.0


def make() -> Env:
    """Nim of _games/nim.py."""
    from ._games.nim import Nim

    return Nim()


def expert(env: Env) -> Callable[[Raw], int]:
    """Take the number that is best against this opponent."""
    from ._games.nim import solve

    best = solve()[1]
    return lambda raw: int(best[raw])


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=5,  # no game lasts longer: two sticks or more go in each step
    success=lambda info, reward, terminated: reward > 0,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines nim --episodes 20000
    # The optimum is exact: solve() of _games/nim.py.
    references={
        "random": Reference(-0.926, 0.037),
        "zero action": Reference(-0.778, 0.111),
        "optimum": Reference(1.0, 1.0),
    },
    withheld=("at random", "mod", "likely", "plays well"),
)
