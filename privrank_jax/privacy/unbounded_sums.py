r"""Strategies for the prefix sums of a stream without a last step: columns of finite length, however many rows follow.

The mechanism Y = CX + Z is that of :mod:`privrank_jax.privacy.prefix_sums`, with infinite C, of which the first t rows
are used by step t. Its proof asks of C only that it is lower triangular and nonnegative, and how long its longest
column is: in every T steps that length is at most the one bounded here, so (ε, δ) holds for the first T steps for every
T, and so for all of them. (An event of the infinite sequence is approached by events of the first T steps, in
probability under both neighbors at once, and δ is the same for each T.) A user's k comparisons may fall into any steps.

**Root**, for Gaussian noise. C is the Toeplitz matrix with coefficients a_0, a_1, ..., which are integers in units of
2^-b, and column s holds a_0, a_1, ... from row s on. Let S_k >= 0 be a nondecreasing sequence with S_0 = 0, and

    W_k = ⌊4^b (1 + S_k/5)⁻³⌋,    a_k = ⌊√(W_k - W_{k+1})⌋.

*Theorem.* Every column has squared length Σ_k a_k² <= 4^b. *Proof.* W never increases, so a_k is well defined, and
Σ_{k<n} a_k² <= Σ_{k<n} (W_k - W_{k+1}) = W_0 - W_n <= W_0 = 4^b for every n. No tail is cut off, and nothing is asked
of S but that it does not decrease: rounding in its computation costs no privacy. All of this is done in integers.

*Error.* S_k = Σ_{j<k} f_j², f_j the coefficients of 1/√(1-x), rounded down to multiples of 2^-64. Then a_k is about f_k
times a factor that falls with log k, as in the logarithmic perturbations of Jacobsen and Fawaz (2025), and B = A C⁻¹
has coefficients of about f_k over that factor: the variance grows with log⁵ t, that of the square root for a known T
with log² T. The 5 and the 3 were chosen by their largest standard deviation, in units of that of one release:

===========================================  ======  =======  =========  ==========
largest deviation of Gaussian noise up to    52      365      3,650      87,600
===========================================  ======  =======  =========  ==========
this root, no last step                      2.98    3.75     4.78       6.41
square root for just so many steps           2.32    2.94     3.68       4.69
===========================================  ======  =======  =========  ==========

The coefficients of (1-x)^{-1/2} (log(1/(1-x))/x)^{-1/2-α}, which Jacobsen and Fawaz propose, have 3.8, 5.3 and 7.1 up
to 52, 365 and 3,650 steps at the best α, 0.2 (the length of their columns by a sum and an estimate of its tail).

**Tree**, for Laplace noise. A step t that is divisible by 32^j and not by 32^{j+1} publishes the sum of the last 32^j
steps, t among them, with 2^j times the noise; as a matrix, row t of C holds 2^-j in these places. B adds up the
intervals that make up (0, t].

*Theorem.* Every column has a sum of at most 2. *Proof.* The intervals of one j end at different multiples of 32^j and
have length 32^j, so they don't overlap: a column has at most one entry 2^-j for each j, and Σ_j 2^-j = 2.

*Error.* There are at most 31 intervals of each j, so the variance at t is at most 31·4·Σ_j 4^j in units of that of one
release, and the deviation grows with t^{1/5}. (Weights 1/((j+1)(j+2)) instead of halves would let it grow with a power
of log t, and make it no smaller for any t up to 87,600.) For up to 203 steps a stream of known length has less:

===========================================  ======  =======  =========  ==========
largest deviation of Laplace noise up to     52      365      3,650      87,600
===========================================  ======  =======  =========  ==========
this tree, no last step                      11.1    16.9     27.4       53.5
increments or binary tree for a known T      7.2     19.1     39.8       68.0
===========================================  ======  =======  =========  ==========

No Toeplitz C would do here: if its columns have a finite sum c, the coefficients of B tend to 1/c, and the deviation
grows with √t.

Jacobsen and Fawaz (2025, arXiv 2506.15018): Gaussian noise for unbounded streams. Chan, Shi, Song (2011): trees for
them. The telescoping coefficients and the weights are ours.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Int

UNBOUNDED = ("unbounded-root", "unbounded-tree")
RADIX = 32
_FALLS, _POWER = 5, 3
_BITS = 64  # of S


def root_integers(steps: int, digits: int) -> Int[np.ndarray, "steps"]:
    """a_0, ..., a_{T-1}, in units of 2^-b; those of fewer steps begin those of more.

    Args:
        steps: T, at least 1.
        digits: b, at most 30.

    >>> root_integers(4, 8).tolist()
    [166, 66, 46, 37]
    """
    unit, found = 1 << _BITS, np.zeros(steps, np.int64)
    coefficient, squares, above = unit, 0, 4**digits
    for place in range(steps):
        squares += coefficient**2 >> _BITS
        below = 4**digits * (_FALLS * unit) ** _POWER // (_FALLS * unit + squares) ** _POWER
        found[place] = math.isqrt(above - below)
        above, coefficient = below, coefficient * (2 * place + 1) // (2 * place + 2)
    return found


def level_of(step: int, radix: int = RADIX) -> int:
    """The largest j for which radix^j divides t.

    Args:
        step: t, from 1.
        radix: at least 2.

    >>> [level_of(step) for step in (1, 31, 32, 64, 1024)]
    [0, 0, 1, 1, 2]
    """
    level = 0
    while step % radix == 0:
        step, level = step // radix, level + 1
    return level


def column_bound(strategy: str, noise: str) -> float:
    """What no column of C is longer than, in ℓ₁ for Laplace and ℓ₂ for Gaussian noise, by the theorems.

    Args:
        strategy: one of :data:`UNBOUNDED`.
        noise: ``"laplace"`` or ``"gaussian"``.

    Raises:
        ValueError: Laplace noise for the root, whose columns are known to be short in ℓ₂ alone.

    >>> column_bound("unbounded-root", "gaussian"), column_bound("unbounded-tree", "laplace")
    (1.0, 2.0)
    """
    if strategy == "unbounded-tree":
        return 2.0 if noise == "laplace" else math.sqrt(4 / 3)  # Σ 4^-j
    if noise == "laplace":
        raise ValueError(
            'the strategy "unbounded-root" is for noise="gaussian": its columns are short in ℓ₂, not in ℓ₁. Choose '
            '"unbounded-tree" for Laplace noise.'
        )
    return 1.0
