"""Policies scored on held-out episodes, alone or against each other."""

from promptpo.evaluation.evaluation import Evaluation
from promptpo.evaluation.keeping import keep
from promptpo.evaluation.players import (
    BASELINES,
    Player,
    best_of_run,
    find_player,
    player_of_class,
    player_of_source,
)
from promptpo.evaluation.playing import score, settings_for
from promptpo.evaluation.ranking import PolicyComparison

__all__ = [
    "BASELINES",
    "Evaluation",
    "Player",
    "PolicyComparison",
    "best_of_run",
    "find_player",
    "keep",
    "player_of_class",
    "player_of_source",
    "score",
    "settings_for",
]
