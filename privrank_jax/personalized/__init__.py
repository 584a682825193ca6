"""Personalized rankings: models that score items for each user, trained on real or synthetic rankings."""

from privrank_jax.personalized.regret import (
    consistent_epsilon,
    least_risk,
    ranking_risk,
    regret_rate,
)
from privrank_jax.personalized.surrogate import (
    LOSSES,
    debiased_pair_weights,
    logistic_risk,
    pair_weights,
    pairwise_accuracy,
    pairwise_risk,
    wins_from_ranks,
)
from privrank_jax.personalized.towers import Linear, Scorer, TwoTowers
from privrank_jax.personalized.training import Trained, Users, train

__all__ = [
    "LOSSES",
    "Linear",
    "Scorer",
    "Trained",
    "TwoTowers",
    "Users",
    "consistent_epsilon",
    "debiased_pair_weights",
    "least_risk",
    "logistic_risk",
    "pair_weights",
    "pairwise_accuracy",
    "pairwise_risk",
    "ranking_risk",
    "regret_rate",
    "train",
    "wins_from_ranks",
]
