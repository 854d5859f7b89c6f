"""Traffic: control a few vehicles on a ramp where it merges into a crowded highway.

A single-lane highway (200 m) and a single-lane ramp (150 m) meet; 75 m behind the merge the road
ends and vehicles leave. More vehicles arrive on the highway than fit on it. People drive nearly all
vehicles: they accelerate towards 30 m/s, and keep a safe distance to what is ahead in their lane.
About one in four vehicles of the ramp is yours to control, from the ramp until it leaves; it too is
held back from running into its leader. Up to 10 vehicles are controlled at a time, each in a slot
that it keeps until it leaves; then a new one takes the free slot of the lowest number, and a
vehicle that finds no free slot drives as people do until there is one. Where the beginning of the
ramp is taken, those who come wait until there is room. Steps are 0.2 s apart. An episode starts
after a minute of traffic and lasts 500 steps; a crash ends it. The aim is that all vehicles drive
at 20 m/s, those from the ramp no less than those from the highway.
"""

from collections.abc import Callable

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, field


class Observation:
    """The controlled vehicles by slot, and the traffic as a whole, before each action.

    A gap is from bumper to bumper, along the road; the leader is the next vehicle ahead, the
    follower the next behind. In an empty slot every number is 0.
    """

    present: np.ndarray = field(
        shape=(10,), low=0, high=1, doc="1 where the slot has a vehicle, 0 where it is empty"
    )
    speed: np.ndarray = field(shape=(10,), unit="m/s", low=0.0, high=30.0, doc="of the vehicle")
    leader_gap: np.ndarray = field(
        shape=(10,), unit="m", low=0.0, high=100.0, doc="to the leader; 100 if none is nearer"
    )
    leader_speed_difference: np.ndarray = field(
        shape=(10,),
        unit="m/s",
        low=-30.0,
        high=30.0,
        doc="positive where the leader is faster than the vehicle; 0 without a leader",
    )
    follower_gap: np.ndarray = field(
        shape=(10,), unit="m", low=0.0, high=100.0, doc="to the follower; 100 if none is nearer"
    )
    follower_speed_difference: np.ndarray = field(
        shape=(10,),
        unit="m/s",
        low=-30.0,
        high=30.0,
        doc="positive where the follower is faster than the vehicle; 0 without a follower",
    )
    mean_speed: float = field(unit="m/s", low=0.0, high=30.0, doc="of all vehicles on the roads")
    highway_error: float = field(
        unit="m/s",
        low=0.0,
        high=20.0,
        doc="root of the mean of (speed - 20 m/s)^2 over all vehicles that came on the highway",
    )
    ramp_error: float = field(
        unit="m/s",
        low=0.0,
        high=20.0,
        doc="the same over all vehicles of the ramp, wherever they are now, controlled or not; "
        "those that wait to enter it count with speed 0",
    )
    ramp_waiting: int = field(low=0, high=100, doc="how many vehicles wait to enter the ramp")
    crashed: bool = field(doc="whether vehicles collided in the step that ended here")


ACTION = """
An array of 10 floats, each in [-1.5, 1.5] (values beyond are clipped): the acceleration in m/s^2 of
the vehicle in each slot, negative to brake. No vehicle drives backwards. The entry of an empty slot
moves nothing, but the reward counts it.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: speeds near 20 m/s, safe time headways, little acceleration.

    Of the two roads' traffic, the one that fares worse counts.
    """
    if next_observation.crashed:
        return 0.0
    worse = max(next_observation.highway_error, next_observation.ramp_error)
    closeness = max(0.0, 1.0 - worse / 20.0)
    headway = 0.0
    for slot in range(10):
        speed = next_observation.speed[slot]
        if next_observation.present[slot] and speed > 0.0:
            headway += min(next_observation.leader_gap[slot] / speed - 1.0, 0.0)
    return closeness + 0.1 * headway - float(np.mean(np.abs(action)))


def make() -> Env:
    """The merge of _traffic/world.py, simulated by SUMO."""
    from ._traffic.world import TrafficMerge

    return TrafficMerge()


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """Let the ramp flow slowly: where 10 m ahead are free, speed up to 5 m/s, and never brake.

    Vehicles that merge at once jam the highway, and those that stop close the ramp.
    """

    def act(raw: np.ndarray) -> np.ndarray:
        present, speed, gap = raw[:10], raw[10:20], raw[20:30]
        missing = 5.0 - speed
        going = (present > 0) & (missing > 0.3) & (gap > 10.0)
        return np.where(going, np.minimum(0.5 * missing, 1.0), 0.0)

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=500,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines traffic --episodes 300
    references={"random": -324.5, "zero action": 49.1, "expert": 58.6},
    install="promptpo[traffic]",
)
