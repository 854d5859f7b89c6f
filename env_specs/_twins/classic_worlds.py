"""Gymnasium's classic environments with the numbers of their physics as arguments.

Without arguments each behaves, bit for bit, as the environment that it is made of.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control.acrobot import AcrobotEnv
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.envs.classic_control.continuous_mountain_car import Continuous_MountainCarEnv

from promptpo.spec import Env


def make_env(env_id: str, world: Callable[..., Any], **numbers: Any) -> Env:  # noqa: ANN401
    """The environment registered as ``env_id``, with its step limit, as a ``world`` of ours."""
    registered = replace(gymnasium.spec(env_id), entry_point=world)
    return gymnasium.make(registered, disable_env_checker=True, **numbers)


class CartAndPole(CartPoleEnv):
    """CartPole; lengths in m, masses in kg, gravity in m/s^2, force in N, step in s."""

    def __init__(
        self,
        *,
        gravity: float = 9.8,
        cart_mass: float = 1.0,
        pole_mass: float = 0.1,
        half_length: float = 0.5,
        force: float = 10.0,
        step: float = 0.02,
        track: float = 2.4,
        lean: float = 12,
        **rendering: Any,  # noqa: ANN401
    ) -> None:
        """``half_length``: of the pole; ``track``: from the centre; ``lean``: in degrees."""
        super().__init__(**rendering)
        self.gravity = gravity
        self.masscart, self.masspole = cart_mass, pole_mass
        self.total_mass = self.masspole + self.masscart
        self.length = half_length
        self.polemass_length = self.masspole * self.length
        self.force_mag = force
        self.tau = step
        self.x_threshold = track
        self.theta_threshold_radians = lean * 2 * math.pi / 360
        high = [track * 2, np.inf, self.theta_threshold_radians * 2, np.inf]
        bound = np.array(high, dtype=np.float32)
        self.observation_space = spaces.Box(-bound, bound, dtype=np.float32)


class CarInValley(Continuous_MountainCarEnv):
    """MountainCarContinuous in a valley of the shape sin(steepness * position)."""

    def __init__(
        self,
        *,
        gravity: float = 0.0025,
        power: float = 0.0015,
        steepness: float = 3,
        left: float = -1.2,
        right: float = 0.6,
        goal: float = 0.45,
        start: tuple[float, float] = (-0.6, -0.4),
        fastest: float = 0.07,
        **rendering: Any,  # noqa: ANN401
    ) -> None:
        """All but ``steepness`` in units of position and steps; ``start``: lowest and highest."""
        super().__init__(**rendering)
        self.gravity, self.power, self.steepness = gravity, power, steepness
        self.min_position, self.max_position = left, right
        self.goal_position = goal
        self.start = start
        self.max_speed = fastest
        self.low_state = np.array([left, -fastest], dtype=np.float32)
        self.high_state = np.array([right, fastest], dtype=np.float32)
        self.observation_space = spaces.Box(self.low_state, self.high_state, dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start at rest, somewhere in ``start``."""
        low, high = self.start
        chosen = {"low": low, "high": high, **(options or {})}
        seen, info = super().reset(seed=seed, options=chosen)
        return seen, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Gymnasium's step, in which gravity and steepness are literals."""
        position, velocity = self.state
        force = min(max(action[0], self.min_action), self.max_action)
        velocity += force * self.power - self.gravity * math.cos(self.steepness * position)
        velocity = min(max(velocity, -self.max_speed), self.max_speed)
        position = min(max(position + velocity, self.min_position), self.max_position)
        if position == self.min_position and velocity < 0:
            velocity = 0
        terminated = bool(position >= self.goal_position and velocity >= self.goal_velocity)
        reward = (100.0 if terminated else 0.0) - math.pow(action[0], 2) * 0.1
        self.state = np.array([position, velocity], dtype=np.float32)
        return self.state, reward, terminated, False, {}

    def _height(self, xs: Any) -> Any:  # noqa: ANN401 - a number or an array, as in Gymnasium
        return np.sin(self.steepness * xs) * 0.45 + 0.55


class Chain(AcrobotEnv):
    """Acrobot; lengths in m, masses in kg, inertias in kg m^2, torque in N m, step in s."""

    def __init__(
        self,
        *,
        lengths: tuple[float, float] = (1.0, 1.0),
        masses: tuple[float, float] = (1.0, 1.0),
        inertias: tuple[float, float] = (1.0, 1.0),
        gravity: float = 9.8,
        torque: float = 1.0,
        step: float = 0.2,
        height: float = 1.0,
        **rendering: Any,  # noqa: ANN401
    ) -> None:
        """``inertias``: about the middles of the links; ``height``: of the goal."""
        super().__init__(**rendering)
        self.LINK_LENGTH_1, self.LINK_LENGTH_2 = lengths
        self.LINK_COM_POS_1, self.LINK_COM_POS_2 = lengths[0] / 2, lengths[1] / 2
        self.LINK_MASS_1, self.LINK_MASS_2 = masses
        self.inertias = inertias
        self.gravity = gravity
        self.AVAIL_TORQUE = [-torque, 0.0, torque]
        self.dt = step
        self.height = height

    def _terminal(self) -> bool:
        assert self.state is not None  # noqa: S101 - set by reset
        angle, bend = self.state[:2]
        upper, lower = self.LINK_LENGTH_1, self.LINK_LENGTH_2
        return bool(-upper * np.cos(angle) - lower * np.cos(bend + angle) > self.height)

    def _dsdt(self, s_augmented: Any) -> tuple[float, ...]:  # noqa: ANN401 - as in Gymnasium
        """Gymnasium's equations, in which gravity is a literal and both inertias are the same."""
        m1, m2 = self.LINK_MASS_1, self.LINK_MASS_2
        l1, lc1, lc2 = self.LINK_LENGTH_1, self.LINK_COM_POS_1, self.LINK_COM_POS_2
        (i1, i2), g = self.inertias, self.gravity
        theta1, theta2, dtheta1, dtheta2, a = s_augmented
        sin2, cos2 = np.sin(theta2), np.cos(theta2)
        d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * cos2) + i1 + i2
        d2 = m2 * (lc2**2 + l1 * lc2 * cos2) + i2
        phi2 = m2 * lc2 * g * np.cos(theta1 + theta2 - np.pi / 2.0)
        phi1 = (
            -m2 * l1 * lc2 * dtheta2**2 * sin2
            - 2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * sin2
            + (m1 * lc1 + m2 * l1) * g * np.cos(theta1 - np.pi / 2)
            + phi2
        )
        ddtheta2 = (a + d2 / d1 * phi1 - m2 * l1 * lc2 * dtheta1**2 * sin2 - phi2) / (
            m2 * lc2**2 + i2 - d2**2 / d1
        )
        ddtheta1 = -(d2 * ddtheta2 + phi1) / d1
        return dtheta1, dtheta2, ddtheta1, ddtheta2, 0.0


def make_lander(
    *,
    gravity: float = 10.0,
    main_power: float = 13.0,
    side_power: float = 0.6,
    push: float = 1000.0,
    steps_per_second: int = 50,
) -> Env:
    """Gymnasium's LunarLander-v3, without wind.

    ``gravity`` in m/s^2, below 12; ``push`` in N, the largest in each direction, for one step; the
    powers of the engines are N s a step and metre that an engine is away from the body's middle.
    """
    importlib.import_module("Box2D")  # where it is missing, Gymnasium names another remedy
    # The module's constants cannot be arguments, so it is executed once more for this world.
    found = importlib.util.find_spec("gymnasium.envs.box2d.lunar_lander")
    assert found and found.loader  # noqa: S101 - Gymnasium is installed, and has it
    module: Any = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.MAIN_ENGINE_POWER = main_power
    module.SIDE_ENGINE_POWER = side_power
    module.INITIAL_RANDOM = push
    module.FPS = steps_per_second
    world = module.LunarLander
    world.metadata = {**world.metadata, "render_fps": steps_per_second}
    return make_env("LunarLander-v3", world, gravity=-gravity)
