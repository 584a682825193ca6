"""What the losses are given: scores, reports and ε, checked and brought to one form."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import NumbersLike, ReportsLike
from privrank_jax._validate import check_epsilon
from privrank_jax.privacy.local import check_reports, report_values


def toward_report(
    score_difference: NumbersLike, reports: ReportsLike, epsilon: NumbersLike, coding: str | None
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """t = (2ỹ - 1)s and 1/(e^ε - 1), in the dtype of s, float32 at least."""
    check_epsilon(epsilon)
    check_reports(reports, coding=coding)
    difference = as_scores(score_difference)
    sign = 2 * report_values(reports, difference.dtype, coding) - 1
    epsilon = jnp.asarray(epsilon).astype(difference.dtype)
    # Not 1/expm1(ε), whose derivative at large ε is ∞/∞.
    odds = jnp.exp(-epsilon) / -jnp.expm1(-epsilon)
    return sign * difference, odds


def as_scores(x: NumbersLike) -> Float[Array, "..."]:
    """``x`` as floats of 32 bits at least."""
    x = jnp.asarray(x)
    return x.astype(jnp.promote_types(jnp.result_type(x, float), jnp.float32))
