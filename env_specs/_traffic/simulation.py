"""A highway merge in SUMO, run as a process of its own: ``python simulation.py``.

libsumo holds one simulation per process, and lockstep needs several, so each environment
(``world.py``) talks to a process like this one over its standard input and output: REQUEST in,
REPLY out, until the input ends. Only the standard library and SUMO are imported here.

The road, in metres: a highway of 100 + 100, a ramp of 100 + 50 at 45 degrees, 75 behind the merge;
one lane everywhere, speed limit 30 m/s.
"""

from __future__ import annotations

import importlib
import math
import os
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

#: Vehicles that can be controlled at a time.
SLOTS = 10
#: Seconds of a step.
STEP = 0.2
#: Seconds of traffic before the first observation.
WARM_UP = 60.0
#: Acceleration of a controlled vehicle, either way, in m/s^2.
MOST_ACCELERATION = 1.5
#: The speed that all vehicles should have, in m/s.
TARGET_SPEED = 20.0
#: How far a vehicle sees to the front and to the back, in metres.
SIGHT = 100.0

#: What a request asks for in place of a seed: a step, or where the vehicles are.
ASK_STEP, ASK_PLACES = -1, -2
#: A seed to start the episode of, or one of the above; then the accelerations of the slots.
REQUEST = struct.Struct(f"<q{SLOTS}d")
#: The reward, then the observation: six numbers for each slot, then five of all traffic.
OBSERVATION_SIZE = 6 * SLOTS + 5
REPLY = struct.Struct(f"<{1 + OBSERVATION_SIZE}d")
#: How many vehicles there are, and one of them: x, y (m from the merge), angle (degrees, 0 up,
#: clockwise), speed (m/s), 1 if it is in a slot.
COUNT, PLACE = struct.Struct("<q"), struct.Struct("<5d")

#: Vehicles an hour: on the highway; on the ramp, of which every fourth is a controlled one.
_HIGHWAY_FLOW, _RAMP_FLOW, _CONTROLLED_SHARE = 7500.0, 450.0, 0.25
_MIN_GAP = 2.0  # what SUMO leaves out of the gaps that it tells
#: A vehicle keeps a safe distance to those in its lane, but does not yield at the merge.
_SPEED_MODE = 1

_NODES = """<nodes>
  <node id="highway_start" x="-200" y="0"/>
  <node id="highway_middle" x="-100" y="0"/>
  <node id="ramp_start" x="-106.066" y="-106.066"/>
  <node id="ramp_middle" x="-35.355" y="-35.355"/>
  <node id="merge" x="0" y="0" type="priority" radius="10"/>
  <node id="end" x="75" y="0"/>
</nodes>
"""

_EDGES = """<edges>
  <edge id="highway_inflow" from="highway_start" to="highway_middle" speed="30" priority="2"/>
  <edge id="highway" from="highway_middle" to="merge" speed="30" priority="2"/>
  <edge id="ramp_inflow" from="ramp_start" to="ramp_middle" speed="30" priority="1"/>
  <edge id="ramp" from="ramp_middle" to="merge" speed="30" priority="1"/>
  <edge id="out" from="merge" to="end" speed="30" priority="2"/>
</edges>
"""

#: People arrive at random; a controlled vehicle comes every 32 s.
_TRAFFIC = f"""<routes>
  <vType id="human" carFollowModel="IDM" accel="1.0" decel="1.5" tau="1.0" minGap="{_MIN_GAP}"
         maxSpeed="30" speedDev="0.1"/>
  <vType id="controlled" carFollowModel="IDM" accel="1.5" decel="1.5" tau="1.0" minGap="{_MIN_GAP}"
         maxSpeed="30" speedDev="0"/>
  <route id="highway" edges="highway_inflow highway out"/>
  <route id="ramp" edges="ramp_inflow ramp out"/>
  <flow id="highway" type="human" route="highway" begin="0" departSpeed="10" departLane="free"
        period="exp({_HIGHWAY_FLOW / 3600})"/>
  <flow id="ramp" type="human" route="ramp" begin="0" departSpeed="7.5" departLane="free"
        period="exp({_RAMP_FLOW * (1 - _CONTROLLED_SHARE) / 3600})"/>
  <flow id="controlled" type="controlled" route="ramp" begin="0" departSpeed="7.5" departLane="free"
        vehsPerHour="{_RAMP_FLOW * _CONTROLLED_SHARE}"/>
</routes>
"""


class Simulation:
    """The one simulation of this process."""

    def __init__(self) -> None:
        self._sumo: Any = importlib.import_module("libsumo")
        self._vehicle = self._sumo.vehicle
        self._slots: list[str | None] = [None] * SLOTS
        # Files that are open and have no name any more: they are gone with this process, even
        # where that is killed.
        with tempfile.TemporaryDirectory(prefix="promptpo-traffic-") as name:
            folder = Path(name)
            network, traffic = build_network(folder), _written(folder, "traffic.xml", _TRAFFIC)
            self._files = [os.open(path, os.O_RDONLY) for path in (network, traffic)]
        self._options = [
            *("--net-file", f"/dev/fd/{self._files[0]}"),
            *("--route-files", f"/dev/fd/{self._files[1]}"),
            *("--step-length", str(STEP)),
            *("--collision.action", "warn", "--collision.check-junctions"),
            *("--time-to-teleport", "-1", "--no-step-log", "--no-warnings"),
        ]
        self._sumo.start(["sumo", *self._options])

    def _load(self, seed: int) -> None:
        for file in self._files:  # where /dev/fd shares the place that was read to
            os.lseek(file, 0, os.SEEK_SET)
        self._sumo.load([*self._options, "--seed", str(seed)])

    def reset(self, seed: int) -> list[float]:
        """Begin an episode with the traffic of a seed (0 to 2**31 - 1); returns a reply."""
        self._load(seed)
        self._slots = [None] * SLOTS
        for _ in range(round(WARM_UP / STEP)):
            self._advance()
        self._assign()
        return self._reply([0.0] * SLOTS)

    def step(self, accelerations: Sequence[float]) -> list[float]:
        """Let traffic go on for one step, each slot's vehicle as told; returns a reply."""
        for name, acceleration in zip(self._slots, accelerations, strict=True):
            if name is not None:
                speed = self._vehicle.getSpeed(name) + acceleration * STEP
                self._vehicle.setSpeed(name, max(0.0, speed))
        self._advance()
        self._assign()
        return self._reply(accelerations)

    def places(self) -> list[tuple[float, ...]]:
        """Where all vehicles are: a row of numbers each, as ``PLACE`` says."""
        merge = self._sumo.junction.getPosition("merge")
        rows: list[tuple[float, ...]] = []
        for name in self._vehicle.getIDList():
            x, y = self._vehicle.getPosition(name)
            angle, speed = self._vehicle.getAngle(name), self._vehicle.getSpeed(name)
            rows.append((x - merge[0], y - merge[1], angle, speed, float(name in self._slots)))
        return rows

    def _advance(self) -> None:
        self._sumo.simulationStep()
        for name in self._sumo.simulation.getDepartedIDList():
            self._vehicle.setSpeedMode(name, _SPEED_MODE)

    def _assign(self) -> None:
        """Free the slots of vehicles that left, and fill slots in the order of entering."""
        present = self._vehicle.getIDList()
        self._slots = [name if name in present else None for name in self._slots]
        waiting = [n for n in present if n.startswith("controlled") and n not in self._slots]
        waiting.sort(key=lambda name: int(name.rpartition(".")[2]))
        for slot in range(SLOTS):
            if self._slots[slot] is None and waiting:
                self._slots[slot] = waiting.pop(0)

    def _reply(self, accelerations: Sequence[float]) -> list[float]:
        speeds = {name: self._vehicle.getSpeed(name) for name in self._vehicle.getIDList()}
        crashed = bool(self._sumo.simulation.getCollidingVehiclesNumber())
        rows = [self._seen(name) for name in self._slots]
        columns = [number for column in zip(*rows, strict=True) for number in column]
        waiting = self._waiting()
        highway = _error(v for name, v in speeds.items() if _on_highway(name))
        ramp = _error([*(v for n, v in speeds.items() if not _on_highway(n)), *[0.0] * waiting])
        reward = 0.0
        if not crashed:
            closeness = max(1.0 - max(highway, ramp) / TARGET_SPEED, 0.0)
            headway = sum(_headway_term(row) for row in rows)
            effort = sum(abs(a) for a in accelerations) / SLOTS
            reward = closeness + 0.1 * headway - effort
        mean = sum(speeds.values()) / max(len(speeds), 1)
        return [reward, *columns, mean, highway, ramp, float(waiting), float(crashed)]

    def _waiting(self) -> int:
        """How many vehicles there is no room for on the ramp, where they were to enter by now.

        The highway's are not counted: more arrive there than fit, whatever anybody does.
        """
        pending = self._sumo.simulation.getPendingVehicles()
        return sum(not _on_highway(name) for name in pending)

    def _seen(self, name: str | None) -> tuple[float, ...]:
        """One slot: present, speed, gap and speed difference to the leader and to the follower."""
        if name is None:
            return (0.0,) * 6
        speed = self._vehicle.getSpeed(name)
        leader = self._neighbour(self._vehicle.getLeader(name, SIGHT), speed)
        follower = self._neighbour(self._vehicle.getFollower(name, SIGHT), speed)
        return (1.0, speed, *leader, *follower)

    def _neighbour(self, found: tuple[str, float] | None, speed: float) -> tuple[float, float]:
        """Gap from bumper to bumper, and how much faster the other vehicle is."""
        if not found or not found[0] or found[1] + _MIN_GAP >= SIGHT:
            return SIGHT, 0.0
        return max(found[1] + _MIN_GAP, 0.0), self._vehicle.getSpeed(found[0]) - speed


def _on_highway(name: str) -> bool:
    """Whether a vehicle came, or is to come, on the highway; else on the ramp."""
    return name.startswith("highway")


def _error(speeds: Iterable[float]) -> float:
    """Root of the mean of (speed - 20 m/s)^2; 0 where there is no vehicle."""
    errors = [speed - TARGET_SPEED for speed in speeds]
    return math.hypot(*errors) / math.sqrt(max(len(errors), 1))


def _headway_term(row: Sequence[float]) -> float:
    """0, or below 0 where a vehicle would reach the place of its leader in less than 1 s."""
    present, speed, gap = row[:3]
    return min(gap / speed - 1.0, 0.0) if present and speed > 0.0 else 0.0


def build_network(folder: Path) -> Path:
    """Let SUMO's netconvert write the road network to a file, whose path is returned.

    Raises:
        RuntimeError: netconvert failed; the message is its own.
    """
    program = Path(importlib.import_module("sumo").SUMO_HOME) / "bin" / "netconvert"
    network = folder / "merge.net.xml"
    nodes = _written(folder, "merge.nod.xml", _NODES)
    edges = _written(folder, "merge.edg.xml", _EDGES)
    command = [str(program), "-n", str(nodes), "-e", str(edges), "-o", str(network)]
    done = subprocess.run([*command, "--no-turnarounds"], capture_output=True, text=True)  # noqa: PLW1510, S603 - SUMO's own program; its failure is told below
    if done.returncode != 0:
        raise RuntimeError(f"netconvert failed: {done.stderr.strip() or done.returncode}")
    return network


def _written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _answer(simulation: Simulation, asked: int, *accelerations: float) -> bytes:
    if asked == ASK_PLACES:
        places = simulation.places()
        return COUNT.pack(len(places)) + b"".join(PLACE.pack(*row) for row in places)
    reply = simulation.step(accelerations) if asked == ASK_STEP else simulation.reset(asked)
    return REPLY.pack(*reply)


def main() -> None:
    """Serve requests until the input ends, which it does when the other process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process
    os.environ["LIBSUMO_AS_TRACI"] = "quiet"  # no advice on other packages
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)  # what SUMO prints must not come between
        simulation = Simulation()
        while len(request := sys.stdin.buffer.read(REQUEST.size)) == REQUEST.size:
            replies.write(_answer(simulation, *REQUEST.unpack(request)))
            replies.flush()


if __name__ == "__main__":
    main()
