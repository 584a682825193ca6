"""Training objectives on privatized preferences: reward models and DPO, from what such pipelines have at hand.

Both take the candidates in the order of the report: *chosen* is the candidate that the randomized report names. They
compute the score difference and pass it to one of :data:`~privrank_jax.preferences.LOSSES`, by default the likelihood
of the report, which :mod:`privrank_jax.preferences.label_losses` says to begin with. If the order of the
candidates is public and the report is a bit beside it, pass the difference and the bit to the loss itself.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import NumbersLike, Scalar
from privrank_jax._validate import check_choice, check_positive
from privrank_jax.preferences.label_losses import LOSSES
from privrank_jax.preferences.loss_arguments import as_scores, check_alike

Loss = Callable[..., Array]


def reward_loss(
    chosen: NumbersLike,
    rejected: NumbersLike,
    epsilon: NumbersLike,
    *,
    loss: str | Loss = "likelihood",
) -> Float[Array, "..."]:
    """Per-example loss of a reward model under the Bradley-Terry model.

    Args:
        chosen: reward of the candidate that the report names, any shape; of a network whose output is ``(n, 1)``, pass
            ``scores[..., 0]``.
        rejected: reward of the other candidate; one of the two broadcasts to the other.
        epsilon: ε > 0 at which each report was randomized; broadcasts to them. ∞ for labels that were not.
        loss: a name in :data:`~privrank_jax.preferences.LOSSES`, or a function of (difference, report, ε), for instance
            ``functools.partial(square_loss, coding="0/1")``. The default is the one to begin with: it is bounded, and
            needs no weights.

    Returns:
        The loss of each example, float32 at least; NaN where a traced ε is not positive. Average them, with the weights
        that the loss asks for if ε varies.

    Raises:
        ValueError: ε not positive, an unknown loss, shapes that don't fit.

    >>> round(float(reward_loss(2.0, 1.5, jnp.inf)), 5)
    0.47408
    """
    check_alike(chosen=chosen, rejected=rejected)
    difference = as_scores(chosen) - as_scores(rejected)
    return _get_loss(loss)(difference, 1, epsilon)


def dpo_loss(
    policy_chosen: NumbersLike,
    policy_rejected: NumbersLike,
    reference_chosen: NumbersLike,
    reference_rejected: NumbersLike,
    epsilon: NumbersLike,
    *,
    beta: Scalar = 0.1,
    loss: str | Loss = "likelihood",
) -> Float[Array, "..."]:
    """Per-example loss of direct preference optimization, with s = β times the difference of the two log-ratios.

    Args:
        policy_chosen: log-probability under the policy of the answer that the report names, summed over its tokens, any
            shape.
        policy_rejected: that of the other answer; broadcasts.
        reference_chosen: log-probability of the reported answer under the reference policy; broadcasts.
        reference_rejected: that of the other answer; broadcasts.
        epsilon: ε > 0 at which each report was randomized; broadcasts to them. ∞ for labels that were not.
        beta: β > 0, the strength of the pull toward the reference policy, may be traced.
        loss: as for :func:`reward_loss`.

    Returns:
        The loss of each example, float32 at least, as :func:`reward_loss`. The log-ratios are computed in float32 even
        if the log-probabilities are in half precision; sum these over tokens in float32, since a sum of hundreds keeps
        two digits in bfloat16.

    Raises:
        ValueError: β or ε not positive, an unknown loss, shapes that don't fit.

    Source: Rafailov and others, *Direct Preference Optimization* (2023).

    >>> round(float(dpo_loss(-10.0, -12.0, -11.0, -11.0, jnp.inf, beta=0.5)), 5)  # log-ratios 1 and -1
    0.31326
    """
    check_positive("beta", beta)
    check_alike(
        policy_chosen=policy_chosen,
        policy_rejected=policy_rejected,
        reference_chosen=reference_chosen,
        reference_rejected=reference_rejected,
    )
    chosen = as_scores(policy_chosen) - as_scores(reference_chosen)
    rejected = as_scores(policy_rejected) - as_scores(reference_rejected)
    difference = chosen - rejected
    return _get_loss(loss)(jnp.asarray(beta, difference.dtype) * difference, 1, epsilon)


def _get_loss(loss: str | Loss) -> Loss:
    if isinstance(loss, str):
        check_choice("loss", loss, tuple(LOSSES))
        return LOSSES[loss]
    return loss
