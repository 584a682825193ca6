"""Expected costs of rules on private weights, and of sums over a private number of users, against releases."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.majority_rules import RULES
from privrank_jax.aggregation.planned_errors import Setting
from privrank_jax.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from tests.aggregation.test_planned_errors import USERS, M, crowd, excess, row_of, solved
from tests.promises import user


@pytest.mark.parametrize("rule", ["minimax"])
def test_costs_of_rules_are_those_of_releases(rule, key):
    """Means of 1,500 releases, as for Kemeny's rule above; where cycles are shrunk and nothing is clipped."""
    promise, weights = user(0.4), crowd()
    given = PairWeights(weights, USERS)

    @jax.jit
    @jax.vmap
    def run(k):
        found = aggregation.private_weights(k, given, promise).value
        return ranks_from_scores(RULES[rule](found))

    found = [excess(one, weights) for one in solved(run(jax.random.split(key, 1_500)))]
    row, settings = row_of("weights", "k-norm", promise), [Setting(USERS, promise)]
    (planned,) = aggregation.planned_costs(row, M, settings, rule=rule)
    assert planned == pytest.approx(np.mean(found), rel=0.25, abs=5 * np.std(found) / 1_500**0.5)
    with pytest.raises(ValueError, match="no weights of all pairs"):
        aggregation.planned_costs(row_of("borda", "k-norm", promise), M, settings, rule=rule)


@pytest.mark.parametrize(
    ("method", "noise"),
    [("borda", "k-norm"), ("weights", "k-norm"), ("weights", "gaussian")],
)
def test_costs_where_users_may_come_or_go_are_those_of_releases(method, noise, key):
    """Means of 1,500 releases of sums, whose noise doesn't depend on how many users there are. Plans of weights are
    means of 64 draws, with standard errors of 10 %."""
    promise = Privacy(
        0.03, unit="user", adjacency="add-remove", delta=1e-4 if noise == "gaussian" else 0.0
    )
    weights, given = crowd(), PairWeights(crowd(), USERS)
    release = aggregation.dp_borda if method == "borda" else aggregation.private_weights

    @jax.jit
    @jax.vmap
    def run(k):
        found = release(k, given, promise, noise=noise).value
        if method == "borda":
            return ranks_from_scores(found)
        return 0.5 + found / (2 * jnp.max(jnp.abs(found)))

    found = [excess(one, weights) for one in solved(run(jax.random.split(key, 1_500)))]
    row, settings = row_of(method, noise, promise), [Setting(USERS, promise)]
    (planned,) = aggregation.planned_costs(row, M, settings)
    assert planned == pytest.approx(np.mean(found), rel=0.25, abs=3 * np.std(found) / 64**0.5)
    assert planned <= row.cost()
