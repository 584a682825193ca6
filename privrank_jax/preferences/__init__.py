"""Learning from private preference labels: losses, objectives of reward models and DPO, validation.

From a file of preferences to a trained model, which here scores an answer by its length, times a weight. The users of
this file prefer longer answers. All labels of a user are private together at ε = 3, so those of users with two labels
have ε = 1.5 each. The likelihood of the reports, the default, needs no weights; a mean of any other loss is weighted by
what a label says, tanh²(ε/2), ``table.weights``:

>>> import json, pathlib, tempfile
>>> import jax, jax.numpy as jnp
>>> from privrank_jax import preferences, privacy, read, release
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> pairs = [{"user": k % 300, "chosen": "a" * (3 + k % 4), "rejected": "a" * (1 + k % 2)} for k in range(400)]
>>> _ = (folder / "prefs.jsonl").write_text("\\n".join(map(json.dumps, pairs)))
>>> promise = privacy.Privacy(3.0, unit="user", adjacency="flip")
>>> private = folder / "private.jsonl"  # may be shared; the command for it: privrank privatize prefs.jsonl --unit user
>>> guarantee = release.privatize_preferences(folder / "prefs.jsonl", promise, private)
>>> table = read(private)
>>> chosen, rejected = (jnp.array([float(len(x)) for x in side]) for side in (table.chosen, table.rejected))
>>> def mean_loss(weight):
...     return jnp.mean(preferences.reward_loss(weight * chosen, weight * rejected, table.epsilon))
>>> weight, slope = 0.0, jax.jit(jax.grad(mean_loss))
>>> for _ in range(20):
...     weight -= 0.1 * slope(weight)
>>> bool(weight > 0.5)
True
"""

from privrank_jax.preferences.accuracy import debiased_accuracy
from privrank_jax.preferences.label_losses import (
    LOSSES,
    debiased_loss,
    label_smoothing,
    likelihood_loss,
    soft_label_loss,
    square_loss,
)
from privrank_jax.preferences.label_reports import randomized_labels
from privrank_jax.preferences.label_training import train_on_labels
from privrank_jax.preferences.objectives import dpo_loss, reward_loss

__all__ = [
    "LOSSES",
    "debiased_accuracy",
    "debiased_loss",
    "dpo_loss",
    "label_smoothing",
    "likelihood_loss",
    "randomized_labels",
    "reward_loss",
    "soft_label_loss",
    "square_loss",
    "train_on_labels",
]
