"""Pong: return the ball with a paddle, as often as time allows.

The screen is 800 pixels wide and 600 high; x points to the right and y down, from 0 in the upper
left corner. The policy's paddle stands at the left edge, an opponent's at the right edge; both are
10 wide and 80 high. The ball is 10 wide and 10 high; all positions are those of middles. It starts
in the middle of the screen, as do the paddles, flies to the left or to the right, up to 5 pixels a
step up or down, and is reflected by the upper and the lower edge. A paddle returns the ball when it
reaches the paddle, at x = 15 and x = 785, with its middle within the paddle's height. The episode
ends when the ball gets past a paddle and leaves the screen, and after 1000 steps at the latest.
"""

from collections.abc import Callable

from promptpo.spec import Env, EnvSpec, Raw, Reference, field


class Observation:
    """Paddle and ball, before each action."""

    paddle_y: float = field(unit="px", low=40.0, high=560.0, doc="of the policy's paddle")
    ball_x: float = field(unit="px", low=0.0, high=800.0, doc="0 at the policy's edge")
    ball_y: float = field(unit="px", low=5.0, high=595.0, doc="0 at the upper edge")
    ball_dx: float = field(unit="px/step", low=-5.0, high=5.0, doc="negative: to the policy")
    ball_dy: float = field(unit="px/step", low=-5.0, high=5.0, doc="positive: down")


ACTION = """
An int: 0 moves the policy's paddle up by 5 pixels, 1 moves it down by 5 pixels, 2 leaves it where
it is. The paddle stops at the edges of the screen.
"""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: 1 when the policy's paddle returns the ball, else 0."""
    return 1.0 if observation.ball_dx < 0 < next_observation.ball_dx else 0.0


def make() -> Env:
    """Pong of _games/pong.py."""
    from ._games.pong import Pong

    return Pong()


def expert(env: Env) -> Callable[[Raw], int]:
    """Follow the ball, which is never faster than the paddle."""

    def act(raw: Raw) -> int:
        ahead = raw[2] - raw[0]
        return 2 if abs(ahead) < 2.5 else int(ahead > 0)

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=1000,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines pong --episodes 20000
    # The optimum is exact: best_return() of _games/pong.py.
    references={
        "random": Reference(0.137, deviation=0.40),
        "zero action": Reference(0.189, deviation=0.42),
        "optimum": 3.0,
    },
    withheld=("follows", "upper end", "vertical speed"),
)
