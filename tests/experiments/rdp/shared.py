"""What the tests of these studies share."""

from __future__ import annotations

import jax

from privrank_jax.experiments.rdp import attack as rdp_attack

KEY, PERSONAL_KEY = jax.random.key(6), jax.random.key(8)


def row(mean, **more):
    return {
        "study": "s", "metric": "wrong", "estimator": rdp_attack.GUESS, "mean": mean, "standard_error": 0.001,
        "replicates": 1000, "nonfinite": 0, "num_items": 3, "num_rankings": 10, "epsilon": 1.0, **more,
    }  # fmt: skip
