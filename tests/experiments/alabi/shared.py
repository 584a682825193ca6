"""What the tests of these studies share."""

from __future__ import annotations

import jax

from privrank_jax.experiments.alabi.common import EXCESS

KEY = jax.random.key(4)


def row(mean, error=0.0001, **more):
    return {
        "study": "s", "metric": EXCESS, "estimator": "a minus b", "mean": mean, "standard_error": error,
        "replicates": 50, "nonfinite": 0, "num_items": 5, "num_users": 9, "epsilon": 1.0, **more,
    }  # fmt: skip
