"""One pair from each user: the random assignment of pairs, and the coins that break ties."""

from __future__ import annotations

import numpy as np
from scipy import stats

from privrank_jax.release import (
    exact_one_pair_weights,
)
from tests.promises import user
from tests.release.laws import RATE


def test_ties_are_answered_by_fair_coins():
    users = 100_000
    found = exact_one_pair_weights(np.zeros((users, 2), int), user(40.0)).value[0, 1]
    assert stats.binomtest(round(found * users), users, 0.5).pvalue > RATE


def test_who_is_asked_for_which_pair_is_left_to_chance():
    """Half of the users, one for each pair, rank the other way round; the pairs that they are asked for may be any."""
    items = 40
    pairs = items * (items - 1) // 2
    ranks = np.where(
        np.arange(pairs)[:, None] < pairs // 2, np.arange(items), np.arange(items)[::-1]
    )
    for order in (np.arange(pairs), np.arange(pairs).reshape(2, -1).T.ravel()):
        value = exact_one_pair_weights(ranks[order], user(40.0)).value[np.triu_indices(items, 1)]
        assert int(np.round(value).sum()) == pairs // 2
        for half in (np.arange(pairs) < pairs // 2, np.arange(pairs) % 2 == 0):
            law = stats.hypergeom(pairs, pairs // 2, pairs // 2)
            found = int(np.round(value[half]).sum())
            assert min(law.cdf(found), law.sf(found - 1)) > RATE / 2
            assert law.sf(pairs // 2 - 1) < RATE  # without a shuffle
