r"""Leaderboards of rankings and approvals: totals of all ballots so far after each of T steps, under one promise.

**What is published.** Each user gives one ballot, at one step. It counts as a vector x: the Borda scores that it gives,
less (m-1)/2 each; or, of approvals, 1/2 for each item that is approved of and -1/2 for each other. X has a row per
step, the sum of its ballots, and the prefix sums of X are published with noise. How many users there are is needed
nowhere and stays private: an item is above 0 where it has more than half of all points that it could have.

**Sensitivity.** Let r be the largest norm of a ballot. Centered Borda scores of any ranking, with ties and gaps, lie in
a permutohedron about 0, whose vertices are farthest from it (head of :mod:`privrank_jax.aggregation.borda`), so r is
⌊m²/2⌋/2 in ℓ₁ and √(m(m²-1)/12) in ℓ₂. Approvals have entries ±1/2: r is m/2 and √m/2. Let c_t be column t of the
strategy C (:mod:`privrank_jax.privacy.prefix_sums`). The norm of a matrix c xᵀ over its entries is ‖c‖ ‖x‖ in either.

*Added or removed*: a ballot x at step s moves CX by c_s xᵀ, at most r max_t ‖c_t‖.
*Replaced* by a ballot x' at step t: CX moves by c_t x'ᵀ - c_s xᵀ, at most 2r max_t ‖c_t‖ by the triangle inequality. It
is attained at the step of the longest column, by a ranking and its reversal, or by approvals of some items and those of
the others. Ballots have negative entries, so rows of two steps may add up, and the factor is 2 in ℓ₂ too, not the √2 of
the nonnegative rows of comparisons; without centering it would be more than that.

A ballot that counts at no step, because it came too late for its own, is x = 0 and covered by both. The proof that
ballots may depend on what was published before is at the head of :mod:`privrank_jax.privacy.prefix_sums`: it asks no
more than a bound on what one user moves.
"""

from __future__ import annotations

import math

import jax.numpy as jnp

from privrank_jax._types import Key
from privrank_jax._validate import check_choice
from privrank_jax.aggregation.promise import ADDED, of_rankings
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.continual import StepsLike, noisy_stream
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

BALLOTS = ("borda", "approvals")


def continual_ballots(
    key: Key,
    totals: StepsLike,
    privacy: Privacy,
    *,
    ballots: str = "borda",
    noise: str = "gaussian",
    strategy: str | None = None,
) -> Estimate:
    """Noisy totals of all ballots so far after each of T steps, all of them together under one promise.

    **Guarantee.** (ε, δ)-DP for Gaussian noise, ε-DP for Laplace noise, for everything that is published in all T
    steps, unit user, adjacency replace or add-remove, whichever step a user's ballot falls into, and even where ballots
    depend on what was published before. Proof at the head of this module. T is public.

    Args:
        key: PRNG key.
        totals: ``(T, m)``, sums of the ballots that arrived in each step, not accumulated: of ``user_scores(ranks) - (m
            - 1) / 2``, or of approvals less 1/2. A user may be in one of them.
        privacy: what is promised for all steps together. ε = ∞ adds no noise; ε and δ may be traced.
        ballots: ``"borda"`` or ``"approvals"``.
        noise: ``"gaussian"`` at the δ of the promise, or ``"laplace"``.
        strategy: one of :data:`~privrank_jax.privacy.prefix_sums.STRATEGIES`; by default the one with the least
            largest error. Or of :data:`~privrank_jax.privacy.unbounded_sums.UNBOUNDED`: the T steps are then the first
            ones of any number, and the guarantee is for all that will ever be published.

    Returns:
        ``value``: noisy totals after each step, ``(T, m)``, high = preferred. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.continual.ContinualDiagnostics`.

    Raises:
        ValueError: a promise that can't be kept, Gaussian noise without δ, totals of another shape, unknown names.

    Source: ours; the strategies are those of :func:`~privrank_jax.pairwise.continual.continual_counts`.

    >>> import jax
    >>> promise = Privacy(2.0, unit="user", adjacency="replace", delta=1e-6)
    >>> totals = continual_ballots(jax.random.key(0), [[90.0, -90.0], [9.0, -9.0]], promise).value
    >>> totals.shape, bool(totals[1, 0] > totals[1, 1])
    ((2, 2), True)
    """
    attained = of_rankings(privacy, "continual_ballots", noise, kinds=ADDED)
    given = 1.0 * jnp.asarray(totals)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"totals must have shape (T, m), one row for each step, got {given.shape}."
        )
    first, second = (norm / 2 for norm in ballot_norms(ballots, given.shape[1]))
    moves = 1 if attained.adjacency == "add-remove" else 2
    changes = moves * first, moves * math.sqrt(second / 2)
    value, told = noisy_stream(key, given, attained, changes, noise, strategy)
    return Estimate(value, Guarantee(privacy, attained), told)


def ballot_norms(ballots: str, num_items: int) -> tuple[int, int]:
    """The largest ℓ₁ norm and the largest squared ℓ₂ norm of twice a ballot, whole numbers.

    Args:
        ballots: as for :func:`continual_ballots`.
        num_items: m.

    Raises:
        ValueError: unknown ballots, rankings of fewer than 2 items.

    >>> ballot_norms("borda", 3), ballot_norms("approvals", 3)
    ((4, 8), (3, 3))
    """
    check_choice("ballots", ballots, BALLOTS)
    if ballots == "approvals":
        return num_items, num_items
    if num_items < 2:
        raise ValueError("a ranking of fewer than 2 items has nothing to add up.")
    return num_items**2 // 2, num_items * (num_items**2 - 1) // 3
