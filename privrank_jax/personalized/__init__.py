"""Personalized rankings: models that score items for each user, trained on real or synthetic rankings."""

from privrank_jax.personalized.surrogate import (
    LOSSES,
    debiased_pair_weights,
    pair_weights,
    pairwise_accuracy,
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
    "debiased_pair_weights",
    "pair_weights",
    "pairwise_accuracy",
    "train",
]
