"""Personalized rankings: models that score items for each user, trained on real or synthetic rankings."""

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
from privrank_jax.personalized.train import Trained, Users, train

__all__ = [
    "LOSSES",
    "Linear",
    "Scorer",
    "Trained",
    "TwoTowers",
    "Users",
    "debiased_pair_weights",
    "logistic_risk",
    "pair_weights",
    "pairwise_accuracy",
    "pairwise_risk",
    "train",
    "wins_from_ranks",
]
