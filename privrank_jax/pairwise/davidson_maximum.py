r"""Whether the likelihood of Davidson's model has a finite maximum, exactly, on the host.

In an exponential family the maximum is finite (on the directions that the data identify) exactly if the observed
statistic is the mean of some outcome probabilities that are all above 0 (Barndorff-Nielsen 1978, Theorem 9.13). Here
that asks for p_e = (win, tie, loss) > 0 of each compared pair e with Σ_e M_e p_e = (N, T), which a linear program
decides: the largest t with all p_e >= t. Strong connection by wins, with a tie counted as half a win for both, does not
suffice: of one pair with wins of one side and ties, but no loss, all ν > 0 want a larger gap.
"""

from __future__ import annotations

import numpy as np

from privrank_jax.comparisons import WinCounts

MOST_PAIRS = 2000
_LEAST = 1e-9


def has_maximum(wins: WinCounts) -> bool | None:
    """Whether a finite maximum exists, ``None`` for more than ``MOST_PAIRS`` compared pairs.

    Args:
        wins: win counts that know their ties, not traced.
    """
    from scipy import optimize, sparse

    met = np.triu(np.asarray(wins.comparisons, np.float64), 1)
    first, second = np.nonzero(met)
    pairs, items = first.size, wins.num_items
    if pairs > MOST_PAIRS:
        return None
    if not pairs:
        return False
    times, each = met[first, second], np.arange(pairs)
    # Unknown: the expected numbers of wins, ties and losses of each pair, then t.
    rows = np.concatenate([first, first, second, second, np.full(pairs, items), items + 1 + each,
                           items + 1 + each, items + 1 + each])  # fmt: skip
    win, tie, loss = each, pairs + each, 2 * pairs + each
    columns = np.concatenate([win, tie, tie, loss, tie, win, tie, loss])
    half, one = np.full(pairs, 0.5), np.ones(pairs)
    entries = np.concatenate([one, half, half, one, one, one, one, one])
    equal = sparse.coo_matrix((entries, (rows, columns)), (items + 1 + pairs, 3 * pairs + 1))
    observed = np.concatenate([np.asarray(wins.totals), [float(np.asarray(wins.ties))], times])
    shares = np.tile(times, 3)[:, None]
    above = sparse.hstack([-sparse.identity(3 * pairs), sparse.csr_matrix(shares)])
    found = optimize.linprog(
        np.append(np.zeros(3 * pairs), -1.0),
        A_ub=above.tocsr(),
        b_ub=np.zeros(3 * pairs),
        A_eq=equal.tocsr(),
        b_eq=observed,
        bounds=[(0, None)] * (3 * pairs) + [(None, 1)],
    )
    return bool(found.success and found.x[-1] > _LEAST)
