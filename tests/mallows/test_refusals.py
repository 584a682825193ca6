"""What functions on synthetic rankings refuse, by the argument that is at fault."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows
from privrank_jax.mallows import attack
from privrank_jax.mallows.laplace import laplace_ranks

KEY = jax.random.key(0)
SINGLE = jnp.float32(0.01)
HALF: Any = 2.5


def sample(center, epsilon=1.0):
    return mallows.sample(KEY, center, epsilon)


def pairs(ranks, epsilon=1.0, **told):
    return mallows.debiased_pairs(ranks, epsilon, **told)


REFUSED = [
    (lambda: mallows.top_k_pairs(3, 4), "k must"),
    (lambda: mallows.top_k_pairs(0, 0), "num_items"),
    (lambda: mallows.log_prob([0, 1], [0, 2], 1.0), "center_ranks"),
    (lambda: mallows.log_prob([0, 0], [0, 1], 1.0), "ranks"),
    (lambda: mallows.log_prob([0, 1], [0, 1, 2], 1.0), "shape"),
    (lambda: mallows.log_prob([[0, 1]], [0, 1], 1.0), "shape"),
    (lambda: mallows.log_prob([0.0, 1.0], [0, 1], 1.0), "integers"),
    (lambda: mallows.distribution.expected_concordance(0, 1.0), "num_items"),
    (lambda: mallows.distribution.expected_concordance(HALF, 1.0), "num_items"),
    (lambda: mallows.distribution.insertion_mean(0, 3, 1.0), "step"),
    (lambda: mallows.distribution.insertion_variance(4, 3, 1.0), "step"),
    (lambda: mallows.distribution.pair_order_probability(3, 3, 1.0), "gap"),
    (lambda: mallows.distribution.pair_order_probability(0.5, 3, 1.0), "gap"),
    (lambda: mallows.synthetic_guarantee(0, 1.0), "num_items"),
    (lambda: mallows.attack.attack_error_bound(1, 1.0, 5), "num_items"),
    (lambda: mallows.attack.attack_error_bound(3, 1.0, 0), "num_rankings"),
    (lambda: mallows.most_likely_center(KEY, np.zeros((9, 9))), "solver"),
    (lambda: mallows.most_likely_center(KEY, np.zeros((2, 3))), "shape"),
    (lambda: mallows.most_likely_epsilon([0], [[0]]), "at least"),
    (lambda: mallows.most_likely_epsilon([0, 1], np.zeros((3, 3))), "wins"),
    (lambda: attack.win_counts([0, 1]), "shape"),
    (lambda: attack.win_counts([[0, 1]], [True, False]), "shape"),
    (lambda: mallows.sure_majority(1, 1.0), "num_items"),
    (lambda: mallows.synthetic_margin_bounds(1.1, 3, 1.0), "margin"),
    (lambda: mallows.synthetic_margin_bounds(np.nan, 3, 1.0), "margin"),
    (lambda: mallows.synthetic_margin_bounds(0.1, 3, 1.0, crowd="some"), "crowd"),
    (lambda: mallows.debiasing_kernel(0, 1.0), "num_items"),
    (lambda: mallows.debiasing_kernel(8, SINGLE), "64-bit"),
    (lambda: mallows.debiasing_kernel(50, jnp.float64(1.0)), "larger"),
    (lambda: pairs([list(range(8))] * 2, jnp.float32([8.0, 0.01])), "too small"),
    (lambda: pairs([[0, 1], [1, 0]], [1.0, 1.0, 1.0]), "one number"),
    (lambda: pairs([0, 1]), "users, items"),
    (lambda: pairs([[0.0, 1.0]]), "integers"),
    (lambda: pairs([[0, 0]]), "ties"),
    (lambda: pairs([[0, 1]], weights="best"), "weights"),
    (lambda: mallows.debiased_borda([[0, 1]], 1.0, missing="first"), "missing"),
    (lambda: mallows.unbiased_ranks([1, 1], 1.0), "synthetic_ranks"),
    (lambda: sample([1, 2, 3]), "subtract"),
    (lambda: sample([0, 2, -1]), "outside"),
    (lambda: sample([0, 0, -1]), "rank 0"),
    (lambda: sample([0.0, 1.0]), "integers"),
    (lambda: sample([[0, 1]]), "vmap"),
    (lambda: sample([]), "shape"),
    (lambda: sample([0, 1], [1.0, 2.0]), "vmap"),
    *(
        (lambda center=center: laplace_ranks(KEY, center, 1.0), "center_ranks")
        for center in ([0, 0], [1, 2], [0.5, 1.0])
    ),
    *(
        (lambda call=call, epsilon=epsilon: call(epsilon), "epsilon")
        for epsilon in (0.0, -1.0, math.nan)
        for call in (
            lambda epsilon: mallows.log_prob([0, 1], [0, 1], epsilon),
            lambda epsilon: mallows.distribution.insertion_mean(2, 3, epsilon),
            lambda epsilon: mallows.synthetic_guarantee(3, epsilon),
            lambda epsilon: mallows.attack.attack_error_bound(3, epsilon, 5),
            lambda epsilon: mallows.sure_majority(3, epsilon),
            lambda epsilon: mallows.debiasing_kernel(3, epsilon),
            lambda epsilon: mallows.unbiased_ranks([1, 0], epsilon),
            lambda epsilon: pairs([[0, 1]], epsilon),
        )
    ),
]


@pytest.mark.parametrize(("call", "word"), REFUSED)
def test_what_does_not_fit_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()
