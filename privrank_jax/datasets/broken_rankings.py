"""Rankings of some items as comparisons: all pairs of each of them."""

from __future__ import annotations

import numpy as np

from privrank_jax.datasets.ranking_table import RankingTable
from privrank_jax.datasets.table import ComparisonTable

_BROKEN = (
    "each ranking of k items counts as the k(k - 1)/2 comparisons of its pairs, equal ranks as ties"
)


def broken_rankings(table: RankingTable) -> ComparisonTable:
    """The pairs of items that each user ranked, as comparisons of this user; items left out say nothing.

    A user who ranked k items has k(k - 1)/2 comparisons, which a guarantee for users must count as contributions. The
    table twin of :func:`~privrank_jax.pairwise.break_rankings`, with ties.

    Args:
        table: rankings; -1 for items that a user did not rank.

    Returns:
        A table of comparisons, user by user. Where the rankings name no users, each row is one.

    >>> table = RankingTable([[1, 0, -1], [0, 0, 1]], item_names=("a", "b", "c"))
    >>> found = broken_rankings(table)
    >>> found.winners.tolist(), found.losers.tolist(), found.tied.tolist()
    ([1, 0, 0, 1], [0, 1, 2, 2], [False, True, False, False])
    """
    first, second = np.triu_indices(table.num_items, 1)
    ranks = np.asarray(table.ranks)
    users, pairs = np.nonzero((ranks[:, first] >= 0) & (ranks[:, second] >= 0))
    one, other = first[pairs], second[pairs]
    ahead = ranks[users, one] <= ranks[users, other]
    names = table.user_names or tuple(map(str, range(1, table.num_users + 1)))
    return ComparisonTable(
        users=users,
        winners=np.where(ahead, one, other),
        losers=np.where(ahead, other, one),
        tied=ranks[users, one] == ranks[users, other],
        item_names=table.item_names,
        user_names=names,
        name=table.name,
        notes=(_BROKEN, *table.notes),
        reading=(*table.reading, _BROKEN),
        remarks=table.remarks,
        public=table.public,
    )
