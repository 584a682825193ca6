r"""Scores over time where it is private who compared what: a fit to noisy wins, losses and pair counts.

Win totals follow how often items were compared, so they order no leaderboard where items are shown unequally often. The
fit to totals needs the design M_ij, how often i and j were compared, which is private under ``replace`` and
``add-remove``. So :func:`~privrank_jax.pairwise.continual.continual_score_sums` holds, for every step, two parts:
**wins and losses** (a tie is half a win and half a loss for both), and **pair counts** M_ij, i < j, but only up to
:data:`~privrank_jax.pairwise.continual.MAX_PAIR_ITEMS` items, as beyond noise would hide them.

**Fit** (:func:`fit_score_sums`; post-processing). With a = wins + losses, the product design D_ij = u_i u_j has the row
sums a; it is how often i and j would meet were opponents drawn at random. The pair counts move it as far as they
scatter about it beyond their noise (:func:`shrunk_design`). The score equations are (wins - losses)/2 = Σ_j D_ij
(F(θ_i - θ_j) - 1/2), so half of wins less losses plus half of the row sums of D are totals for the fit to D.

**Share of pair counts**: a quarter. Measured with Gaussian noise at ε = 1, δ = 1e-6, exposure ∝ 1/rank (30 items,
20,000 users × 10; means of 8 crowds): Kendall's distance at shares 0, .2, .4, .6 is .020, .022, .026, .032 with random
opponents, and .255, .077, .066, .061 with opponents near in strength (win totals: .33 and .46).
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from privrank_jax._backend import product
from privrank_jax._types import PairMatrix, Scalar, Scores
from privrank_jax._validate import check_nonnegative
from privrank_jax.pairwise.continual import MAX_PAIR_ITEMS, ContinualDiagnostics, parts_of
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.ridges import least_risk_gamma

_AROUND = 200  # turns that fit a product to its row sums
_FEWEST = 0.02  # appearances of an item, of the mean number
_LEAST = 0.05  # of the product design, what is left of a pair


def fit_score_sums(
    sums: Real[Array, "numbers"] | Real[np.ndarray, "numbers"],
    num_items: int,
    deviation: Scalar,
    pair_deviation: Scalar = 0.0,
    gamma: Scalar | None = None,
) -> Scores:
    """Logistic scores fitted to noisy wins, losses and pair counts: post-processing, by the fit at the module's head.

    Args:
        sums: ``(d,)`` in the order of :func:`~privrank_jax.pairwise.continual.score_sums`.
        num_items: m, static.
        deviation: standard deviation of the noise of one win total, in wins; may be traced.
        pair_deviation: of that of a pair count, if there are any.
        gamma: ridge γ > 0; None takes that of the least first-order risk.

    Returns:
        ``(m,)``, mean 0.

    Raises:
        ValueError: sums of another number of items, negative deviations.

    >>> sums = jnp.array([900.0, 100.0, 100.0, 900.0, 1000.0])
    >>> scores = fit_score_sums(sums, 2, 1e-3, 1e-3)
    >>> round(float(scores[0] - scores[1]), 1)  # log 9, drawn together a little by the ridge
    2.2
    """
    expected = sum(size for size, _ in parts_of(num_items))
    if np.shape(sums) != (expected,):
        raise ValueError(
            f"sums of {num_items} items have shape ({expected},): wins, losses and pair counts, as score_sums gives "
            f"them; got {np.shape(sums)}."
        )
    check_nonnegative("deviation", deviation)
    check_nonnegative("pair_deviation", pair_deviation)
    return _fit_score_sums(jnp.asarray(sums), num_items, deviation, pair_deviation, gamma)


@functools.partial(jax.jit, static_argnums=1)
def _fit_score_sums(
    sums: Array, items: int, deviation: Scalar, pair_deviation: Scalar, gamma: Scalar | None
) -> Scores:
    sums = sums.astype(jnp.result_type(float, sums.dtype) if sums.dtype.kind != "f" else sums.dtype)
    won, lost = sums[:items], sums[items : 2 * items]
    fewest = jnp.maximum(_FEWEST * jnp.mean(won + lost), 1.0)
    design = product_design(jnp.maximum(won + lost, fewest))
    if items <= MAX_PAIR_ITEMS:
        first, second = np.triu_indices(items, 1)
        seen = jnp.zeros_like(design).at[first, second].set(sums[2 * items :])
        noise = jnp.square(jnp.asarray(pair_deviation, sums.dtype))
        design = shrunk_design(design, seen + seen.T, noise)
    variance = jnp.square(jnp.asarray(deviation, sums.dtype)) / 2  # of (wins - losses)/2
    usual = least_risk_gamma(jnp.sum(design) / items, variance)
    totals, ridge = (won - lost + design.sum(-1)) / 2, usual if gamma is None else gamma
    return fit(Counts(design), totals, ridge).value


def fit_all_sums(
    sums: np.ndarray, num_items: int, told: ContinualDiagnostics, gamma: Scalar | None = None
) -> Float[np.ndarray, "steps items"]:
    """Scores of each of t published steps, from sums ``(t, d)``, one step after the other; 64 bits where enabled."""
    spread = np.asarray(told.deviations)
    pairs = np.zeros_like(spread) if told.pair_deviations is None else told.pair_deviations
    found = [
        fit_score_sums(one, num_items, spread[step], np.asarray(pairs)[step], gamma)
        for step, one in enumerate(sums)
    ]
    return np.array(found, float).reshape(-1, num_items)


def product_design(appearances: Scores) -> PairMatrix:
    """D_ij = u_i u_j with these sums of rows, all above 0, and a zero diagonal.

    >>> product_design(jnp.array([2.0, 2.0, 2.0])).round(3).tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    apart = 1 - jnp.eye(appearances.size, dtype=appearances.dtype)

    def nearer(_: object, factors: Scores) -> Scores:
        return jnp.sqrt(factors * appearances / product(apart, factors))

    factors = jax.lax.fori_loop(0, _AROUND, nearer, jnp.sqrt(appearances))
    return apart * factors[:, None] * factors


def shrunk_design(usual: PairMatrix, seen: PairMatrix, noise: Scalar) -> PairMatrix:
    """A product design moved towards pair counts with noise of this variance, as far as these scatter beyond it.

    The posterior mean where the scatter of each pair is in proportion to ``usual``, but at least a twentieth of that.

    >>> usual, seen = jnp.array([[0.0, 9.0], [9.0, 0.0]]), jnp.array([[0.0, 90.0], [90.0, 0.0]])
    >>> shrunk_design(usual, seen, 0.0)[0, 1] > 80, shrunk_design(usual, seen, 1e6)[0, 1] == 9
    (Array(True, dtype=bool), Array(True, dtype=bool))
    """
    scatter = jnp.sum((seen - usual) ** 2 - noise * (usual > 0) - usual) / jnp.sum(usual**2)
    apart = jnp.maximum(scatter, 0) * usual**2
    spread = jnp.where(usual > 0, apart + noise + usual, 1)
    return jnp.maximum(usual + apart / spread * (seen - usual), _LEAST * usual)
