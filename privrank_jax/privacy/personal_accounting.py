"""Personalized differential privacy over several releases, on the host (extra ``release``)."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from privrank_jax._neighbors import Neighbors
from privrank_jax._types import Flags, NumbersLike
from privrank_jax._validate import check_choice, check_delta, is_traced
from privrank_jax.privacy.accounting import FIXED_AHEAD, target
from privrank_jax.privacy.guarantee import TRUSTS, Guarantee
from privrank_jax.privacy.host import HostNumber, host_number
from privrank_jax.privacy.loss_distribution import Budgets, epsilon_at
from privrank_jax.privacy.privacy import Privacy

_FlagsLike: TypeAlias = Flags | Sequence[bool] | Sequence[Sequence[bool]]


@dataclasses.dataclass(frozen=True)
class PersonalComposition:
    """What several releases promise to each user together: personalized differential privacy.

    For user l the releases are (ε_l, δ)-DP, where neighbors differ only in what user l gave (Jorgensen, Yu and Cormode
    2015). The plain guarantee, which holds for all users alike, has the largest ε_l. The ε_l themselves are not
    protected: choose them independently of the answers.

    Attributes:
        epsilon: ``(users,)`` float64, ε_l by privacy loss distributions; 0 for users who took no part.
        basic: ``(users,)`` float64, the plain sum of the user's ε, at δ = 0; it also holds for budgets chosen
            adaptively.
        guarantee: the plain guarantee, with the largest ε_l.
    """

    epsilon: Float[np.ndarray, "users"]
    basic: Float[np.ndarray, "users"]
    guarantee: Guarantee


def compose_personal(
    epsilons: NumbersLike,
    *,
    delta: HostNumber,
    neighbors: Neighbors | Privacy,
    reports: NumbersLike = 1,
    mask: _FlagsLike | None = None,
    trust: str = "local",
) -> PersonalComposition:
    """Compose releases with personal ε: for each user the same as :func:`compose` of that user's releases.

    Users who spent the same budgets, in any order, are composed once, so 10⁵ users with few distinct budgets need few
    compositions. Each distinct list of budgets takes milliseconds; round budgets up to reduce their number.

    Args:
        epsilons: ``(users, releases)``, ε >= 0 that each user's report is randomized at, each pure (δ = 0); 0
            where the user took no part. ``(users,)`` for one release.
        delta: δ in [0, 1), one for all users.
        neighbors: the neighbors that each ε and the result are for (the ε and δ of a promise given here are ignored). A
            user who gives S reports on one comparison each at ε spends ε S times as a user: give S in ``reports``, and
            neighbors of unit ``"user"``.
        reports: whole numbers >= 0 that broadcast to ``epsilons``: the number of reports at that ε.
        mask: bool, broadcasts to ``epsilons``; False where the user took no part, whatever ``epsilons`` holds there.
        trust: ``"local"``, ``"shuffled"`` or ``"central"``.

    Returns:
        :class:`PersonalComposition`: the ε of each user, and the guarantee for all.

    Raises:
        ImportError: without dp-accounting.
        ValueError: shapes that don't fit, numbers out of range, no users.

    Source: Jorgensen, Yu and Cormode (2015); composition as in :mod:`~privrank_jax.privacy.accounting`, under the same
    condition: who takes part, and at which ε, is fixed ahead of time.

    >>> flips = Neighbors("user", "flip")
    >>> users = compose_personal([[1.0, 2.0], [2.0, 1.0], [0.0, 1.0]], delta=0, neighbors=flips)
    >>> users.epsilon.tolist(), users.guarantee.epsilon
    ([3.0, 3.0, 1.0], 3.0)
    """
    promised = target(neighbors)
    check_choice("trust", trust, TRUSTS)
    wanted = host_number("delta", delta)
    check_delta(float(wanted))
    spent, counts = _spent(epsilons, reports, mask)
    values, codes = np.unique(spent, return_inverse=True)
    rows, which = np.unique(
        np.concatenate([codes.reshape(spent.shape), counts], axis=1), axis=0, return_inverse=True
    )
    found: dict[Any, tuple[float, float]] = {}
    of_rows = []
    for row in rows:
        budget = _budget(values[row[: spent.shape[1]]], row[spent.shape[1] :])
        if budget not in found:
            found[budget] = _composed(budget, Fraction(wanted))
        of_rows.append(found[budget])
    epsilon, basic = np.array(of_rows)[which.reshape(-1)].T
    note = (
        "the largest of the users' own epsilons; to each user, that user's own applies. By privacy loss "
        f"distributions over {spent.shape[1]} release(s): {FIXED_AHEAD}. The largest plain sum: "
        f"epsilon {basic.max():.6g}."
    )
    numbers = {"epsilon": float(epsilon.max()), "delta": float(wanted)}
    attained = Privacy.proven(**{**vars(promised), **numbers})
    guarantee = Guarantee(attained, trust=trust, numerics="unknown", note=note)
    return PersonalComposition(epsilon, basic, guarantee)


def _spent(
    epsilons: NumbersLike, reports: NumbersLike, mask: _FlagsLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """ε and number of reports, ``(users, releases)``, both 0 where a user took no part."""
    if is_traced(epsilons, reports, mask):
        raise ValueError("epsilons are traced: accounting runs on the host, outside jit and vmap.")
    spent, counts = np.asarray(epsilons), np.asarray(reports)
    took_part = np.asarray(True if mask is None else mask)
    real = np.issubdtype(spent.dtype, np.integer) or np.issubdtype(spent.dtype, np.floating)
    if not real or spent.ndim not in (1, 2) or spent.size == 0:
        raise ValueError(
            "epsilons must be numbers of shape (users, releases), or (users,) for one release, not empty; got "
            f"{spent.dtype} of shape {spent.shape}."
        )
    if took_part.dtype != bool:
        raise ValueError(f"mask must be bool, got {took_part.dtype}.")
    if not np.issubdtype(counts.dtype, np.integer) or np.any(counts < 0):
        raise ValueError("reports must be whole numbers, at least 0.")
    try:
        took_part = np.broadcast_to(took_part, spent.shape)
        counts = np.broadcast_to(counts, spent.shape)
    except ValueError:
        raise ValueError(
            f"reports {counts.shape} and mask {took_part.shape} must broadcast to epsilons {spent.shape}."
        ) from None
    took_part = took_part & (counts > 0)
    if not np.all(spent[took_part] >= 0):
        raise ValueError("epsilons must be at least 0, and no NaN, where a user took part.")
    took_part = took_part & (spent > 0)
    users = (len(spent), -1)
    return (
        np.where(took_part, spent, spent.dtype.type(0)).reshape(users),
        np.where(took_part, counts, 0).astype(np.int64).reshape(users),
    )


def _budget(spent: np.ndarray, counts: np.ndarray) -> tuple[tuple[Fraction, int], ...] | None:
    """(ε, number of reports), ascending; ``None`` for no privacy."""
    if np.any(np.isinf(spent)):
        return None
    total: Counter[Fraction] = Counter()
    for epsilon, count in zip(spent, counts):
        if count:
            total[Fraction(host_number("epsilon", epsilon))] += int(count)
    return tuple(sorted(total.items()))


def _composed(
    budget: tuple[tuple[Fraction, int], ...] | None, delta: Fraction
) -> tuple[float, float]:
    if budget is None:
        return math.inf, math.inf
    budgets = Budgets(tuple(((epsilon, 1), count) for epsilon, count in budget))
    return epsilon_at(budgets, delta), float(budgets.epsilon_sum)
