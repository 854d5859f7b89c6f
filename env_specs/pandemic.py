"""Pandemic: regulate a small town through an epidemic, neither too little nor too much.

In a town of 500 people an infectious disease spreads at home, in schools, at work and in shops and
bars. Every day the town decides on its regulations, one of five stages: 0, none, then ever stricter
ones, each leaving fewer contacts outside of the home, up to 4, where all but what is essential is
closed. The stage changes by at most one at a time. Critically ill people need the hospital, which
has 5 beds. The episode begins with 5 infected people in stage 0, and lasts 192 days, whatever
happens; people may be infected out of town.
"""

from collections.abc import Callable

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field


class Observation:
    """Shares of the town's 500 people, before each decision, and the stage in force.

    The arrays have the shares of the last day at three times: [2] now, [1] 8 hours ago, [0] 16
    hours ago (at the start, all three are those of the start). The five shares of a time sum to 1.
    """

    none: np.ndarray = field(
        shape=(3,), low=0.0, high=1.0, doc="not infected and not immune, as all but 5 are at first"
    )
    infected: np.ndarray = field(
        shape=(3,), low=0.0, high=1.0, doc="infected and not critical, contagious or not yet"
    )
    critical: np.ndarray = field(
        shape=(3,), low=0.0, high=1.0, doc="critically ill; isolated, so that they infect nobody"
    )
    recovered: np.ndarray = field(
        shape=(3,), low=0.0, high=1.0, doc="recovered, and immune for the time being"
    )
    dead: np.ndarray = field(shape=(3,), low=0.0, high=1.0, doc="died of the disease so far")
    stage: int = field(low=0, high=4, doc="of regulation in the last day: 0 none, 4 strictest")
    day: int = field(unit="days", low=0, high=192, doc="that have passed, 0 at the start")


ACTION = """
An int: 0 lowers the stage by one, 1 keeps it, 2 raises it by one, for the next day. At 0, action
0 keeps it, and at 4, action 2.
"""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step, 0 at best: minus what is critical, resented, strict, and changed."""
    before, stage = observation.stage, next_observation.stage
    # The dead go on counting as critical, to the end of the episode.
    critical = 10.0 * np.mean(next_observation.critical + next_observation.dead)
    # People resent a rise of the stage while fewer than 0.5% are infected or critical.
    resented = 0.0
    if stage > before:
        noticed = observation.infected[-1] + observation.critical[-1]
        resented = 10.0 * max(0.0, 1.0 - noticed / 0.005) ** 2
    strict = 0.1 * (stage / 4.0) ** 1.5
    changed = 0.02 * abs(stage - before)
    return -float(critical + resented + strict + changed)


def make() -> Env:
    """A town of our own; see docs/real_world.md."""
    from ._pandemic.world import PandemicWorld

    return PandemicWorld()


def expert(env: Env) -> Callable[[Raw], int]:
    """Raise from 5 infected or critical people on, lower when 1 is left: act early, end waves."""

    def act(raw: Raw) -> int:
        ill = round(500 * (raw[5] + raw[8]))
        if ill >= 5:
            return 2
        return 0 if ill <= 1 else 1

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=192,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines pandemic --episodes 1200. Action 0 keeps stage 0,
    # no measures at all. Random rises are resented: few of them decide the mean.
    references={
        "random": Reference(-109.3, deviation=83.2, episodes=1200),
        "zero action": -67.2,
        "expert": -13.9,
    },
    withheld=("variant", "austin", "latent"),
)
