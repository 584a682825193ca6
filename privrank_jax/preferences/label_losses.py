r"""Losses for preference labels privatized by randomized response: training under label privacy.

A model scores two candidates, s = s_A - s_B is the difference, y = 1 if the user prefers A. The user sends a report ỹ
instead of y, flipped with probability q = 1/(1 + e^ε) for a personal ε, which makes it ε-locally private *per label*.
Let t = (2ỹ - 1)s be the difference in the direction of the report, o = q/(1 - 2q) = 1/(e^ε - 1), and
ℓ(t) = -log σ(t) the logistic loss.

============================ ============================== ======== ======== ===================== =================
loss of one report           formula                        unbiased convex   bounds                slope in s, at most
============================ ============================== ======== ======== ===================== =================
:func:`debiased_loss`        ℓ(t) - o t                     yes      yes      none                  1 + o
:func:`square_loss`          σ(-t)² - o tanh(t/2)           yes      no       -o to 1 + o           8/27 + o/2
:func:`likelihood_loss`      -log((1-q)σ(t) + qσ(-t))       no       no       0 to log(1 + e^ε)     tanh(ε/4)
============================ ============================== ======== ======== ===================== =================

**Unbiased** means that the mean over the flip is the loss of the true label, at every s, and so is the mean of the
gradient. A loss L(s, y) becomes unbiased by :math:`(1 + o)L(s, ỹ) - o\,L(s, 1-ỹ)`; for the logistic loss and for the
square loss (y - σ(s))² that is the formula in the table, which neither suffers cancellation for small ε nor overflows
for large ε. The variance over the flip, whatever the label, is s²/(4 sinh²(ε/2)) and tanh²(s/2)/(4 sinh²(ε/2)).

**Which one.** Begin with the likelihood loss, whose slopes stay below 1 however small ε is. It is that of the report
under the model: where the model's probabilities are right it is efficient, and its minimizer is the true s; where they
are not, it need not agree with the loss of the true labels, and the square loss does.

The debiased loss is convex in s, and its minimizer over many labels is the one of the true labels even where no model
is right. But its variance is the largest, and a model flexible enough to fit every report separately drives it to -∞ (t
→ ∞). On a few thousand labels at ε = 1, a linear model of five weights can do so. Keep it for small, regularized
models. (notebooks/labels.md has measured slopes.)

**Personal ε.** Weight the examples of the debiased and the square loss by tanh²(ε/2)
(:func:`~privrank_jax.privacy.report_information`), as the adaptive weights of Xu and others do; the weighted loss is
unbiased for the equally weighted loss of the true labels. For the square loss these are the weights of least squares:
tanh²(ε/2) times the loss is (ỹ - (1-q)σ(s) - qσ(-s))² less a constant. The likelihood needs no weights.

**Precision.** Losses are computed in float32 at least: scores in bfloat16 or float16 give losses in float32, and
gradients in the dtype of the scores. In half precision o t would keep two to three digits of a difference of large
numbers, and the mean of a batch would lose more.

**In TRL** (Hugging Face) the debiased loss is ``DPOConfig(loss_type="robust", label_smoothing=q)`` with one q for all
examples; s is then β times the difference of the log-ratios. :func:`label_smoothing` gives q for an ε. ``loss_type``
must be said: with ``"sigmoid"``, the default, the same ``label_smoothing`` is another loss. Up to TRL 0.28 it is (1 -
q)ℓ(t) + qℓ(-t) (conservative DPO, cDPO), which is biased: it shrinks scores that the flips have already shrunk.

**From TRL 0.29 on, "sigmoid" ignores label_smoothing without a warning**, and trains on the flipped labels as if they
were true. Told one q where ε is personal, the robust loss corrects some labels too little and others too much.

Sources: Natarajan, Dhillon, Ravikumar, Tewari (2013), Learning with noisy labels, Lemma 1; Chowdhury, Kini, Natarajan
(2024), Provably robust DPO (arXiv 2403.00409); the debiasing is equation (3) of Xu, Sun, Cheng, Rate-optimal rank
aggregation with private pairwise rankings; likelihood and square loss: Improved bounds for private and robust alignment
(arXiv 2512.23816). TRL: trl/trainer/dpo_trainer.py; "robust" is the same formula in the releases that were compared,
0.9.6, 0.28.0, 0.29.0 and 1.0.0 to 1.9.0, and agreed to 4e-15 where it was run (0.29.0, 1.0.0, 1.9.0, 1.16.0, in all of
which "sigmoid" ignored label_smoothing). The simplified forms, slopes and variances are ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Numbers, NumbersLike, ReportsLike
from privrank_jax.preferences.loss_arguments import as_scores, check_fits, toward_report
from privrank_jax.privacy.local import flip_probability

_Pair = tuple[Float[Array, "..."], Float[Array, "..."]]


def label_smoothing(epsilon: Numbers) -> Float[Array, "..."]:
    """``flip_probability(epsilon)``, 1/(1 + e^ε), under the name that users of TRL know.

    Pass it as ``DPOConfig(loss_type="robust", label_smoothing=...)`` to train with TRL on labels
    privatized at ε. **Say** ``loss_type="robust"``: with ``"sigmoid"``, TRL's default, the number selects another
    loss up to TRL 0.28, which is biased, and from 0.29 on it is ignored without a warning (see the head of this
    module).

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


def debiased_loss(
    score_difference: NumbersLike,
    reports: ReportsLike,
    epsilon: NumbersLike,
    *,
    coding: str | None = None,
) -> Float[Array, "..."]:
    """Per-example logistic loss from privatized labels, unbiased for the loss with the true labels.

    Elementwise and pure: use it under ``jit``, ``vmap``, ``grad``, on sharded arrays and with any optimizer. Its mean
    over the flip is -log σ(s) for label 1 and -log σ(-s) for label 0, exactly, and so is its gradient.
    It can be negative, and is unbounded below (the module docstring gives its variance and remedies).

    Args:
        score_difference: s, score of candidate A less that of B, finite, any shape; of a network whose output is
            ``(n, 1)``, pass ``scores[..., 0]``.
        reports: ỹ, 0 or 1 (or bool), or -1 or 1: 1 means that A is preferred, 0 and -1 that B is. Broadcasts to s.
        epsilon: ε > 0 at which each label was randomized; broadcasts to s, may be traced. ∞ means no randomization:
            the plain logistic loss.
        coding: ``"0/1"`` or ``"-1/1"``: the two values that reports may have. ``None`` takes either coding; then a 0
            that stands for a tie beside -1 and 1 is refused, but where reports are traced it counts as B.

    Returns:
        The loss of each example, shape of s, float32 or float64 as ``score_difference``. Average them, if ε varies
        with the weights :func:`~privrank_jax.privacy.report_information`, tanh²(ε/2). When traced, an invalid report or
        ε gives NaN.

    Raises:
        ValueError: ε not positive, reports that are not in the coding, or 0 beside -1 (not checked when traced);
            reports or ε of a shape that does not broadcast to that of s.

    >>> s, q = 0.7, label_smoothing(1.0)
    >>> mean = (1 - q) * debiased_loss(s, 1, 1.0) + q * debiased_loss(s, 0, 1.0)
    >>> round(float(mean), 5), round(float(debiased_loss(s, 1, jnp.inf)), 5)
    (0.40319, 0.40319)
    """
    return _debiased(*toward_report(score_difference, reports, epsilon, coding))


@functools.partial(jax.jit, inline=True)
def _debiased(toward: Array, odds: Array) -> Array:
    return jax.nn.softplus(-toward) - toward * odds


def square_loss(
    score_difference: NumbersLike,
    reports: ReportsLike,
    epsilon: NumbersLike,
    *,
    coding: str | None = None,
) -> Float[Array, "..."]:
    """Square loss of the probability σ(s), unbiased for (y - σ(s))² of the true label, and bounded.

    σ(-t)² - tanh(t/2)/(e^ε - 1), between -1/(e^ε - 1) and 1 + 1/(e^ε - 1). Not convex in s, and flat where the model is
    sure of itself: start from small scores.

    Arguments and errors: as for :func:`debiased_loss`.

    Returns:
        The loss of each example, as :func:`debiased_loss`; average them with the same weights,
        :func:`~privrank_jax.privacy.report_information`, if ε varies.

    >>> s, q = 0.7, label_smoothing(1.0)
    >>> mean = (1 - q) * square_loss(s, 1, 1.0) + q * square_loss(s, 0, 1.0)
    >>> round(float(mean), 5), round(float(jax.nn.sigmoid(-s)) ** 2, 5)
    (0.1101, 0.1101)
    """
    toward, odds = toward_report(score_difference, reports, epsilon, coding)
    return _compiled_square(toward, odds)


@jax.custom_jvp
def _square(toward: Array, odds: Array) -> Array:
    return jnp.square(jax.nn.sigmoid(-toward)) - jnp.tanh(0.5 * toward) * odds


@_square.defjvp
def _square_jvp(primals: _Pair, tangents: Any) -> _Pair:
    """Slope -2σ(t)σ(-t)(σ(-t) + o) in t: the traced one subtracts tanh² from 1."""
    toward, odds = primals
    agree, miss = jax.nn.sigmoid(toward), jax.nn.sigmoid(-toward)
    slope = -2 * agree * miss * (miss + odds)
    change = slope * tangents[0] - jnp.tanh(0.5 * toward) * tangents[1]
    return _square(toward, odds), change


_compiled_square = jax.jit(_square, inline=True)


def likelihood_loss(
    score_difference: NumbersLike,
    reports: ReportsLike,
    epsilon: NumbersLike,
    *,
    coding: str | None = None,
) -> Float[Array, "..."]:
    r"""Minus the log-likelihood of the report, the flip included: -log((1-q)σ(t) + qσ(-t)).

    Between 0 and log(1 + e^ε), with slopes of at most tanh(ε/4) in s. Not unbiased for the loss of the true label;
    where the model's probabilities σ(s) are right, the expected loss is least at the true s, and the minimizer is
    efficient. Not convex in s.

    Arguments and errors: as for :func:`debiased_loss`.

    Returns:
        The loss of each example, as :func:`debiased_loss`. Average them without weights, also if ε varies.

    >>> round(float(likelihood_loss(0.7, 1, 1.0)), 5), round(float(likelihood_loss(-1e6, 1, 1.0)), 5)
    (0.54866, 1.31326)
    """
    toward, _ = toward_report(score_difference, reports, epsilon, coding)
    return _compiled_likelihood(toward, jnp.asarray(epsilon, toward.dtype))


@jax.custom_jvp
def _report_likelihood(toward: Array, epsilon: Array) -> Array:
    kept = jax.nn.log_sigmoid(epsilon) + jax.nn.log_sigmoid(toward)
    flipped = jax.nn.log_sigmoid(-epsilon) + jax.nn.log_sigmoid(-toward)
    return -jnp.logaddexp(kept, flipped)


@_report_likelihood.defjvp
def _report_likelihood_jvp(primals: _Pair, tangents: Any) -> _Pair:
    """Slope -tanh(ε/2)/(1 + (1-q)e^t + qe^-t) in t, which does not cancel for small ε as the traced one does."""
    toward, epsilon = primals
    value = _report_likelihood(toward, epsilon)
    kept, flipped = jax.nn.log_sigmoid(epsilon), jax.nn.log_sigmoid(-epsilon)
    odds = jnp.exp(kept + toward) + jnp.exp(flipped - toward)
    slope = -jnp.tanh(0.5 * epsilon) / (1 + odds)
    in_epsilon = -jnp.tanh(0.5 * toward) * jnp.exp(value + kept + flipped)  # -q(1-q)tanh(t/2)/P
    return value, slope * tangents[0] + in_epsilon * tangents[1]


_compiled_likelihood = jax.jit(_report_likelihood, inline=True)


LOSSES: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        "debiased": debiased_loss,
        "square": square_loss,
        "likelihood": likelihood_loss,
    }
)


def soft_label_loss(score_difference: NumbersLike, labels: NumbersLike) -> Float[Array, "..."]:
    """Logistic loss y ℓ(s) + (1 - y) ℓ(-s) of labels that are numbers: shares of votes, or unbiased estimates.

    It is linear in the label, so that any unbiased estimate of y makes it unbiased: a share of judges, the
    probability that a judge states, or the mean of several debiased reports on one pair
    (:func:`~privrank_jax.privacy.local.debias`), which may lie outside [0, 1]. With one debiased report it is
    :func:`debiased_loss`.

    Args:
        score_difference: s, any shape.
        labels: y, finite, 1 where A is preferred; broadcasts to s.

    Returns:
        The loss of each example, shape of s, float32 or float64 as ``score_difference``.

    Raises:
        ValueError: labels of a shape that does not broadcast to that of s.

    >>> round(float(soft_label_loss(0.7, 0.75)), 5)
    0.57819
    """
    check_fits(score_difference, labels=labels)
    difference = as_scores(score_difference)
    labels = jnp.asarray(labels).astype(difference.dtype)
    return jax.nn.softplus(-jnp.abs(difference)) + jax.nn.relu(difference) - labels * difference
