"""Learning from private preference labels: losses, objectives of reward models and DPO, validation."""

from privrank_jax.preferences.accuracy import Accuracy, debiased_accuracy
from privrank_jax.preferences.label_losses import (
    LOSSES,
    clipped_loss,
    debiased_loss,
    label_smoothing,
    likelihood_loss,
    soft_label_loss,
    square_loss,
)
from privrank_jax.preferences.objectives import dpo_loss, reward_loss
from privrank_jax.preferences.randomized_labels import LabelDiagnostics, randomized_labels

__all__ = [
    "LOSSES",
    "Accuracy",
    "LabelDiagnostics",
    "clipped_loss",
    "debiased_accuracy",
    "debiased_loss",
    "dpo_loss",
    "label_smoothing",
    "likelihood_loss",
    "randomized_labels",
    "reward_loss",
    "soft_label_loss",
    "square_loss",
]
