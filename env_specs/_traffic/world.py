"""A highway merge with a few controlled vehicles on the ramp, as a Gymnasium environment.

Importing this module makes ``gymnasium.make("promptpo/TrafficMerge-v0")`` work, where SUMO is
installed (``pip install 'promptpo[traffic]'``). Each environment runs its simulation in a process
of its own (``simulation.py``), which ends with it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from . import simulation

ENV_ID = "promptpo/TrafficMerge-v0"

#: Steps of an episode.
HORIZON = 500

_MOST = simulation.MOST_ACCELERATION

#: What SUMO's wheels expect of the system.
_LIBRARIES = "on Debian and Ubuntu run: apt install libx11-6 libxext6 libxrender1 libgl1 libatomic1"


class TrafficMerge(gymnasium.Env[NDArray[np.float64], NDArray[np.float64]]):
    """Control up to ten vehicles that enter a crowded highway from a ramp.

    Observation, float64, shape (65,): for the ten slots each, one quantity after the other:
    present (0 or 1), speed (m/s), gap (m) and speed difference (m/s) to the leader, and the same
    to the follower; then the mean speed, the root mean square of the speeds' errors (m/s) of
    vehicles from the highway and of those from the ramp, how many wait to enter the ramp, crashed.
    Those that wait count as of speed 0. Action, shape (10,): the acceleration of each slot's
    vehicle, -1.5 to 1.5 m/s^2. Reward: closeness of the speeds to 20 m/s, 0 to 1, of the vehicles
    of the one road that fares worse; plus 0.1 times the sum of (time headway - 1) over the
    vehicles in slots that are nearer than 1 s to their leader; minus the mean of the absolute
    accelerations. A crash ends the episode, with reward 0.

    Raises:
        ModuleNotFoundError: SUMO is not installed.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 - Gymnasium's API

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        for package in ("libsumo", "sumo"):
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        self.action_space = spaces.Box(-_MOST, _MOST, (simulation.SLOTS,), dtype=np.float64)
        low, high = _bounds()
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        self._steps = HORIZON
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", str(Path(simulation.__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Start with a minute of traffic behind; ``seed`` decides when people arrive."""
        super().reset(seed=seed)
        self._steps = 0
        traffic = int(self.np_random.integers(2**31 - 1))
        return self._ask(traffic, np.zeros(simulation.SLOTS))[1], {}

    def step(
        self, action: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Let 0.2 s pass; raises ResetNeeded when the episode is over."""
        if self._steps >= HORIZON:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()")
        bounded = np.clip(action, -_MOST, _MOST)
        reward, observation = self._ask(simulation.ASK_STEP, bounded)
        crashed = bool(observation[-1])
        self._steps = HORIZON if crashed else self._steps + 1
        truncated = not crashed and self._steps >= HORIZON
        return observation, reward, crashed, truncated, {"crashed": crashed}

    def render(self) -> NDArray[np.uint8] | None:
        """Return the roads from above, shape (height, width, 3) (render mode ``rgb_array``)."""
        if self.render_mode != "rgb_array":
            return None
        from .picture import Vehicle, draw

        self._request(simulation.ASK_PLACES, np.zeros(simulation.SLOTS))
        (count,) = simulation.COUNT.unpack(self._read(simulation.COUNT.size))
        place = simulation.PLACE
        rows = place.iter_unpack(self._read(count * place.size))
        return draw([Vehicle(*row) for row in rows], simulation.TARGET_SPEED)

    def close(self) -> None:
        """End the simulation's process; calling it twice is harmless."""
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe
        assert self._process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._complaints.close()

    def _ask(self, asked: int, actions: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Reward and observation after a reset to a seed, or a step."""
        self._request(asked, actions)
        numbers = np.frombuffer(self._read(simulation.REPLY.size))
        return float(numbers[0]), numbers[1:].copy()

    def _request(self, asked: int, actions: NDArray[np.float64]) -> None:
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe
        with contextlib.suppress(BrokenPipeError):  # reading says why
            self._process.stdin.write(simulation.REQUEST.pack(asked, *actions))
            self._process.stdin.flush()

    def _read(self, size: int) -> bytes:
        """So many bytes of an answer; raises RuntimeError where the process has ended."""
        assert self._process.stdout is not None  # noqa: S101 - opened as a pipe
        answer = self._process.stdout.read(size)
        if len(answer) < size:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10)  # its last words come after the end of its answers
            self._complaints.seek(0)
            words = self._complaints.read().decode(errors="replace").strip().splitlines()
            reason = words[-1] if words else "no message"
            remedy = f"; {_LIBRARIES}" if "cannot open shared object" in reason else ""
            raise RuntimeError(f"the SUMO process ended: {reason}{remedy}")
        return answer


def _bounds() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest values: of the columns of all slots, then of all traffic."""
    sight = simulation.SIGHT
    low = np.repeat([0.0, 0.0, 0.0, -30.0, 0.0, -30.0], simulation.SLOTS)
    high = np.repeat([1.0, 30.0, sight, 30.0, sight, 30.0], simulation.SLOTS)
    target = simulation.TARGET_SPEED
    return np.append(low, np.zeros(5)), np.append(high, [30.0, target, target, 100.0, 1.0])


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:TrafficMerge")
