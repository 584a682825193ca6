r"""Losses for preference labels privatized by randomized response: training under label privacy.

A model scores two candidates, s = s_A - s_B is the difference, y = 1 if the user prefers A. With the true label the
logistic loss is -log σ(s) if y = 1 and -log σ(-s) if y = 0. The user sends a report ỹ instead, flipped with
probability q = 1/(1 + e^ε) for a personal ε, which makes it ε-locally private *per label*. With t = (2ỹ - 1)s, the
difference in the direction of the report, :func:`preference_loss` equals

.. math:: \frac{(1 - q)\,ℓ(t) - q\,ℓ(-t)}{1 - 2q} = ℓ(t) - \frac{t}{e^{ε} - 1}, \qquad ℓ(t) = -\log σ(t),

whose mean over the flip is the loss with the true label, for every s; the same holds for its gradient. The second
form (from ℓ(-t) = ℓ(t) + t) is the one computed: randomized response adds a *linear* correction to the logistic
loss. This form neither suffers cancellation for small ε nor overflows for large ε.

**Variance over the flip**: s²/(4 sinh²(ε/2)) of the loss and 1/(4 sinh²(ε/2)) of its derivative in s, whatever the
label. With personal ε, weight the examples by :func:`~privrank_jax.privacy.report_information`, tanh²(ε/2), as the
adaptive weights of Xu and others do; the weighted loss is unbiased for the equally weighted loss of the true labels.

**Unbounded below**: for t → ∞ the loss tends to -∞. A model flexible enough to fit every report separately drives
it there; small models, early stopping, or :func:`clipped_preference_loss` prevent this.

**In TRL** (Hugging Face) this is ``DPOConfig(loss_type="robust", label_smoothing=q)`` with one q for all examples; s
is then β times the difference of the log-ratios. :func:`label_smoothing` gives q for an ε. The same
``label_smoothing`` with ``loss_type="sigmoid"`` is another loss, (1 - q)ℓ(t) + qℓ(-t) (conservative DPO, cDPO),
which is biased: it shrinks scores that the flips have already shrunk.

Sources: Natarajan, Dhillon, Ravikumar, Tewari (2013), Learning with noisy labels, Lemma 1; Chowdhury, Kini, Natarajan
(2024), Provably robust DPO (arXiv 2403.00409); the debiasing is equation (3) of Xu, Sun, Cheng, Rate-optimal rank
aggregation with private pairwise rankings. TRL: docs/source/dpo_trainer.md.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Numbers, NumbersLike, ReportsLike, Scalar
from privrank_jax._validate import check_epsilon, check_positive
from privrank_jax.privacy.local import check_reports, flip_probability, report_values

CLIP = 4.0


def label_smoothing(epsilon: Numbers) -> Float[Array, "..."]:
    """``flip_probability(epsilon)``, 1/(1 + e^ε), under the name that users of TRL know.

    Pass it as ``DPOConfig(loss_type="robust", label_smoothing=...)`` to train with TRL on labels
    privatized at ε. With ``loss_type="sigmoid"`` the same number selects another loss, which is biased (see the
    module docstring).

    Args:
        epsilon: ε > 0, any shape; ∞ gives 0.

    Returns:
        Probability in [0, 1/2), shape and float dtype of ``epsilon``.

    Raises:
        ValueError: ε not positive.

    >>> round(float(label_smoothing(1.0)), 4)
    0.2689
    """
    return flip_probability(epsilon)


def preference_loss(
    score_difference: NumbersLike, reports: ReportsLike, epsilon: NumbersLike
) -> Float[Array, "..."]:
    """Per-example logistic loss from privatized labels, unbiased for the loss with the true labels.

    Elementwise and pure: use it under ``jit``, ``vmap``, ``grad`` and any optimizer. Its mean over
    the flip is -log σ(s) for label 1 and -log σ(-s) for label 0, exactly, and so is its gradient.
    It can be negative, and is unbounded below (the module docstring gives its variance and remedies).

    Args:
        score_difference: s, score of candidate A less that of B, finite, any shape; its float dtype is
            that of the result.
        reports: ỹ, 0 or 1 (or bool), or -1 or 1: 1 means that A is preferred, 0 and -1 that B is. Broadcasts.
        epsilon: ε > 0 at which each label was randomized; broadcasts, may be traced. ∞ means no randomization: the
            plain logistic loss.

    Returns:
        The loss of each example, broadcast shape. Average them, weighted by tanh²(ε/2) if ε varies. When traced, an
        invalid report gives NaN.

    Raises:
        ValueError: ε not positive, other reports, or 0 beside -1 (not checked when traced).

    >>> s, q = 0.7, label_smoothing(1.0)
    >>> mean = (1 - q) * preference_loss(s, 1, 1.0) + q * preference_loss(s, 0, 1.0)
    >>> round(float(mean), 5), round(float(preference_loss(s, 1, jnp.inf)), 5)
    (0.40319, 0.40319)
    """
    toward, odds = _toward_report(score_difference, reports, epsilon)
    return jax.nn.softplus(-toward) - toward * odds


def clipped_preference_loss(
    score_difference: NumbersLike, reports: ReportsLike, epsilon: NumbersLike, clip: Scalar = CLIP
) -> Float[Array, "..."]:
    r"""The unbiased loss with its correction clipped: less variance, bounded below, **biased**.

    ℓ(t) - clip(t, -c, c)/(e^ε - 1). Where \|s\| <= c it is :func:`preference_loss`. Outside that range, its mean
    over the flip exceeds the true loss by q(u - clip(u, -c, c)), u = s for label 1 and -s for label 0: too high for
    scores that agree with the label, too low for those that don't. Its gradient there is that of the loss which
    treats reports as labels, so the bias pulls large differences toward 0: scores whose true difference exceeds c
    are estimated too close together.

    Variance over the flip: q(1 - q)(\|s\| + 2 min(\|s\|, c)/(e^ε - 1))² of the loss; of its derivative,
    q(1 - q) where \|s\| > c, by a factor tanh²(ε/2) less. Bounded below by -c/(e^ε - 1).

    Args:
        score_difference: s, any shape.
        reports: ỹ, coded as for :func:`preference_loss`; broadcasts.
        epsilon: ε > 0; broadcasts.
        clip: c > 0; ∞ gives :func:`preference_loss`. Choose it above the differences you expect: the default 4
            corresponds to a preference of 98%.

    Returns:
        The loss of each example, broadcast shape.

    Raises:
        ValueError: as :func:`preference_loss`; clip not positive.

    >>> float(clipped_preference_loss(3.0, 1, 1.0)) == float(preference_loss(3.0, 1, 1.0))
    True
    >>> float(clipped_preference_loss(30.0, 1, 1.0)) > float(preference_loss(30.0, 1, 1.0))
    True
    """
    check_positive("clip", clip)
    toward, odds = _toward_report(score_difference, reports, epsilon)
    clip = jnp.asarray(clip, toward.dtype)
    return jax.nn.softplus(-toward) - jnp.clip(toward, -clip, clip) * odds


def _toward_report(
    score_difference: NumbersLike, reports: ReportsLike, epsilon: NumbersLike
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """t = (2ỹ - 1)s and 1/(e^ε - 1), in the dtype of s."""
    check_epsilon(epsilon)
    check_reports(reports)
    difference = _as_float(score_difference)
    sign = 2 * report_values(reports, difference.dtype) - 1
    epsilon = jnp.asarray(epsilon).astype(difference.dtype)
    # Not 1/expm1(ε), whose derivative at large ε is ∞/∞.
    odds = jnp.exp(-epsilon) / -jnp.expm1(-epsilon)
    return sign * difference, odds


def _as_float(x: NumbersLike) -> Float[Array, "..."]:
    x = jnp.asarray(x)
    return x.astype(jnp.result_type(x, float))
