"""What the losses are given: scores, reports and ε, checked and brought to one form."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._arguments import ArgumentError
from privrank_jax._types import NumbersLike, ReportsLike
from privrank_jax._validate import as_array, check_epsilon, is_traced
from privrank_jax.privacy.local import check_reports, report_values

NOT_RANDOMIZED = "inf, which means labels that were not randomized"
_SQUEEZE = "squeeze the last axis: {}[..., 0]"


def toward_report(
    score_difference: NumbersLike, reports: ReportsLike, epsilon: NumbersLike, coding: str | None
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """t = (2ỹ - 1)s and 1/(e^ε - 1), in the dtype of s, float32 at least."""
    epsilon = check_epsilon(epsilon, instead=NOT_RANDOMIZED)
    check_reports(reports, coding=coding)
    check_fits(score_difference, reports=reports, epsilon=epsilon)
    given = {"score_difference": score_difference, "reports": reports, "epsilon": epsilon}
    return _toward_report(*(as_array(name, x) for name, x in given.items()), coding=coding)


@functools.partial(jax.jit, static_argnames=("coding",), inline=True)
def _toward_report(
    score_difference: Array, reports: Array, epsilon: Array, *, coding: str | None
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    difference = as_scores(score_difference)
    sign = nan_unless_private(epsilon, 2 * report_values(reports, difference.dtype, coding) - 1)
    epsilon = epsilon.astype(difference.dtype)
    # Not 1/expm1(ε), whose derivative at large ε is ∞/∞.
    odds = jnp.exp(-epsilon) / -jnp.expm1(-epsilon)
    return sign * difference, odds


def as_scores(x: NumbersLike) -> Float[Array, "..."]:
    """``x`` as floats of 32 bits at least."""
    x = as_array("scores", x)
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise ArgumentError(f"scores must be real numbers, got {x.dtype}.", "scores")
    return x.astype(jnp.promote_types(jnp.result_type(x, float), jnp.float32))


def nan_unless_private(epsilon: NumbersLike, value: Float[Array, "..."]) -> Float[Array, "..."]:
    """``value``, but NaN where a traced ε is not positive; any other ε has been checked."""
    if not is_traced(epsilon):
        return value
    return jnp.where(jnp.asarray(epsilon) > 0, value, jnp.nan)


def check_fits(scores: object, of: str = "scores", /, **others: object) -> None:
    """Raise ``ValueError`` unless the others broadcast to the shape of the scores, which have this name.

    Scores of shape ``(n, 1)`` beside ``(n,)`` labels would silently make n² losses. One score, as under ``vmap``, takes
    labels and ε of any one shape.
    """
    shape = np.shape(scores)  # type: ignore[arg-type]
    for name, other in others.items():
        given = np.shape(other)  # type: ignore[arg-type]
        if not shape:
            shape, of = given, name
        elif not _fits(given, shape):
            advice = _advice(name, given, of, shape)
            raise ArgumentError(f"{name} has shape {given}, {of} {shape}: {advice}.", name)


def check_alike(**scores: object) -> None:
    """Raise ``ValueError`` unless all broadcast to the shape of one of them, so that none grows by another."""
    largest = max(scores, key=lambda name: (np.ndim(scores[name]), np.size(scores[name])))  # type: ignore[arg-type]
    check_fits(scores.pop(largest), largest, **scores)


def _fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array of shape ``given`` broadcasts to ``shape``."""
    return len(given) <= len(shape) and all(
        one in (1, wanted) for one, wanted in zip(given[::-1], shape[::-1])
    )


def _advice(name: str, given: tuple[int, ...], of: str, shape: tuple[int, ...]) -> str:
    if shape[-1] == 1 and _fits(given, shape[:-1]):
        return _SQUEEZE.format(of)
    if given[-1] == 1 and _fits(given[:-1], shape):
        return _SQUEEZE.format(name)
    return "give one number, or one for each score (vmap over a sweep)"
