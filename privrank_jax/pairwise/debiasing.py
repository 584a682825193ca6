"""The sums of debiased, weighted reports that a fit needs, and the layout of those reports."""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped

from privrank_jax._types import MaskLike, NumbersLike, ReportTableLike
from privrank_jax._validate import check_choice, check_epsilon, in_floats, is_traced, shape_of
from privrank_jax.privacy.local import check_bits, check_reports, report_values

MECHANISMS = ("randomized-response", "laplace")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DebiasedSums:
    """Sums of the reports that a fit needs; sums over different users add up.

    Attributes:
        margins: ``(m, m)`` antisymmetric float, D_ij = weighted, debiased wins of i over j beyond half.
        weights: ``(m, m)`` symmetric float, W_ij = weight of the reports on the pair, >= 0.
        mask: ``(m,)`` bool, real items; ``None`` = all.
    """

    margins: Float[Array, "*batch items items"]
    weights: Float[Array, "*batch items items"]
    mask: Bool[Array, "*batch items"] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "margins", in_floats("margins", self.margins))
        object.__setattr__(self, "weights", in_floats("weights", self.weights))

    @classmethod
    def from_pairs(
        cls,
        margins: Float[Array, "pairs"],
        weights: Float[Array, "pairs"],
        mask: MaskLike | None = None,
    ) -> DebiasedSums:
        """Sums per pair i < j, ``(m(m-1)/2,)`` in the order of ``np.triu_indices(m, 1)``.

        >>> DebiasedSums.from_pairs(jnp.array([0.5]), jnp.array([2.0])).wins.tolist()
        [[0.0, 1.5], [0.5, 0.0]]
        """
        items = num_items(len(margins))
        upper, mask = np.triu_indices(items, 1), None if mask is None else jnp.asarray(mask, bool)
        if mask is not None:
            kept = mask[upper[0]] & mask[upper[1]]
            margins, weights = jnp.where(kept, margins, 0), jnp.where(kept, weights, 0)
        empty = jnp.zeros((items, items), margins.dtype)
        margins, weights = empty.at[upper].set(margins), empty.at[upper].set(weights)
        return cls(margins - margins.T, weights + weights.T, mask)

    @property
    def num_items(self) -> int:
        """Number of items m, padding included (static)."""
        return self.weights.shape[-1]

    @property
    def wins(self) -> Float[Array, "*batch items items"]:
        """``(m, m)`` Z_ij = W_ij/2 + D_ij, weighted debiased wins; entries may be negative."""
        return 0.5 * self.weights + self.margins

    def clipped(self) -> DebiasedSums:
        """The same sums with each pair's wins clipped to [0, W]: convex under every link, but biased."""
        half = 0.5 * self.weights
        margins = jnp.clip(self.margins, -half, half)
        return DebiasedSums(margins, self.weights, self.mask)

    def merge(self, other: DebiasedSums) -> DebiasedSums:
        """Sums of both sets of users over the same items."""
        if self.num_items != other.num_items:
            raise ValueError(
                f"sums over {self.num_items} and {other.num_items} items can't be merged; "
                "build both over the same item list."
            )
        both = None if self.mask is None or other.mask is None else self.mask | other.mask
        return DebiasedSums(self.margins + other.margins, self.weights + other.weights, both)

    __add__ = merge


def debiased_sums(
    reports: ReportTableLike,
    observed: ReportTableLike,
    epsilon: NumbersLike,
    weighted: bool = True,
    debiased: bool = True,
    *,
    mechanism: str = "randomized-response",
    mask: MaskLike | None = None,
) -> DebiasedSums:
    """The sums that :func:`~privrank_jax.pairwise.debiased_rr` fits; arguments and errors as there.

    With ``weighted=False`` every report has weight 1, so W_ij is the number of reports.

    Returns:
        :class:`DebiasedSums`.

    >>> sums = debiased_sums([[1, 1, 0]], [[1, 0, 1]], [np.inf])
    >>> sums.wins.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    reports, observed, epsilon = checked_reports(reports, observed, epsilon, mechanism, mask)
    return sums_of(reports, observed, epsilon, mask, bool(weighted), bool(debiased), mechanism)


@functools.partial(jax.jit, static_argnames=("weighted", "debiased", "mechanism"))
def sums_of(
    reports: Shaped[Array, "users pairs"],
    observed: Bool[Array, "users pairs"],
    epsilon: Float[Array, "users"],
    mask: MaskLike | None,
    weighted: bool,
    debiased: bool,
    mechanism: str,
) -> DebiasedSums:
    """:func:`debiased_sums` on checked arrays, compiled."""
    kept = kept_pairs(observed, mask)
    numbers = mechanism == "laplace"
    values = reports.astype(epsilon.dtype) if numbers else report_values(reports, epsilon.dtype)
    centered = jnp.where(kept, values - 0.5, 0)
    lean, weight = coefficients(epsilon, weighted, debiased, mechanism)
    weights = total(weight, kept.astype(epsilon.dtype))
    return DebiasedSums.from_pairs(total(lean, centered), weights, mask)


def total(
    weights: Float[Array, "users"], values: Float[Array, "users pairs"]
) -> Float[Array, "pairs"]:
    """Σ_l weights_l values_lp: ``(users,)`` and ``(users, pairs)`` to ``(pairs,)``."""
    # TF32 products, the default on GPUs, would round the weights to ten bits.
    return jnp.einsum("l,lp->p", weights, values, precision=jax.lax.Precision.HIGHEST)


def coefficients(
    epsilon: Float[Array, "users"], weighted: bool, debiased: bool, mechanism: str
) -> tuple[Float[Array, "users"], Float[Array, "users"]]:
    """Contribution of a report ỹ to D per unit of ỹ - 1/2, and to W, ``(users,)`` each."""
    one = jnp.ones_like(epsilon)
    if mechanism == "laplace":
        weight = 1 / (1 + 8 / jnp.square(epsilon)) if weighted else one
        return weight, weight
    tanh = jnp.tanh(0.5 * epsilon)
    weight = jnp.square(tanh) if weighted else one
    if not debiased:
        return weight, weight
    return (tanh if weighted else 1 / tanh), weight


def kept_pairs(
    observed: Bool[Array, "users pairs"], mask: MaskLike | None
) -> Bool[Array, "users pairs"]:
    """Which reports are observed and compare two real items, ``(users, pairs)`` bool."""
    if mask is None:
        return observed
    first, second = np.triu_indices(num_items(observed.shape[1]), 1)
    mask = jnp.asarray(mask, bool)
    return observed & mask[first] & mask[second]


def num_items(pairs: int) -> int:
    """m from its number of pairs m(m-1)/2; 0 where there is no such m."""
    items = (1 + math.isqrt(1 + 8 * pairs)) // 2
    return items if items * (items - 1) // 2 == pairs else 0


def checked_reports(
    reports: ReportTableLike,
    observed: ReportTableLike,
    epsilon: NumbersLike,
    mechanism: str,
    mask: MaskLike | None,
) -> tuple[Shaped[Array, "users pairs"], Bool[Array, "users pairs"], Float[Array, "users"]]:
    """Arrays of one problem: reports ``(L, P)``, observed ``(L, P)`` bool, ε ``(L,)`` of the working dtype."""
    check_choice("mechanism", mechanism, MECHANISMS)
    epsilon = check_epsilon(epsilon)
    shape, seen = shape_of("reports", reports), shape_of("observed", observed)
    if len(shape) != 2 or seen != shape:
        raise ValueError(
            f"reports and observed need one shape (users, pairs), got {shape} and {seen}; "
            "use jax.vmap for a batch of problems."
        )
    if shape[0] < 1 or num_items(shape[1]) < 2:
        raise ValueError(
            f"{shape[0]} user(s) and {shape[1]} pair(s) cannot be fitted: pass at least one user, and "
            "m(m-1)/2 pairs for some number m >= 2 of items."
        )
    if np.shape(epsilon) not in ((), shape[:1]):
        raise ValueError(
            f"epsilon must be one number or one per user, shape ({shape[0]},), got {np.shape(epsilon)}."
        )
    if mask is not None and np.shape(mask) != (num_items(shape[1]),):
        raise ValueError(
            f"mask must have shape ({num_items(shape[1])},), one entry per item, got {np.shape(mask)}."
        )
    _check_values(reports, observed, mechanism, mask)
    reports, epsilon = jnp.asarray(reports), jnp.asarray(epsilon)
    dtype = epsilon.dtype if jnp.issubdtype(epsilon.dtype, jnp.floating) else jnp.result_type(float)
    if jnp.issubdtype(reports.dtype, jnp.floating):
        dtype = jnp.promote_types(dtype, reports.dtype)
    epsilon = jnp.broadcast_to(epsilon.astype(dtype), shape[:1])
    return reports, jnp.asarray(observed) == 1, epsilon


def _check_values(
    reports: ReportTableLike, observed: ReportTableLike, mechanism: str, mask: MaskLike | None
) -> None:
    check_bits("observed", observed)
    if is_traced(observed, mask):
        return
    seen = np.asarray(observed, bool)
    if mask is not None:
        seen = np.asarray(kept_pairs(jnp.asarray(seen), mask))
    if not seen.any():
        raise ValueError("nothing is observed: no report of two real items to rank by.")
    if mechanism == "randomized-response":
        check_reports(reports, where=seen)
    elif not is_traced(reports) and not np.all(np.isfinite(np.asarray(reports, float)[seen])):
        raise ValueError("reports must be finite numbers wherever they are observed.")
