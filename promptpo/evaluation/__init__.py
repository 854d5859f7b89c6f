"""Policies scored on held-out episodes, alone or against each other."""

from promptpo.evaluation.players import (
    Player,
    best_of_run,
    find_player,
    player_of_class,
    player_of_source,
    score,
    settings_for,
    transfer,
)
from promptpo.evaluation.results import Evaluation, PolicyComparison, Transfer

__all__ = [
    "Evaluation",
    "Player",
    "PolicyComparison",
    "Transfer",
    "best_of_run",
    "find_player",
    "player_of_class",
    "player_of_source",
    "score",
    "settings_for",
    "transfer",
]
