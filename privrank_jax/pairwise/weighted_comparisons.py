r"""Weighted comparisons under privacy: weights with a public bound, in units of that bound, on a public grid.

An arena that shows some pairs more often than others weights each comparison by 1 divided by the probability of its
pair, so that scores are those of pairs shown equally often. How much one comparison can move a weighted fit has a bound
only if weights have one. Let weights be at most W, which is known without looking at the data, and count in units of W:
a comparison counts w in [0, 1]. The minimizer is the same, and so is what one comparison can do at most:

**Theorem.** *What* :mod:`privrank_jax.pairwise.perturbed_fit` *proves of objective perturbation, with its noise and its
least ridge, holds for weighted comparisons in units of W. Under replacement and addition or removal a unit may change
weights as well; under flips weights are public.*

*Proof.* Notation as there. A comparison contributes the gradient -w s(x)(e_i - e_j) and the curvature w c(x), in [0,
κ₂]: each bound of the noise term and of the log-determinant term holds with the factor w ≤ 1, and a change of a
weight is a removal and an addition. Logistic link, Laplace noise, γ ≥ λ: what an added comparison costs is at most
2w(1 - p)/λ + log(1 + 2wp(1 - p)/γ) ≤ (2w/λ)(1 - p + p(1 - p)) = (2w/λ)(1 - p²) ≤ 2/λ; a flip leaves the curvature w
c(x) as it is. Gaussian noise: w a_l takes the place of a_l, in [0, A] too, and k stays; a flip at weight w shifts by
w, which is constant, and no farther than at weight 1. Logistic link, γ ≥ 2k/ε: the share of a comparison that leaves
is at most w times the largest value of a(X_l + k)/σ² + 2a(1 - a)/γ over a in [0, 1]. Where the slope at a = 1 is at
least 0, that is w(X_l + k)/σ² ≤ (X_l + k)/σ², as X_l + k > 0; otherwise it is at most 2w/γ ≤ ε/k. ∎

In units of the weights themselves noise and ridge are W times as large: λ = 4WL/ε for users of L comparisons under
replacement. So W is to be small: most weights should be near it. Weights above W count as W, which biases scores
towards pairs that are shown often.

Weights are rounded down to multiples of 2^-10 W, so that the exact release
(:data:`~privrank_jax.pairwise.perturbed_mle`) has whole numbers to start from. Bounding and rounding look at one
row at a time, so neighbors stay neighbors.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._counting import WeightsLike
from privrank_jax._types import Scalar
from privrank_jax._validate import check_positive, in_floats, is_traced

WEIGHT_STEPS = 1024  # to the largest weight


def bounded_weights(weights: WeightsLike, most: Scalar) -> Float[Array, "rows"]:
    """Weights in units of a public bound, on a public grid: what each comparison counts in a private fit.

    Args:
        weights: ``(N,)``, at least 0.
        most: W > 0, known without looking at the data; larger weights count as W.

    Returns:
        ``(N,)`` float in [0, 1], multiples of 2^-10: for ``weights`` of
        :meth:`~privrank_jax.comparisons.WinCounts.from_comparisons`, and then
        :func:`~privrank_jax.pairwise.perturbed_mle` with ``weighted=True``.

    Raises:
        ValueError: negative weights, weights that are no finite numbers, a bound that is not positive and finite.

    >>> bounded_weights([0.5, 4.0, 99.0], 8.0).tolist()
    [0.0625, 0.5, 1.0]
    """
    check_positive("most", most, infinite=False)
    if not is_traced(weights):
        given = np.asarray(weights)
        if given.ndim != 1 or not np.all(np.isfinite(given) & (given >= 0)):
            raise ValueError("weights must be finite, at least 0, and of shape (N,).")
    share = jnp.minimum(jnp.asarray(in_floats("weights", weights)) / most, 1.0)
    return jnp.floor(share * WEIGHT_STEPS) / WEIGHT_STEPS
