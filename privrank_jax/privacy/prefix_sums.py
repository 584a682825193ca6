r"""Noise for all prefix sums of a stream at once: strategies, their sensitivities and their errors.

**Mechanism.** X is a stream of T steps, each a row of d nonnegative numbers, and A the lower triangle of ones, so that
row t of AX is the sum of the first t rows. A strategy writes A = BC with lower triangular B and C. The mechanism
publishes Y = CX + Z with independent noise Z, row by row as the steps end; BY = AX + BZ are unbiased prefix sums, of
which the first t rows need the first t rows of Y only, and computing them is post-processing.

**Sensitivity.** Let C >= 0, and let c_t be its column t. A unit adds up to k rows u_l, each of nonnegative numbers with
sum at most 1, at steps t_l of its choice. *Added or removed*: CX moves by P = Σ_l c_{t_l} u_lᵀ, and in ℓ₁ or ℓ₂ over
all its entries ‖P‖ <= Σ_l ‖c_{t_l}‖ ‖u_l‖ <= k max_t ‖c_t‖.

*Replaced* (other rows, at other steps): CX moves by P - Q with both of this kind. In ℓ₁ this is at most 2k max_t
‖c_t‖₁. In ℓ₂, ‖P - Q‖² = ‖P‖² + ‖Q‖² - 2⟨P, Q⟩, where no entry of P or Q is negative, hence ‖P - Q‖ <= √2 k max_t
‖c_t‖₂. *Flipped*: a special case. All are attained, by k comparisons in the step of the longest column that one item
loses and another one wins. So **the sensitivity of CX is that of the totals of one release times the length of the
longest column of C**, whichever steps a user's comparisons fall into.

**Adaptive streams.** Comparisons may depend on what was published before: those who answer see the leaderboard. Let the
rows of two neighboring streams, and so the change M of CX, be functions of what was published before, with ‖M‖ <= Δ
always; row t of M is known once Y_1, ..., Y_{t-1} are. For Laplace noise of scale λ the loss is at most ‖M‖₁/λ.

For Gaussian noise, add a last row whose change is known from all others and makes ‖M‖₂ = Δ; leaving it out again is
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
B and c the longest column of C, ‖A‖_* <= ‖B‖_F ‖C‖_F <= √T r √T c. For Laplace noise, ``increments`` has √T, ``tree``
less than (⌊log₂ T⌋ + 1)^{3/2}.

**Without a last step** C is infinite, and its first t rows are used by step t. The proof asks of C only that it is
lower triangular and nonnegative, and how long its longest column is: in every T steps that length is at most the one
bounded here, so (ε, δ) holds for the first T steps for every T, and so for all of them. (An event of the infinite
sequence is approached by events of the first T steps, in probability under both neighbors at once.)

*Root* (``unbounded-root``), for Gaussian noise. C is Toeplitz with coefficients a_0, a_1, ..., integers in units of
2^-b. Let S_k >= 0 be nondecreasing with S_0 = 0, W_k = ⌊4^b (1 + S_k/5)⁻³⌋ and a_k = ⌊√(W_k - W_{k+1})⌋. **Theorem.**
Every column has squared length Σ_k a_k² <= 4^b.

*Proof.* W never increases, so a_k is well defined, and Σ_{k<n} a_k² <= Σ_{k<n} (W_k - W_{k+1}) = W_0 - W_n <= W_0 = 4^b
for every n. Nothing is asked of S but that it does not decrease, so rounding in its computation costs no privacy. All
of this is done in integers. S_k = Σ_{j<k} f_j², rounded down to multiples of 2^-64: the variance grows with log⁵ t (a
variant of Jacobsen and Fawaz 2025, arXiv 2506.15018).

*Tree* (``unbounded-tree``), for Laplace noise. A step t that is divisible by 32^j and not by 32^{j+1} publishes the sum
of the last 32^j steps, t among them, with 2^j times the noise; as a matrix, row t of C holds 2^-j in these places. B
adds up the intervals that make up (0, t]. **Theorem.** Every column has a sum of at most 2.

*Proof.* The intervals of one j end at different multiples of 32^j and have length 32^j, so they don't overlap: a column
has at most one entry 2^-j for each j, and Σ_j 2^-j = 2. There are at most 31 intervals of each j, so the deviation
grows with t^{1/5}.

Dwork, Naor, Pitassi, Rothblum (2010); Chan, Shi, Song (2011): trees. Li, Miklau, Hay, McGregor, Rastogi (2015):
strategies. Matousek, Nikolov, Talwar (2020): the bound. Denisov, McMahan, Rush, Smith, Thakurta (2022): adaptive
streams. Fichtenberger, Henzinger, Upadhyay (2023): ``square-root``.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num

from privrank_jax._validate import check_choice, check_whole

STRATEGIES = ("square-root", "tree", "independent", "increments")  # of streams of T steps
UNBOUNDED = ("unbounded-root", "unbounded-tree")  # of streams without a last step
_ROOTS = ("square-root", "unbounded-root")
_RADIX = {"tree": 2, "unbounded-tree": 32}
_FALLS, _POWER = 5, 3
_BITS = 64  # of S
_DIGITS = 30  # of the coefficients of the unbounded root in a simulation

Square = Float[np.ndarray, "steps steps"]


@dataclasses.dataclass(frozen=True)
class Strategy:
    """C and A C⁻¹, row by row, in whole units where exact noise is added."""

    kind: str  # of STRATEGIES or UNBOUNDED
    steps: int | None = None  # T; None without a last step
    digits: int | None = None  # b: roots are rounded to multiples of 2^-b; None: not rounded

    @property
    def unit(self) -> int:
        """2^b, or 1: entries of C are given in units of 1 over it."""
        return 1 << (self.digits or 0)

    def growth(self, step: int) -> int:
        """The scale of row ``step`` (from 0), in units of that of other rows; C holds entries over it."""
        return 2 ** level_of(step + 1) if self.kind == "unbounded-tree" else 1

    def width(self, step: int) -> int:
        """The number of steps that row ``step`` sums up, if C holds zeros and ones."""
        if self.kind in _RADIX:
            radix = _RADIX[self.kind]
            return radix ** level_of(step + 1, radix)
        return step + 1 if self.kind == "independent" else 1

    def encoding(self, step: int) -> Num[np.ndarray, "row"]:
        """Row ``step`` of C, up to its diagonal, times the unit and the growth."""
        if self.kind in _ROOTS:
            return self._root(step)[0][step::-1]
        row = np.zeros(step + 1, np.int64)
        row[step + 1 - self.width(step) :] = 1
        return row

    def decoding(self, step: int) -> Float[np.ndarray, "row"]:
        """Row ``step`` of A C⁻¹, up to its diagonal, for what :meth:`encoding` gives over the unit."""
        if self.kind in _ROOTS:
            return self._root(step)[1][step::-1]
        row, end = np.zeros(step + 1), step + 1
        while end:
            row[end - 1] = 1
            end -= self.width(end - 1)
        return row

    def spread(self, steps: int, growths: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps"]:
        """Deviation of prefix sums where the noise of each row has these deviations, over the unit."""
        if self.kind in _ROOTS:
            return growths * np.sqrt(np.cumsum(self._root(steps - 1)[1][:steps] ** 2)) / self.unit
        squares = np.zeros(steps + 1)
        for step in range(steps):
            squares[step + 1] = squares[step + 1 - self.width(step)] + growths[step] ** 2
        return np.sqrt(squares[1:])

    def longest_column(self, noise: str) -> Any:
        """What no column is longer than, in units: in ℓ₁ for Laplace noise, squared in ℓ₂ for Gaussian noise."""
        if self.kind == "unbounded-tree":
            return 2 if noise == "laplace" else Fraction(4, 3)  # Σ 2^-j, Σ 4^-j
        if self.kind == "unbounded-root":
            if noise == "laplace":
                raise ValueError(
                    'the strategy "unbounded-root" is for noise="gaussian". Choose "unbounded-tree" for Laplace noise.'
                )
            return 4 ** (self.digits or 0)
        steps = self.steps or 0
        column = [int(self.width(step) == step + 1) for step in range(steps)]
        if self.kind == "square-root":
            column = self._root(steps - 1)[0].tolist()
        return sum(one if noise == "laplace" else one * one for one in column)

    def length(self, noise: str) -> float:
        """The same in ℓ₁ or ℓ₂, for C itself."""
        longest = float(self.longest_column(noise))
        return (longest if noise == "laplace" else math.sqrt(longest)) / self.unit

    def _root(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of C and of A C⁻¹ up to that row at least."""
        return _coefficients(self.kind, self.steps or 1 << (step + 1).bit_length(), self.digits)


@functools.lru_cache(maxsize=8)
def _coefficients(kind: str, steps: int, digits: int | None) -> tuple[np.ndarray, np.ndarray]:
    if kind == "unbounded-root":
        found = root_integers(steps, digits or 0)
    else:
        found = square_root_coefficients(steps)
        if digits is None:
            return found, found
        found = np.rint(found * (1 << digits)).astype(np.int64)
    return found, np.cumsum(inverse_series(found / (1 << (digits or 0))))


def usual_strategy(steps: int | None, noise: str) -> str:
    """The strategy whose largest error over T steps, or without a last step, is the least for this noise.

    >>> usual_strategy(365, "gaussian"), usual_strategy(365, "laplace"), usual_strategy(1000, "laplace")
    ('square-root', 'increments', 'tree')
    """
    if steps is None:
        return "unbounded-root" if noise == "gaussian" else "unbounded-tree"
    if noise == "gaussian":
        return "square-root"
    check_whole("steps", steps)
    # The longest column of the tree has 1 + ⌊log₂ T⌋ ones, and its longest row as many as a number up to T in binary.
    of_tree = math.sqrt((steps + 1).bit_length() - 1) * steps.bit_length()
    return "increments" if math.sqrt(steps) <= of_tree else "tree"


def square_root_coefficients(steps: int) -> Float[np.ndarray, "steps"]:
    """f_0, ..., f_{T-1} of 1/√(1 - x): f_0 = 1, f_k = f_{k-1} (1 - 1/(2k))."""
    return np.cumprod(np.append(1.0, 1 - 0.5 / np.arange(1, steps)))


def root_integers(steps: int, digits: int) -> Int[np.ndarray, "steps"]:
    """a_0, ..., a_{T-1} of the root without a last step, in units of 2^-b, b at most 30."""
    unit, found = 1 << _BITS, np.zeros(steps, np.int64)
    coefficient, squares, above = unit, 0, 4**digits
    for place in range(steps):
        squares += coefficient**2 >> _BITS
        below = 4**digits * (_FALLS * unit) ** _POWER // (_FALLS * unit + squares) ** _POWER
        found[place] = math.isqrt(above - below)
        above, coefficient = below, coefficient * (2 * place + 1) // (2 * place + 2)
    return found


def inverse_series(series: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps"]:
    """Coefficients of 1/f(x), those of f(x) given and f(0) above 0."""
    found = np.zeros(series.size)
    found[0] = 1 / series[0]
    for place in range(1, series.size):
        found[place] = -(series[1 : place + 1] @ found[place - 1 :: -1]) * found[0]
    return found


def level_of(step: int, radix: int = 32) -> int:
    """The largest j for which radix^j divides t >= 1."""
    level = 0
    while step % radix == 0:
        step, level = step // radix, level + 1
    return level


def simulated(strategy: str, steps: int) -> Strategy:
    """A strategy in floating point."""
    check_choice("strategy", strategy, (*STRATEGIES, *UNBOUNDED))
    check_whole("steps", steps)
    return Strategy(strategy, steps, _DIGITS if strategy == "unbounded-root" else None)


def strategy_matrices(strategy: str, steps: int) -> tuple[Square, Square]:
    """B and C of a strategy.

    Args:
        strategy: one of :data:`STRATEGIES` or :data:`UNBOUNDED`; of the latter the first T rows and columns.
        steps: T >= 1.

    Returns:
        Both ``(T, T)`` float64 and lower triangular.

    Raises:
        ValueError: an unknown strategy, T < 1.

    >>> decode, encode = strategy_matrices("tree", 3)
    >>> (decode @ encode).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """
    rows = simulated(strategy, steps)
    growth = np.array([rows.growth(step) for step in range(steps)], float)
    decode, encode = np.zeros((steps, steps)), np.zeros((steps, steps))
    for step in range(steps):
        decode[step, : step + 1] = rows.decoding(step) * growth[: step + 1]
        encode[step, : step + 1] = rows.encoding(step) / (rows.unit * growth[step])
    return decode, encode


def prefix_sum_errors(strategy: str, steps: int, noise: str) -> Float[np.ndarray, "steps"]:
    """Standard deviation of the noise of each prefix sum, in units of that of one release.

    Args:
        strategy, steps: as for :func:`strategy_matrices`, whose errors it has.
        noise: ``"laplace"``, but not for the ``"unbounded-root"``, or ``"gaussian"``.

    Returns:
        ``(T,)`` float64.

    >>> prefix_sum_errors("square-root", 2, "gaussian").round(3).tolist()
    [1.118, 1.25]
    """
    decode, _ = strategy_matrices(strategy, steps)
    return np.linalg.norm(decode, axis=1) * simulated(strategy, steps).length(noise)


def prefix_sum_error_bound(steps: int) -> float:
    """‖A‖_*/T: what the largest of :func:`prefix_sum_errors` for Gaussian noise is at least, for any strategy.

    Args:
        steps: T >= 1.

    Returns:
        A float.

    >>> round(prefix_sum_error_bound(1000), 3)
    2.902
    """
    check_whole("steps", steps)
    angles = (2 * np.arange(1, steps + 1) - 1) * np.pi / (4 * steps + 2)
    return float(np.mean(0.5 / np.sin(angles)))
