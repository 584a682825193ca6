r"""Ties as outcomes of their own: Davidson's model, and whether its likelihood has a finite maximum.

Of two items with scores θ_i, θ_j the outcomes win, tie and loss have probabilities in the ratios

.. math:: e^{θ_i} : ν\sqrt{e^{θ_i} e^{θ_j}} : e^{θ_j}.

ν > 0 says how common ties are: between equal items P(tie) = ν/(2 + ν).

**Sufficient statistics.** With η = log ν, the log-likelihood of a comparison is θ_i, (θ_i + θ_j)/2 + η or θ_j, less
log(e^{θ_i} + e^{θ_j} + e^{η + (θ_i + θ_j)/2}). So that of all of them is

.. math:: Σ_i N_i θ_i + Tη - Σ_{i<j} M_{ij} \log(e^{θ_i} + e^{θ_j} + e^{η + (θ_i + θ_j)/2}),

which sees the outcomes only through the win totals N_i, a tie counted as half a win, and the number T of ties. It is
concave in (θ, η), and a conditional logit, with or without covariates (:mod:`privrank_jax.pairwise.designs`);
``mle(..., ties="davidson")`` fits it. (The model of Rao and Kupper (1967), in which a tie is a difference below a
threshold, is no such family: its likelihood needs the ties of every pair, so noise on a few totals can't make its fit
private, and it is not offered.)

**Half wins are ν = 2.** At ν = 2 the three probabilities are σ(d)², 2σ(d)σ(-d) and σ(-d)² with d = (θ_i - θ_j)/2: a
comparison is two independent votes of the Bradley-Terry-Luce model with scores θ/2, and a tie is a split. So scores
fitted to half wins (:func:`~privrank_jax.pairwise.mle`) are half of Davidson's at ν = 2. Where every pair meets equally
often, all ν order the items alike, by N.

**A finite maximum.** The exponential family has one, on the directions that the data identify, exactly if the observed
statistic is the mean of some outcome probabilities that are all above 0 (Barndorff-Nielsen 1978, Theorem 9.13). Here
that asks for p_e = (win, tie, loss) > 0 of each compared pair e with Σ_e M_e p_e = (N, T), which a linear program
decides: the largest t with all p_e >= t. Strong connection by wins, with a tie counted as half a win for both, does not
suffice: of one pair with wins of one side and ties, but no loss, all ν > 0 want a larger gap.

Source: Davidson (1970), On extending the Bradley-Terry model to accommodate ties in paired comparison experiments,
Journal of the American Statistical Association 65, 317-328.
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
