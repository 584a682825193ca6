"""Ranking by noisy win totals: no model, and noise added once."""

from __future__ import annotations

import dataclasses
import functools

import jax

from privrank_jax._types import Key, Numbers, Scalar, Scores
from privrank_jax._validate import check_choice
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics, draw, kept_by_noise
from privrank_jax.privacy.privacy import COMPARISON_KINDS, Privacy


def totals_sensitivity(privacy: Privacy, norm: str = "l1") -> Numbers:
    """Sensitivity of the win totals N_i to one unit: in ℓ₁, 2 per changed comparison, 1 per added or removed one.

    A comparison adds 1 in all to the totals (a tie adds 1/2 twice), and a replaced comparison may add it at other
    items. So replacing or flipping L comparisons changes the totals by at most 2L, and adding or removing L by at
    most L. All three bounds are attained. In ℓ₂ it is √2 L and L.

    Args:
        privacy: what is promised: unit comparison, or user with ``contributions``; any adjacency.
        norm: ``"l1"`` for Laplace noise; ``"l2"`` for Gaussian noise.

    Raises:
        ValueError: users without ``contributions``, unit rank, an unknown norm.

    >>> users = Privacy(1.0, unit="user", adjacency="replace", contributions=15)
    >>> totals_sensitivity(users), totals_sensitivity(dataclasses.replace(users, adjacency="add-remove"))
    (30.0, 15.0)
    """
    check_choice("norm", norm, ("l1", "l2"))
    per_unit = privacy.comparisons_per_unit
    if privacy.adjacency == "add-remove":
        return 1.0 * per_unit
    change = 2.0 * per_unit
    return change if norm == "l1" else change / 2**0.5


def noisy_counts(
    key: Key,
    wins: WinCounts,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    calibration: str = "tight",
    sensitivity: Scalar | None = None,
) -> Estimate:
    """Win totals plus noise; sort them (``rankings.ranks_from_scores``) for a full ranking or a top-k set.

    **Guarantee.** The Laplace mechanism on the totals, of scale sensitivity/ε with the ℓ₁ sensitivity of
    :func:`totals_sensitivity`: ε-DP for the promised unit and adjacency, which everything computed from the value
    inherits. With Gaussian noise (ε, δ)-DP, calibrated to the ℓ₂ sensitivity.

    ``calibration="published"`` reproduces Cai, Algorithms 2 and 3: 2/ε for one comparison, L/ε for a
    user. The latter is unsound under replacement (one user moves the totals by 2L), and the guarantee
    says so: it carries 2ε.

    Args:
        key: PRNG key.
        wins: win counts of m items.
        privacy: what is promised: unit comparison or user, any adjacency. ε = ∞ adds no noise; ε, δ and
            ``contributions`` may be traced. Users need ``contributions`` (which must hold in the data) unless
            ``sensitivity`` is given.
        noise: ``"laplace"``, or ``"gaussian"`` at the δ of the promise.
        calibration: ``"tight"`` or ``"published"``.
        sensitivity: a smaller public sensitivity in the noise's norm, instead of the generic one (see
            :func:`~privrank_jax.pairwise.questionnaire_sensitivity`).

    Returns:
        ``value``: noisy totals, ``(m,)``, in wins, high = preferred (masked items: noise only).
        ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ or σ, public.

    Raises:
        ValueError: a promise that can't be kept, Gaussian noise without δ, users without ``contributions``,
            unknown names.

    Source: Cai, Chakraborty and Wang (2025), Algorithms 2 and 3, with the sensitivity corrected.

    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="comparison", adjacency="replace")
    >>> totals = noisy_counts(jax.random.key(0), wins, promise).value
    >>> bool(totals[0] > totals[1])
    True
    """
    attained = kept_by_noise(noise, privacy, "noisy_counts", *COMPARISON_KINDS)
    check_choice("calibration", calibration, ("tight", "published"))
    note = ""
    if calibration == "published":
        if noise != "laplace" or sensitivity is not None:
            raise ValueError(
                "the published calibration has Laplace noise and its own sensitivity: leave out noise and "
                "sensitivity, or use calibration='tight'."
            )
        users = attained.unit == "user"
        scale = (attained.comparisons_per_unit if users else 2.0) / attained.epsilon
        if users and attained.adjacency != "add-remove":
            attained = dataclasses.replace(attained, epsilon=2 * attained.epsilon)
            note = "published as epsilon, but proven only for twice that."
    elif sensitivity is None:
        sensitivities = totals_sensitivity(attained), totals_sensitivity(attained, "l2")
        scale = additive_scale(noise, attained, *sensitivities)
    else:
        scale = additive_scale(noise, attained, sensitivity, sensitivity)
    value = _noisy_totals(key, wins, scale, noise)
    return Estimate(value, Guarantee(privacy, attained, note=note), NoiseDiagnostics(scale))


@functools.partial(jax.jit, static_argnames=("noise",))
def _noisy_totals(key: Key, wins: WinCounts, scale: Scalar, noise: str) -> Scores:
    totals = wins.totals
    return totals + draw(key, noise, totals.shape, scale, totals.dtype)
