r"""Strategies for the prefix sums of a stream to which each user comes back after a while only: less Gaussian noise.

The mechanism Y = CX + Z is that of :mod:`privrank_jax.privacy.prefix_sums`. A user adds up to L rows of nonnegative
numbers with sum at most 1, now at most q of them in a step, and in steps that are equal or at least b apart
(b-min-separation, if q is 1). Let C be lower triangular and Toeplitz with coefficients a_0 >= a_1 >= ... >= 0, so that
its column c_t holds them from row t on, let w_t be how many rows the user adds in step t, and s(w) = Σ_t w_t c_t.

**Sensitivity.** *Added or removed*: CX moves by Σ_l c_{t_l} u_lᵀ, whose square in ℓ₂ is Σ_{l,l'} ⟨c_{t_l}, c_{t_l'}⟩
⟨u_l, u_l'⟩ <= ‖s(w)‖², as ⟨u_l, u_l'⟩ <= 1 and no ⟨c_s, c_t⟩ is negative. Equal rows attain it. *Replaced* or
*flipped*: √2 times as much, as derived there. So the sensitivity is that of one row times the largest ‖s(w)‖ over all w
of a user.

*Theorem.* ‖s(w)‖ is largest for the user who comes as early and as often as may be: with q rows in each of the steps 1,
1 + b, 1 + 2b, ..., and in the last of them with what is left of L.

*Proof.* For s <= t, ⟨c_s, c_t⟩ = Σ_{j<=T-t} a_j a_{j+t-s} does not rise where t rises, nor where t - s does. (1) Let
the steps with rows be t_1 < t_2 < .... As t_l >= 1 + (l-1)b and t_l' - t_l >= (l'-l)b, moving the rows of t_l to 1 +
(l-1)b for all l lowers none of these products, so ‖s(w)‖² = Σ_{s,t} w_s w_t ⟨c_s, c_t⟩ does not fall. (2) On these
steps it is convex in w, so it is largest at a vertex of {0 <= w <= q, Σ w <= L}, where all w are 0 or q but one at
most, which is r = L mod q. By (1) the zeros come last. (3) Let H be the products on the v steps with rows, of which
step m has r rows and the others q. Then ‖s(w)‖² = q² Σ_{l,l'} H_ll' - (q - r)(2q Σ_{l≠m} H_ml + (q + r) H_mm). The l-th
nearest of the other v - 1 steps is at most lb away from step m, and no step is later than step v, from which it is lb
away: no sum over row m of H is below that over row v, and H_mm >= H_vv. So m = v has the largest norm. ∎

**Banded root.** C holds the coefficients f_k of the square root for k < p, and 0 beyond; p = b·2^j, or T, whichever of
them has the least largest deviation. Columns b or more apart have little or nothing in common where p is near b, but
then B = A C⁻¹ is large. *Measured* for q = 1: the largest deviation, in units of that of one release of all L
comparisons (:func:`spaced_errors`), and the sensitivity, in units of that of one comparison (:func:`spaced_root`):

===================  =======================  =======================  =======================
T, b, L              any steps, square root   b apart, square root     b apart, banded root
===================  =======================  =======================  =======================
12, 1, 12            1.85 (16.3)              1.11 (9.78)              1.00 (3.46), p = 1
12, 3, 4             1.85 (5.44)              1.24 (3.66)              1.19 (2.36), p = 3
52, 4, 13            2.32 (19.8)              1.28 (11.0)              1.14 (5.94), p = 8
365, 28, 13          2.94 (22.3)              1.50 (11.4)              1.33 (6.61), p = 56
365, 1, 10           2.94 (17.2)              2.46 (14.4)              2.46 (14.4), p = 365
===================  =======================  =======================  =======================

Nonincreasing coefficients that were optimized numerically, by the same theorem, have 1 to 4 % less in these cases but
the last. Laplace noise gains nothing where C = 1: the ℓ₁ norms of nonnegative columns add up, wherever they stand.

Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta, Xu (2023, arXiv 2306.08153): min-separation and bands.
Kalinin, Lampert (2024, arXiv 2405.13763): the theorem for q = 1, and the banded root. Several rows in a step are ours.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float, Num

from privrank_jax._arguments import is_whole
from privrank_jax.privacy.prefix_sums import (
    check_steps,
    inverse_series,
    square_root_coefficients,
)
from privrank_jax.privacy.privacy import Privacy

_MOST = 10**6  # rows in a step, so that sums of integer columns are exact


@dataclasses.dataclass(frozen=True)
class Spacing:
    """When a user counts: in steps that are at least a gap apart, and with a few comparisons in each; public.

    Attributes:
        gap: b >= 1, the least difference of two steps in which a user counts.
        per_step: q, the most comparisons of a user in a step, at most a million.

    Raises:
        ValueError: numbers that aren't.
    """

    gap: int
    per_step: int = 1

    def __post_init__(self) -> None:
        for name, value in (
            ("gap (--gap)", self.gap),
            ("per_step (--max-per-step)", self.per_step),
        ):
            if not is_whole(value) or not 1 <= value <= _MOST:
                raise ValueError(
                    f"{name} must be a whole number from 1 to {_MOST:,}, got {value!r}."
                )

    def most(self, steps: int) -> int:
        """The most comparisons of a user in T steps.

        >>> Spacing(28).most(365)
        14
        """
        return self.per_step * -(-steps // self.gap)

    @property
    def words(self) -> str:
        """What is asked of a user, as a clause.

        >>> Spacing(28).words
        'at most one comparison of a user in a step, in steps at least 28 apart'
        """
        each = "one comparison" if self.per_step == 1 else f"{self.per_step:,} comparisons"
        apart = f", in steps at least {self.gap:,} apart" * (self.gap > 1)
        return f"at most {each} of a user in a step{apart}"

    def check(self, privacy: Privacy, noise: str, steps: int | None) -> None:
        """Raise ``ValueError`` where a gap lowers no noise: Laplace noise, single comparisons, no last step."""
        if noise != "gaussian":
            raise ValueError(
                "gap (--gap) and per_step (--max-per-step) lower Gaussian noise alone: Laplace noise grows with all "
                "comparisons of a user, wherever they stand. Leave them out, or choose noise='gaussian' (--noise "
                "gaussian) with a delta."
            )
        if privacy.unit != "user":
            raise ValueError(
                "gap (--gap) and per_step (--max-per-step) are about users: protect them by unit='user' (--unit user), "
                "or leave them out."
            )
        if steps is None:
            raise ValueError(
                "gap (--gap) and per_step (--max-per-step) need steps (--steps): what a user can move for ever is "
                "bounded by contributions (--max-per-user) alone. Give steps, or leave them out."
            )


def condition(spacing: Spacing | None) -> str:
    """What a guarantee says of users who are spaced out; "" where any are protected."""
    return f"It holds for users within these bounds: {spacing.words}." if spacing else ""


def busiest_user(
    coefficients: Num[np.ndarray, "steps"], spacing: Spacing, limit: int
) -> Num[np.ndarray, "steps"]:
    """s(w) of the user of the theorem, ``(T,)``, of the dtype of the coefficients.

    Args:
        coefficients: ``(T,)``, a_0 >= a_1 >= ... >= 0; integers below 2^20, or floats.
        spacing: b and q.
        limit: L.

    >>> busiest_user(np.array([4, 2, 1, 0]), Spacing(2, 3), 4).tolist()  # 3 c_1 + c_3
    [12, 6, 7, 2]
    """
    found, left = np.zeros_like(coefficients), limit
    for begin in range(0, coefficients.size, spacing.gap):
        rows = min(spacing.per_step, left)
        found[begin:] += rows * coefficients[: coefficients.size - begin]
        left -= rows
        if not left:
            break
    return found


@functools.lru_cache
def best_band(steps: int, spacing: Spacing, limit: int) -> int:
    """The p of the banded root with the least largest error.

    Args:
        steps: T.
        spacing: b and q.
        limit: L, the most comparisons of a user in all steps together.

    >>> best_band(365, Spacing(28), 13), best_band(365, Spacing(28), 3)
    (56, 365)
    """

    def error(band: int) -> float:
        root = _banded(steps, band)
        response = np.cumsum(inverse_series(root))
        length = np.linalg.norm(busiest_user(root, spacing, limit))
        return round(float(np.linalg.norm(response) * length), 9)  # alike on every machine

    bands = {min(steps, max(1, int(spacing.gap * 2.0**power))) for power in range(-20, 15)}
    return min(sorted(bands), key=error)


def spaced_root(
    steps: int, spacing: Spacing, limit: int
) -> tuple[Float[np.ndarray, "steps"], float]:
    """Coefficients of the banded root, and the largest ‖s(w)‖ of a user of L comparisons.

    Args:
        steps: T >= 1.
        spacing: b and q.
        limit: L >= 1.

    Returns:
        ``(T,)`` float64, and the sensitivity in units of that of one comparison of one release.

    >>> round(spaced_root(365, Spacing(28), 13)[1], 2)  # 22.31 where comparisons may stand anywhere
    6.61
    """
    check_steps(steps)
    root = _banded(steps, best_band(steps, spacing, limit))
    return root, float(np.linalg.norm(busiest_user(root, spacing, limit)))


def spaced_errors(steps: int, spacing: Spacing, limit: int) -> Float[np.ndarray, "steps"]:
    """Standard deviation of the noise of each prefix sum, in units of that of one release of all L comparisons.

    Compare :func:`~privrank_jax.privacy.prefix_sums.prefix_sum_errors`, for users who count in any steps.

    Args:
        steps: T >= 1.
        spacing: b and q.
        limit: L >= 1.

    Returns:
        ``(T,)`` float64.

    >>> round(float(spaced_errors(365, Spacing(28), 13).max()), 2)  # 2.94 where the comparisons may stand anywhere
    1.33
    """
    root, moved = spaced_root(steps, spacing, limit)
    return np.sqrt(np.cumsum(np.cumsum(inverse_series(root)) ** 2)) * moved / limit


def _banded(steps: int, band: int) -> Float[np.ndarray, "steps"]:
    root = square_root_coefficients(steps)
    root[band:] = 0
    return root
