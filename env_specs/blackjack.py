"""Blackjack: draw cards to come closer to 21 than the dealer, without exceeding it.

Number cards count their number, face cards 10, aces 1, or 11 where that does not exceed 21 (such an
ace is called usable). All cards are drawn with replacement. Player and dealer start with two cards
each; one of the dealer's is shown. The player draws until they stop or exceed 21. The dealer then
draws while their sum is below 17. Whoever exceeds 21 loses, the player first; else the higher sum
wins. A player who stops with an ace and a ten from the start wins, unless the dealer has the same.
"""

from collections.abc import Callable
from typing import Any

from promptpo.spec import Env, EnvSpec, Raw, field


class Observation:
    """What the player knows, before each action."""

    player_sum: int = field(
        low=4, high=31, doc="of the player's cards, a usable ace as 11; over 21 the game is lost"
    )
    dealer_card: int = field(low=1, high=10, doc="the card that the dealer shows; 1 is an ace")
    usable_ace: int = field(low=0, high=1, doc="1 if the player has a usable ace")


ACTION = """An int: 0 stops, which ends the episode; 1 draws a card."""


def reward(
    observation: Observation, action: int, next_observation: Observation, *, outcome: int
) -> float:
    """Reward of one step; ``outcome`` of stopping: 1 won, 0 drawn, -1 lost against the dealer."""
    if action == 1:
        return -1.0 if next_observation.player_sum > 21 else 0.0
    return float(outcome)


def make() -> Env:
    """Gymnasium's Blackjack-v1 (blackjack.py: sab=True); the dealer's hand is told in ``info``."""
    import gymnasium

    class ShowingHands(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:  # noqa: ANN401
            raw, reward, terminated, truncated, info = self.env.step(action)
            table: Any = self.unwrapped
            hands = {"player": list(table.player), "dealer": list(table.dealer)}
            return raw, reward, terminated, truncated, {**info, **hands}

    return ShowingHands(gymnasium.make("Blackjack-v1", disable_env_checker=True))


def outcome(player: list[int], dealer: list[int]) -> int:
    """Compare two final hands by the rules of the description."""

    def total(hand: list[int]) -> int:
        return sum(hand) + (10 if 1 in hand and sum(hand) <= 11 else 0)

    def worth(hand: list[int]) -> tuple[int, bool]:
        natural = sorted(hand) == [1, 10]
        return (total(hand) if total(hand) <= 21 else 0), natural

    (mine, natural), (theirs, dealers_natural) = worth(player), worth(dealer)
    if natural and not dealers_natural:
        return 1
    return (mine > theirs) - (mine < theirs)


def expert(env: Env) -> Callable[[Raw], int]:
    """Play the optimal strategy of Sutton & Barto, Reinforcement Learning (2018), figure 5.2."""

    def act(raw: tuple[int, int, int]) -> int:
        player, dealer, ace = raw
        if ace:
            return int(player <= 17 or (player == 18 and dealer in (9, 10)))
        if 2 <= dealer <= 6:
            return int(player <= (12 if dealer <= 3 else 11))
        return int(player <= 16)

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_inputs=lambda info: {"outcome": outcome(info["player"], info["dealer"])},
    horizon=21,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines blackjack --episodes 100000
    references={"random": -0.315, "zero action": -0.185, "expert": -0.044},
)
