"""What the tests of personal rankings share."""

from __future__ import annotations

import jax

from privrank_jax.experiments.rdp.training import ACCURACY

PERSONAL = ["rdp-fig7", "rdp-fig8", "rdp-hidden-groups"]

PERSONAL_KEY = jax.random.key(8)


def row(mean, error=0.001, **more):
    return {
        "study": "s", "metric": ACCURACY, "estimator": "a minus b", "mean": mean, "standard_error": error,
        "replicates": 50, "nonfinite": 0, "num_users": 9, "epsilon": 1.0, **more,
    }  # fmt: skip
