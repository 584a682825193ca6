"""Sensitivity of win totals."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._types import Numbers, PairMatrix, Scalar
from privrank_jax._validate import check_choice, check_positive, is_traced
from privrank_jax.pairwise.questionnaire_noise import counted_sensitivity
from privrank_jax.privacy.noise import norm_of
from privrank_jax.privacy.privacy import Privacy


def totals_sensitivity(
    privacy: Privacy, norm: str = "l1", *, per_item: int | None = None
) -> Numbers:
    """Sensitivity of the win totals N_i to one unit: in ℓ₁, 2 per changed comparison, 1 per added or removed one.

    A comparison adds 1 in all to the totals (a tie adds 1/2 twice), and a replaced comparison may add it at other
    items. So replacing or flipping L comparisons changes the totals by at most 2L, and adding or removing L by at
    most L. All three bounds are attained. In ℓ₂ it is √2 L and L.

    **At most c comparisons of a user about one item.** A user adds totals x with 0 ≤ x_i ≤ c and Σ x_i ≤ L,
    so ‖x‖₂² ≤ S = ⌊L/c⌋c² + (L mod c)², largest where as many x_i as possible are c. Adding or removing a user changes
    the totals by √S in ℓ₂. Replacing one changes them by x - x', and as both are nonnegative ‖x - x'‖₂² ≤ 2S. Flips
    move them by x - x' with x_i, x'_i the wins of i that are gained and lost, x_i + x'_i ≤ c: the same. In ℓ₁ nothing
    changes. With c = 1 the noise grows with √L in place of L.

    Args:
        privacy: what is promised: unit comparison, or user with ``contributions``; any adjacency.
        norm: ``"l1"`` for Laplace noise; ``"l2"`` for Gaussian noise.
        per_item: c >= 1, the most comparisons of one user about one item, as ``release.exact_bound`` keeps them.

    Returns:
        Δ₁ or Δ₂; a float unless ``contributions`` is traced.

    Raises:
        ValueError: users without ``contributions``, unit rank, an unknown norm, c not positive or for traced L.

    >>> import dataclasses
    >>> users = Privacy(1.0, unit="user", adjacency="replace", contributions=15)
    >>> totals_sensitivity(users), totals_sensitivity(dataclasses.replace(users, adjacency="add-remove"))
    (30.0, 15.0)
    >>> round(totals_sensitivity(users, "l2", per_item=2), 2)  # 7 twos and a one, twice; 21.21 without a bound
    7.62
    """
    check_choice("norm", norm, ("l1", "l2"))
    per_unit = privacy.comparisons_per_unit
    if per_item is not None:
        check_positive("per_item", per_item)
        if is_traced(per_unit):
            raise ValueError("per_item needs a number of contributions that is not traced.")
    if per_item is not None and norm == "l2" and privacy.unit == "user":
        full, rest = divmod(int(per_unit), int(per_item))
        of_user = math.sqrt(full * per_item**2 + rest**2)
        return of_user if privacy.adjacency == "add-remove" else math.sqrt(2) * of_user
    if privacy.adjacency == "add-remove":
        return 1.0 * per_unit
    change = 2.0 * per_unit
    return change if norm == "l1" else change / 2**0.5


def change_of_totals(
    noise: str,
    privacy: Privacy,
    counts: PairMatrix | np.ndarray | None,
    sensitivity: Scalar | None = None,
    *,
    ties: bool = False,
) -> Any:
    """Sensitivity of the totals in the norm of Laplace or Gaussian noise.

    Args:
        noise: ``"laplace"`` or ``"gaussian"``.
        privacy: the promise.
        counts: how often each user is asked each pair, if that is public, as an array.
        sensitivity: the sensitivity, if the caller knows it.
        ties: whether the number of ties is released too (:mod:`privrank_jax.pairwise.tie_noise`); it counts where a
            questionnaire does: the number of questions plus the largest cut, and 2L at most.

    Raises:
        ValueError: users without ``contributions``, a traced questionnaire.
    """
    norm = norm_of(noise)
    if counts is None:
        return totals_sensitivity(privacy, norm) if sensitivity is None else sensitivity
    asked = counted_sensitivity(counts, privacy, norm)
    if ties:
        asked = int(counts.sum()) // 2 + asked / 2
    if privacy.contributions is None:
        return asked
    given = totals_sensitivity(privacy, norm)  # users may answer less than they are asked
    return jnp.minimum(asked, given) if is_traced(given) else min(asked, given)
