r"""Covariance of the gradient of the likelihood where answers of one user hang together, or rows have weights.

Let :math:`s_u = \sum_r w_r ρ_r (e_i - e_j)` be the part of user u in the gradient at the fit, r the rows of u, i and j
the items of row r, w_r its weight, and ρ_r the slope of its log-likelihood in θ_i - θ_j: F'/F(θ_i - θ_j) where i won,
-F'/F(θ_j - θ_i) where j did, their mean for a tie. If users answer independently of one another, the gradient has the
covariance :math:`C = \sum_u E[s_u s_uᵀ]`, which takes the place of the inner I of the sandwich I⁻¹CI⁻¹ (Liang and
Zeger 1986). With each row as a user of its own, errors are right for weighted rows, however much outcomes vary.

**Few users.** At the fit s_u is too small, as user u drew the fit to themselves: to first order it is
:math:`s_u^0 - H_u I^{-1} \sum_v s_v^0`, s⁰ at the truth, H_u the part of u in the information I. So if answers are
independent, :math:`\sum_u s_u s_uᵀ` has the expectation :math:`I - \sum_u H_u I^{-1} H_u`. What is missing is at most
:math:`B = \sum_u \min(1, ℓ_u) H_u`, ℓ_u = tr(I⁻¹H_u) the leverage of u: K = I^{-1/2} H_u I^{-1/2} has eigenvalues in
[0, 1] with sum ℓ_u, so K² ≼ min(1, ℓ_u) K. Where answers hang together, or weights differ, more is missing; hence

.. math:: C = \sum_u s_u s_uᵀ + \max(1, φ) B, \qquad φ = \mathrm{tr}\Bigl(I^{-1} \sum_u s_u s_uᵀ\Bigr) / \mathrm{rank} I

much as Morel, Bokossa and Neerchal do: φ is the factor by which variances are larger than those of independent answers,
on average over directions. The leverages add up to rank I < m, so B fades as users become many. Where one user made all
comparisons of an item, B keeps its error at what independent answers have at least.

Sources: Liang and Zeger, Longitudinal data analysis using generalized linear models, *Biometrika* 73 (1986); Morel,
Bokossa and Neerchal, Small sample correction for the variance of GEE estimators, *Biometrical J.* 45 (2003).
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from privrank_jax._counting import FlagsLike, WeightsLike, check_comparisons, count_on_host
from privrank_jax._quickly import quickly
from privrank_jax._types import PairMatrix, RowsLike, Scores, ScoresLike
from privrank_jax._validate import is_traced
from privrank_jax.comparisons import default_float
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.fits import information
from privrank_jax.pairwise.uncertainty import identified, of_full_rank, project_inverse

_DENSE = 0.1  # share of items that users compare, from which a product of full matrices is faster
_BLOCK = 2**22  # numbers of such a matrix


def clustered_covariance(
    theta: ScoresLike,
    users: RowsLike,
    winners: RowsLike,
    losers: RowsLike,
    *,
    weights: WeightsLike | None = None,
    tied: FlagsLike | None = None,
    link: str | Link = "logistic",
) -> PairMatrix:
    """Covariance of the gradient of the likelihood where the answers of one user may depend on each other.

    For ``outcomes`` of :func:`standard_errors`, without privacy; computed on the host, without traced values.

    Args:
        theta: ``(m,)`` scores fitted to these comparisons, each as often as it counts.
        users: ``(N,)`` int, who compared; ``range(N)`` where each row is independent of the others.
        winners: ``(N,)`` int, item that won.
        losers: ``(N,)`` int, item that lost.
        weights: ``(N,)`` float, how often each comparison counts, such as the inverse of its probability; default 1.
        tied: ``(N,)`` bool; a tie is half a win for both items.
        link: as in the fit.

    Returns:
        ``(m, m)``, symmetric, without negative eigenvalues, its rows of sum 0.

    Raises:
        ValueError: shapes differ, users or items that are none, negative weights, scores not finite, traced arguments.

    >>> users, winners, losers = [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 0, 1], [1, 1, 0, 0, 1, 0]
    >>> found = clustered_covariance([0.0, 0.0], users, winners, losers)
    >>> round(float(found[0, 0]), 2)  # 2 of the two users who agree with themselves, 2/3 of B; if independent 6/4
    2.67
    """
    link = get_link(link)
    if is_traced(theta, users, winners, losers, weights, tied):
        raise ValueError("clustered_covariance works on the host: call it outside jit and vmap.")
    values = np.asarray(theta, np.result_type(np.asarray(theta), default_float()))
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("theta must be finite scores of shape (m,); did the fit converge?")
    size = values.size
    check_comparisons(winners, losers, size, weights, tied)
    first, second = (np.asarray(items, np.intp) for items in (winners, losers))
    who = np.asarray(users)
    if who.shape != first.shape or not (who.size == 0 or np.issubdtype(who.dtype, np.integer)):
        raise ValueError(
            f"users must be integers of shape {first.shape}, one per row, got {who.dtype} of shape {who.shape}."
        )
    weight = np.ones(first.shape) if weights is None else np.asarray(weights, np.float64)
    wins = count_on_host(first, second, size, weight, tied)
    known = quickly(functools.partial(_inverse, link), values, (wins + wins.T).astype(values.dtype))
    inverse, rank = (np.asarray(one, np.float64) for one in known)
    gap = values[first] - values[second]
    ahead, behind = (np.asarray(quickly(link.score, x), np.float64) for x in (gap, -gap))
    ties = False if tied is None else np.asarray(tied, bool)
    pull = weight * np.where(ties, 0.5 * (ahead - behind), ahead)
    user = np.unique(who, return_inverse=True)[1].ravel()
    found = _sum_of_squares(user, first, second, pull, size)
    inflation = max(1.0, float(np.sum(inverse * found)) / max(float(rank), 1.0))
    bend = weight * ahead * behind
    own = np.diagonal(inverse)
    of_row = bend * (own[first] + own[second] - 2 * inverse[first, second])
    leverage = np.minimum(np.bincount(user, of_row), 1.0)
    missing = count_on_host(first, second, size, inflation * leverage[user] * bend, None)
    missing += missing.T
    found += np.diag(missing.sum(1)) - missing
    return jax.device_put(found.astype(values.dtype))


def _inverse(link: Link, theta: Scores, weights: PairMatrix) -> tuple[PairMatrix, Float[Array, ""]]:
    """The inverse of the information on the differences that it identifies, and their number."""
    theta = jnp.asarray(theta)
    project, _ = identified(weights > 0, theta.dtype)
    fisher = of_full_rank(information(theta, weights, link), project)
    return project_inverse(fisher, project), jnp.sum(jnp.diagonal(project))


def _sum_of_squares(
    users: Integer[np.ndarray, "rows"],
    first: Integer[np.ndarray, "rows"],
    second: Integer[np.ndarray, "rows"],
    pull: Float[np.ndarray, "rows"],
    num_items: int,
) -> Float[np.ndarray, "items items"]:
    """``(m, m)``, the sum over users of ssᵀ, s the sum of their rows: ``pull`` for one item, less for the other."""
    import scipy.sparse

    parts, places = np.concatenate([pull, -pull]), np.concatenate([first, second])
    shape = int(users.max(initial=-1)) + 1, num_items
    sums = scipy.sparse.csr_array((parts, (np.tile(users, 2), places)), shape=shape)
    if sums.nnz < _DENSE * shape[0] * num_items:
        return (sums.T @ sums).toarray()
    found, step = np.zeros((num_items, num_items)), max(1, _BLOCK // num_items)
    for start in range(0, shape[0], step):
        block = sums[start : start + step].toarray()
        found += block.T @ block
    return found
