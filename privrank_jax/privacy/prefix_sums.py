r"""Noise for all prefix sums of a stream at once: strategies, their sensitivities and their errors.

**Mechanism.** X is a stream of T steps, each a row of d nonnegative numbers, and A the lower triangle of ones, so that
row t of AX is the sum of the first t rows. A strategy writes A = BC with lower triangular B and C. The mechanism
publishes Y = CX + Z with independent noise Z, row by row as the steps end; BY = AX + BZ are unbiased prefix sums, of
which the first t rows need the first t rows of Y only, and computing them is post-processing.

**Sensitivity.** Let C >= 0, and let c_t be its column t. A unit adds up to k rows u_l, each of nonnegative numbers with
sum at most 1, at steps t_l of its choice, several of which may be the same step.

*Added or removed*: CX moves by P = Σ_l c_{t_l} u_lᵀ, and in any norm, here the ℓ₁ or the ℓ₂ norm over all its entries,
‖P‖ <= Σ_l ‖c_{t_l}‖ ‖u_l‖ <= k max_t ‖c_t‖.
*Replaced* (other rows, at other steps): CX moves by P - Q with both of this kind. In ℓ₁ this is at most 2k max_t
‖c_t‖₁. In ℓ₂, ‖P - Q‖² = ‖P‖² + ‖Q‖² - 2⟨P, Q⟩, where no entry of P or Q is negative, hence ‖P - Q‖ <= √2 k max_t
‖c_t‖₂. *Flipped*: a special case. All are attained, by k comparisons in the step of the longest column that one item
loses and another one wins. So **the sensitivity of CX is that of the totals of one release times the length of the
longest column of C**, whichever steps a user's comparisons fall into. For signed columns the argument is the same:
entries of CᵀC are nonnegative, so the longest sum of k signed columns is k times the longest column.

**Adaptive streams.** Comparisons may depend on what was published before: those who answer see the leaderboard. Let
the rows of two neighboring streams, and so the change M of CX, be functions of what was published before, with ‖M‖ <= Δ
always; row t of M is known once Y_1, ..., Y_{t-1} are. For Laplace noise of scale λ the loss is at most ‖M‖₁/λ. For
Gaussian noise, add a last row whose change is known from all others and makes ‖M‖₂ = Δ; leaving it out again is
post-processing. The loss is Σ_t (⟨Z_t, M_t⟩ + ‖M_t‖²/2)/σ², whose terms ⟨Z_t, M_t⟩/σ² are, given the past, normal with
variance ‖M_t‖²/σ². These are the increments of a Brownian motion that is stopped at the fixed time Δ²/σ², so the loss
is exactly N(Δ²/2σ², Δ²/σ²), that of the Gaussian mechanism on one number, and so is δ(ε).

**Strategies**, with the largest standard deviation over the steps, in units of that of one release, for Gaussian noise:

===============  ==========================================================  ==============================
name             C, B                                                        largest deviation
===============  ==========================================================  ==============================
``square-root``  Toeplitz, both with coefficients f_k = (-1)^k binom(-1/2,   Σ_{k<T} f_k², about
                 k): C = B = A^{1/2}                                         1.067 + (ln T)/π
``tree``         sums over (t - b, t], b the largest power of 2 in t; B      about log₂ T, less where T is
                 adds up those whose intervals make up (0, t]                not just below a power of 2
``independent``  C = A, B = 1: a release at every step                       √T
``increments``   C = 1, B = A: noise on every step, added up                 √T
===============  ==========================================================  ==============================

No strategy has one below ‖A‖_*/T = (1/T) Σ_j 1/(2 sin((2j-1)π/(4T+2))), about (ln T)/π + 0.7: with r the longest row of
B and c the longest column of C, ‖A‖_* <= ‖B‖_F ‖C‖_F <= √T r √T c.

*No Toeplitz C* has less than ``square-root``: let b and c be the first T coefficients of B and C, K(x) = Σ_{k<T} f_k
x^k and F(x) = x^{T-1} K(1/x)/K(x), which is analytic with \|F\| = 1 on the circle, as the zeros of K lie outside (f_k
falls). The coefficient T - 1 of F b c = F/(1-x) is that of F K², Σ_k f_k², and at most ‖b‖ ‖c‖. *Measured*: a C
optimized numerically by the fixed point of Denisov et al. with weights on the rows has 1.47, 1.62, 1.89, 2.05 and 2.64
at T = 7, 12, 30, 52 and 365, a tenth less. It is not built: its entries differ from machine to machine, so a state
would have to hold them.

For Laplace noise, ``increments`` has √T, and ``tree``, with ⌊log₂ T⌋ + 1 times the scale of one release, less than
(⌊log₂ T⌋ + 1)^{3/2}, which is smaller beyond a thousand steps.

Dwork, Naor, Pitassi, Rothblum (2010); Chan, Shi, Song (2011): ``tree``. Li, Miklau, Hay, McGregor, Rastogi (2015):
strategies. Matousek, Nikolov, Talwar (2020): the bound. Denisov, McMahan, Rush, Smith, Thakurta (2022): adaptive
streams. Fichtenberger, Henzinger, Upadhyay (2023): ``square-root``. The statement on users is ours. Streams without a
last step: :mod:`privrank_jax.privacy.unbounded_sums`.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Num

from privrank_jax._arguments import is_whole
from privrank_jax._validate import check_choice
from privrank_jax.privacy.unbounded_sums import (
    RADIX,
    UNBOUNDED,
    column_bound,
    level_of,
    root_integers,
)

_DIGITS = 30  # of the coefficients of the unbounded root
Square = Float[np.ndarray, "steps steps"]

STRATEGIES = ("square-root", "tree", "independent", "increments")
"""Of streams of T steps; those of :data:`~privrank_jax.privacy.unbounded_sums.UNBOUNDED` need no T."""


def usual_strategy(steps: int | None, noise: str) -> str:
    """The strategy whose largest error over T steps is the least; the ``"square-root"`` for Gaussian noise.

    Args:
        steps: T; None without a last step, for which there is one strategy for each noise.
        noise: ``"laplace"`` or ``"gaussian"``.

    >>> usual_strategy(365, "gaussian"), usual_strategy(365, "laplace"), usual_strategy(1000, "laplace")
    ('square-root', 'increments', 'tree')
    >>> usual_strategy(None, "gaussian"), usual_strategy(None, "laplace")
    ('unbounded-root', 'unbounded-tree')
    """
    if steps is None:
        return "unbounded-root" if noise == "gaussian" else "unbounded-tree"
    if noise == "gaussian":
        return "square-root"
    check_steps(steps)
    # The longest column of the tree has 1 + ⌊log₂ T⌋ ones, and its longest row as many as a number up to T in binary.
    of_tree = math.sqrt((steps + 1).bit_length() - 1) * steps.bit_length()
    return "increments" if math.sqrt(steps) <= of_tree else "tree"


def square_root_coefficients(steps: int) -> Float[np.ndarray, "steps"]:
    """f_0, ..., f_{T-1} of 1/√(1 - x): f_0 = 1, f_k = f_{k-1} (1 - 1/(2k)), ``(T,)`` float64.

    >>> square_root_coefficients(4).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    """
    check_steps(steps)
    return np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1, steps)))


def strategy_matrices(strategy: str, steps: int) -> tuple[Square, Square]:
    """B and C of a strategy.

    Args:
        strategy: one of :data:`STRATEGIES`, or of :data:`~privrank_jax.privacy.unbounded_sums.UNBOUNDED`, of which
            these are the first T rows and columns.
        steps: T >= 1.

    Returns:
        Both ``(T, T)`` float64 and lower triangular.

    Raises:
        ValueError: an unknown strategy, T < 1.

    >>> decode, encode = strategy_matrices("tree", 4)
    >>> encode.astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1]]
    >>> (decode @ encode).astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    """
    check_choice("strategy", strategy, (*STRATEGIES, *UNBOUNDED))
    check_steps(steps)
    ones = np.tri(steps)
    if strategy == "unbounded-root":
        series = root_integers(steps, _DIGITS) / 2.0**_DIGITS
        return toeplitz(np.cumsum(inverse_series(series))), toeplitz(series)
    if strategy == "unbounded-tree":
        decode, encode = _tree(steps, RADIX)
        noise = 2.0 ** np.array([level_of(step) for step in range(1, steps + 1)])
        return decode * noise, encode / noise[:, None]
    if strategy == "independent":
        return np.eye(steps), ones
    if strategy == "increments":
        return ones, np.eye(steps)
    if strategy == "tree":
        return _tree(steps)
    root = toeplitz(square_root_coefficients(steps))
    return root, root


def toeplitz(coefficients: Num[np.ndarray, "steps"]) -> Num[np.ndarray, "steps steps"]:
    """The lower triangular ``(T, T)`` matrix with these ``(T,)`` entries down its diagonals.

    >>> toeplitz(np.array([1, 5])).tolist()
    [[1, 0], [5, 1]]
    """
    place = np.subtract.outer(np.arange(coefficients.size), np.arange(coefficients.size))
    return np.where(place < 0, 0, coefficients[place])


def inverse_series(series: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps"]:
    """Coefficients of 1/f(x), those of f(x) given and f(0) above 0; those of fewer steps begin those of more.

    >>> inverse_series(np.array([2.0, 1.0, 0.0])).tolist()
    [0.5, -0.25, 0.125]
    """
    found = np.zeros(series.size)
    found[0] = 1 / series[0]
    for place in range(1, series.size):
        found[place] = -(series[1 : place + 1] @ found[place - 1 :: -1]) * found[0]
    return found


def _tree(steps: int, radix: int = 2) -> tuple[Square, Square]:
    """C sums up (t - b, t], b the largest power of the radix in t; B goes from t to t - b, and on to 0."""
    decode, encode = np.zeros((steps, steps)), np.zeros((steps, steps))
    for step in range(1, steps + 1):
        before = step - radix ** level_of(step, radix)
        encode[step - 1, before:step] = 1
        decode[step - 1] = decode[before - 1] if before else 0
        decode[step - 1, step - 1] = 1
    return decode, encode


def column_length(strategy: str, encode: Square, noise: str) -> float:
    """What no column of C is longer than: its longest column, or without a last step a bound for all rows to come.

    Args:
        strategy: whose C it is.
        encode: C, of as many steps as there are.
        noise: as for :func:`longest_column`.

    >>> column_length("unbounded-tree", strategy_matrices("unbounded-tree", 4)[1], "laplace")
    2.0
    """
    return column_bound(strategy, noise) if strategy in UNBOUNDED else longest_column(encode, noise)


def longest_column(encode: Square, noise: str) -> float:
    """Length of the longest column of C, in ℓ₁ for Laplace and ℓ₂ for Gaussian noise.

    >>> longest_column(strategy_matrices("tree", 4)[1], "laplace")
    3.0
    """
    return float(np.linalg.norm(encode, 1 if noise == "laplace" else 2, axis=0).max())


def prefix_sum_errors(strategy: str, steps: int, noise: str) -> Float[np.ndarray, "steps"]:
    """Standard deviation of the noise of each prefix sum, in units of that of one release.

    Args:
        strategy: as for :func:`strategy_matrices`.
        steps: T >= 1.
        noise: ``"laplace"`` or ``"gaussian"``.

    Returns:
        ``(T,)`` float64.

    Raises:
        ValueError: an unknown strategy, T < 1, Laplace noise for the ``"unbounded-root"``.

    >>> prefix_sum_errors("independent", 4, "gaussian").tolist()
    [2.0, 2.0, 2.0, 2.0]
    >>> prefix_sum_errors("square-root", 2, "gaussian").round(3).tolist()
    [1.118, 1.25]
    """
    decode, encode = strategy_matrices(strategy, steps)
    return np.linalg.norm(decode, axis=1) * column_length(strategy, encode, noise)


def prefix_sum_error_bound(steps: int) -> float:
    """What the largest of :func:`prefix_sum_errors` for Gaussian noise is at least, for any strategy: ‖A‖_*/T.

    Args:
        steps: T >= 1.

    Returns:
        The bound.

    >>> round(prefix_sum_error_bound(1), 12), round(prefix_sum_error_bound(1000), 3)
    (1.0, 2.902)
    """
    check_steps(steps)
    angles = (2 * np.arange(1, steps + 1) - 1) * np.pi / (4 * steps + 2)
    return float(np.mean(0.5 / np.sin(angles)))


def check_steps(steps: int) -> None:
    """Raise ``ValueError`` unless T is a whole number, at least 1."""
    if not is_whole(steps) or steps < 1:
        raise ValueError(f"steps must be a whole number, at least 1, got {steps!r}.")
