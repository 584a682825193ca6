r"""Weights of all pairs, or Borda scores, from one randomized report of each user's vector: local, not interactive.

**Weights** (Reduction I). A user holds the vector v of N = m(m-1)/2 entries, one per pair i < j in row order: +1 where
i is ranked first, -1 where j, 0 for a tie or an unknown pair. So w_ij = (1 + mean v_ij)/2, and ‖v‖₂ ≤ √N, with equality
for full rankings. The user sends v by an ℓ₂ mechanism of radius √N at ε (``"duchi"``, ``"privunit"``; see
:mod:`privrank_jax.privacy.vectors`), or each entry by randomized response at ε/N, divided by t = tanh(ε/(2N)): it is
reported as +1 with probability (1 + t v_ij)/2, of loss at most ε/N between any two values of v_ij in {-1, 0, 1}.

All three are ε-local DP under any change of the ranking: for randomized response by composition, and a ranking and its
reversal attain ε.

*Error.* Reports are unbiased, so w̃_ij = (1 + mean report)/2 is unbiased too. For full rankings its variance, given the
data, is (B²/N - 1)/(4n) at *every* pair, B the norm of a report: E zzᵀ is rotation symmetric around v/‖v‖, whose
entries are ±1/√N, so its diagonal is even. For randomized response B² = N/t². Where users tie pairs or leave them
unknown, 1 becomes the mean of v_ij². Duchi's variance is of order N/(nε²), that of randomized response N²/(nε²). The
order of a few items (:mod:`~privrank_jax.aggregation.sub_rankings`) has less error than all three from 3 items on.

**Borda scores.** A user sends the centered scores x - (m-1)/2, m numbers that sum to 0, by an ℓ₂ mechanism. They lie in
the ball of radius √(m(m²-1)/12), on whose surface full rankings lie, and the dimension that counts for the error is
m - 1. The mean of the reports, shifted by (m-1)/2, is unbiased for the scores; the mean squared error of a report is B²
less the square of the centered scores. Two sets of items (:mod:`~privrank_jax.aggregation.subset_selection`) have less
error for up to 20 items at ε <= 5, and are drawn exactly.

Sources: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorem 8 and Lemma 17, on ±1 in place of {0, 1}: half the norm.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Count, Epsilon, Key, PairMatrix, RankingsLike
from privrank_jax._validate import check_choice, check_epsilon, check_users
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.borda import user_scores
from privrank_jax.aggregation.counting import gaps_last
from privrank_jax.aggregation.diagnostics import ReportDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import ranks_of_users
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.local import Local
from privrank_jax.privacy.local import randomized_response
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.vectors import VECTOR_MECHANISMS, report_norm

_MECHANISMS = (*VECTOR_MECHANISMS, "randomized-response")


def reports_on_ranks(ranks: RankingsLike, *, missing: str = "last") -> tuple[Array, Facts]:
    """How mechanisms read what users report on: ranks of two items at least; the rule for gaps is public."""
    given = ranks_of_users(ranks, missing)
    users, items = given.shape
    if items < 2:
        raise ValueError("a ranking of fewer than 2 items has nothing to report.")
    return given, Facts(items, users, rules=(missing,))


_PROMISE = """**Guarantee.** ε-DP in the local model, unit user, adjacency replace, and whatever these cover; proof at
    the head of :mod:`{}`.

    Of ranks ``(n, m)``, integers, 0 = best, m from 2{}; equal ranks are ties, negative ones items not ranked, by
    ``missing="last"`` or ``"unknown"`` as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.
"""

# --- weights -----------------------------------------------------------------------------------------


def local_weight_variance(
    num_items: int, num_users: Count, epsilon: Epsilon, mechanism: str = "duchi"
) -> Float[Array, ...]:
    """Variance of one weight given n full rankings, (B²/N - 1)/(4n); the same at every pair."""
    check_choice("mechanism", mechanism, _MECHANISMS)
    epsilon = check_epsilon(epsilon)
    check_users(num_users)
    pairs = math.comb(num_items, 2)
    if mechanism == "randomized-response":
        share = 1 / jnp.square(jnp.tanh(0.5 * jnp.asarray(epsilon) / pairs))
    else:
        share = jnp.square(report_norm(mechanism, pairs, epsilon))  # of radius 1, so B²/N
    return jnp.maximum(share - 1, 0) / (4 * num_users)


def weights_of_mean(mean: Float[Array, " pairs"], num_items: int) -> PairMatrix:
    """Unbiased weights w̃ from the mean of all reports.

    Args:
        mean: ``(m(m-1)/2,)``.
        num_items: m.

    Returns:
        ``(m, m)``, w̃_ij + w̃_ji = 1; diagonal 0.

    >>> weights_of_mean(jnp.array([0.5]), 2).tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """
    weights = 0.5 + 0.5 * mean
    first, second = np.triu_indices(num_items, 1)
    empty = jnp.zeros((num_items, num_items), weights.dtype)
    return empty.at[first, second].set(weights).at[second, first].set(1 - weights)


@functools.partial(jax.jit, static_argnames=("missing",))
def _pair_signs(ranks: Array, missing: str) -> Array:
    """v, in JAX's default float."""
    first, second = np.triu_indices(ranks.shape[-1], 1)
    known, ranks = gaps_last(ranks)
    left, right = ranks[..., first], ranks[..., second]
    signs = (left < right).astype(jnp.int8) - (left > right).astype(jnp.int8)
    if missing == "unknown":
        signs = jnp.where(known[..., first] & known[..., second], signs, 0)
    return signs.astype(jnp.result_type(float))


def _send_signs(key: Key, ranks: Array, epsilon: Any, facts: Facts, mechanism: str) -> Array:
    signs, pairs = _pair_signs(ranks, *facts.rules), math.comb(facts.num_items, 2)
    if mechanism != "randomized-response":
        return VECTOR_MECHANISMS[mechanism](key, signs, epsilon, pairs**0.5)
    coin_key, report_key = jax.random.split(fused(key))
    # A tie answers by a fair coin, and so reports +1 with probability 1/2.
    coins = jax.random.bernoulli(coin_key, 0.5, signs.shape)
    bits = jnp.where(signs == 0, coins, signs > 0)
    told = randomized_response(report_key, bits, epsilon / pairs)
    reports = jnp.where(told, 1, -1) / jnp.tanh(0.5 * epsilon / pairs)
    return jnp.where(jnp.isinf(epsilon), signs, reports)


def _weights_by(name: str, mechanism: str, words: str) -> Local:
    def spread(epsilon: Any, facts: Facts) -> Array:
        variance = local_weight_variance(facts.num_items, facts.num_users, epsilon, mechanism)
        return jnp.sqrt(variance)

    def finish(total: Array, epsilon: Any, facts: Facts) -> tuple[Array, NoiseDiagnostics]:
        value = weights_of_mean(total / facts.num_users, facts.num_items)
        return value, NoiseDiagnostics(spread(epsilon, facts))

    return Local(
        name,
        f"""Unbiased weights of all pairs from one report of each user, by {words}.

    {_PROMISE.format(__name__, "")}
    ``value``: ``(m, m)``, w̃_ij + w̃_ji = 1, diagonal 0; entries may lie outside [0, 1]. ``diagnostics``:
    :class:`~privrank_jax.privacy.noise.NoiseDiagnostics` with ``scale``, the standard deviation of one weight given
    full rankings. ``report`` gives ``(m(m-1)/2,)`` numbers of one user, pairs in row order.

    >>> from privrank_jax.privacy import Privacy
    >>> ranks, privacy = jnp.tile(jnp.arange(3), (4000, 1)), Privacy(2.0, unit="user", adjacency="replace")
    >>> w = {name}(jax.random.key(0), ranks, privacy).value
    >>> bool(w[0, 1] > 0.5), bool(w[0, 1] + w[1, 0] == 1.0)
    (True, True)
    """,
        of_rankings,
        reports_on_ranks,
        functools.partial(_send_signs, mechanism=mechanism),
        finish,
        spread,
        tally=lambda reports, real, *_: jnp.sum(jnp.where(real[:, None], reports, 0), axis=0),
        width=lambda facts: math.comb(facts.num_items, 2),
    )


local_weights = _weights_by("local_weights", "duchi", "Duchi's mechanism for vectors")
local_weights_privunit = _weights_by("local_weights_privunit", "privunit", "PrivUnit")
local_weights_rr = _weights_by(
    "local_weights_rr", "randomized-response", "randomized response of each pair at ε/N"
)

# --- Borda scores --------------------------------------------------------------------------------------


def score_radius(num_items: int) -> float:
    """√(m(m²-1)/12), the norm of the centered scores of a full ranking, the largest of any user."""
    return math.sqrt(num_items * (num_items**2 - 1) / 12)


def centered_scores(ranks: Array, facts: Facts) -> Array:
    """The scores of each user less their middle."""
    (missing,) = facts.rules
    return user_scores(ranks, missing=missing) - (facts.num_items - 1) / 2


def borda_by(
    name: str,
    words: str,
    send: Callable[[Key, Array, Any, Facts], Array],
    norm: Callable[[Epsilon, Facts], Array],
    exact: Callable[[np.ndarray, Privacy, Facts], tuple[Any, np.ndarray]] | None = None,
    proof: str = "privrank_jax.privacy.vectors",
    most: str = "",
) -> Local:
    """A record of scores from reports of one norm: (ε, facts) -> B, its scale."""

    def tune(epsilon: Any, facts: Facts) -> tuple[Any, Array]:
        return epsilon, norm(epsilon, facts)

    return Local(
        name,
        f"""Borda scores from one report of each user, by {words}.

    {_PROMISE.format(proof, most)}
    ``value``: unbiased scores ``(m,)``, in items beaten, high = preferred. ``diagnostics``:
    :class:`~privrank_jax.aggregation.diagnostics.ReportDiagnostics`. ``report`` gives the centered scores of one user,
    randomized; ``scale`` is B, the norm of a report.

    >>> import jax
    >>> from privrank_jax.privacy import Privacy
    >>> ranks, privacy = jnp.tile(jnp.arange(3), (4000, 1)), Privacy(5.0, unit="user", adjacency="replace")
    >>> scores = {name}(jax.random.key(0), ranks, privacy).value
    >>> bool(scores[0] > scores[1] > scores[2])
    True
    """,
        of_rankings,
        reports_on_ranks,
        send,
        _mean_scores,
        norm,
        tune=tune,
        exact=exact,
    )


def _mean_scores(reports: Any, tuned: Any, facts: Facts) -> tuple[Any, ReportDiagnostics]:
    """Scores from reports of norm ``tuned[1]``, and how far they vary."""
    xp: Any = np if isinstance(reports, np.ndarray) else jnp
    users, items = reports.shape
    value = xp.mean(reports, axis=0) + (items - 1) / 2
    spread = xp.std(reports, axis=0, ddof=1) if users > 1 else xp.full(items, xp.inf)
    return value, ReportDiagnostics(tuned[1], spread / users**0.5)


def _scores_by(name: str, mechanism: str, words: str) -> Local:
    def send(key: Key, ranks: Array, tuned: Any, facts: Facts) -> Array:
        radius, scores = score_radius(facts.num_items), centered_scores(ranks, facts)
        return VECTOR_MECHANISMS[mechanism](key, scores, tuned[0], radius, zero_sum=True)

    def norm(epsilon: Epsilon, facts: Facts) -> Array:
        return report_norm(mechanism, facts.num_items - 1, epsilon, score_radius(facts.num_items))

    return borda_by(name, words, send, norm)


ldp_borda = _scores_by("ldp_borda", "duchi", "the mechanism of Duchi, Jordan and Wainwright")
ldp_borda_privunit = _scores_by("ldp_borda_privunit", "privunit", "PrivUnit")
