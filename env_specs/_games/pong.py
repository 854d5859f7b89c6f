"""Pong with a state of five numbers, as a Gymnasium environment.

The screen is 800 x 600 pixels, y pointing down; positions are those of the middles of things. The
agent's paddle stands at the left edge, the opponent's at the right one; both are 10 wide and 80
high. The ball, 10 x 10, starts in the middle of the screen and moves 5 pixels a step to the left or
to the right, and up to 5 up or down. Reward: 1 for each time that the agent returns the ball. The
episode ends when the ball leaves the screen past a paddle, and after 1000 steps at the latest.

The screen, the state, the reward and the ends are those of the R2PO suite, and so are the sizes and
speeds. Choices of ours, all made so that the ball cannot get stuck or leave the screen through the
top: it is reflected where it would pass the upper or lower edge; a paddle returns it while its
middle is within the paddle's height; where it hits decides its new vertical speed, from -5 at the
paddle's upper end to 5 at the lower one. The opponent follows the ball as fast as its paddle moves,
5 pixels a step, and so never misses.

Importing this module makes ``gymnasium.make("promptpo/Pong-v0")`` work, and without an import
``gymnasium.make("env_specs._games.pong:promptpo/Pong-v0")``.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .._shared.drawing import INK, ORANGE, WHITE, blank, box

ENV_ID = "promptpo/Pong-v0"

WIDTH, HEIGHT = 800, 600
PADDLE_WIDTH, PADDLE_HEIGHT = 10, 80
BALL = 10
SPEED = 5.0
HORIZON = 1000

#: Where the ball's middle is when it touches the agent's paddle; at the right, WIDTH less this.
CONTACT = PADDLE_WIDTH + BALL / 2

#: How far the middle of a paddle is from the upper or lower edge at least.
MARGIN = PADDLE_HEIGHT / 2

#: What the actions up, down, stay add to the middle of the agent's paddle.
SHIFTS = (-SPEED, SPEED, 0.0)


def best_return() -> int:
    """The most returns that an episode has time for, whatever the policy.

    The way from the middle to a paddle takes 77 steps, that from paddle to paddle 154. A ball that
    is returned later than at first contact only has further to go.
    """
    first = int((WIDTH / 2 - CONTACT) / SPEED)
    across = int((WIDTH - 2 * CONTACT) / SPEED)
    return 1 + (HORIZON - first) // (2 * across)


class Pong(gymnasium.Env[NDArray[np.float64], np.int64]):
    """Observation, float64: paddle y, ball x, ball y, ball dx, ball dy. Actions: up, down, stay.

    Attributes:
        paddle: y of the agent's paddle.
        opponent: y of the other paddle.
        x, y, dx, dy: position of the ball, and what a step adds to it.
    """

    metadata = {  # noqa: RUF012 - Gymnasium's API
        "render_modes": ["rgb_array"],
        "render_fps": 60,
    }

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        low = np.array([MARGIN, 0.0, BALL / 2, -SPEED, -SPEED])
        high = np.array([HEIGHT - MARGIN, WIDTH, HEIGHT - BALL / 2, SPEED, SPEED])
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        self.action_space = spaces.Discrete(len(SHIFTS))
        self._place_all()
        self.dx = self.dy = 0.0

    def _place_all(self) -> None:
        self.paddle = self.opponent = HEIGHT / 2
        self.x, self.y = WIDTH / 2, HEIGHT / 2

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Put ball and paddles in the middle; ``seed`` decides where the ball goes."""
        super().reset(seed=seed)
        self._place_all()
        self.dx = SPEED if self.np_random.random() < 0.5 else -SPEED
        self.dy = self.np_random.uniform(-SPEED, SPEED)
        return self._seen(), {}

    def step(
        self, action: int | np.int64
    ) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Move paddles, then the ball; raises ResetNeeded when the ball is out."""
        if self._is_out():
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()")
        self.paddle = _on_screen(self.paddle + SHIFTS[int(action)])
        self.opponent = _on_screen(self.opponent + min(max(self.y - self.opponent, -SPEED), SPEED))
        self._move_ball()
        hit = self.dx < 0 and self.x <= CONTACT and self._bounces_off(self.paddle)
        if not hit and self.dx > 0 and self.x >= WIDTH - CONTACT:
            self._bounces_off(self.opponent)
        return self._seen(), float(hit), self._is_out(), False, {}

    def _move_ball(self) -> None:
        self.x += self.dx
        self.y += self.dy
        top, bottom = BALL / 2, HEIGHT - BALL / 2
        if self.y < top:
            self.y, self.dy = 2 * top - self.y, -self.dy
        elif self.y > bottom:
            self.y, self.dy = 2 * bottom - self.y, -self.dy

    def _bounces_off(self, paddle: float) -> bool:
        """Return the ball if the paddle is where it is."""
        offset = self.y - paddle
        if abs(offset) > PADDLE_HEIGHT / 2:
            return False
        self.dx = -self.dx
        self.dy = SPEED * offset / (PADDLE_HEIGHT / 2)
        return True

    def _is_out(self) -> bool:
        return not BALL / 2 <= self.x <= WIDTH - BALL / 2

    def _seen(self) -> NDArray[np.float64]:
        return np.array([self.paddle, self.x, self.y, self.dx, self.dy])

    def render(self) -> NDArray[np.uint8] | None:
        """Return the screen, uint8 (600, 800, 3): the agent's paddle is blue, the other orange."""
        if self.render_mode != "rgb_array":
            return None
        frame = blank(HEIGHT, WIDTH, INK)
        for top in range(8, HEIGHT, 32):
            box(frame, top, WIDTH / 2 - 2, top + 16, WIDTH / 2 + 2, (96, 102, 114))
        for left, y, colour in (
            (0, self.paddle, (90, 160, 240)),
            (WIDTH - PADDLE_WIDTH, self.opponent, ORANGE),
        ):
            box(frame, y - MARGIN, left, y + MARGIN, left + PADDLE_WIDTH, colour)
        half = BALL / 2
        box(frame, self.y - half, self.x - half, self.y + half, self.x + half, WHITE)
        return frame


def _on_screen(paddle: float) -> float:
    return min(max(paddle, MARGIN), HEIGHT - MARGIN)


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:Pong", max_episode_steps=HORIZON)
