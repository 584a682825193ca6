r"""The debiasing kernel of synthetic rankings: an unbiased estimate of a pair's true order from two synthetic ranks.

With q = e^-θ, θ = ε/(m-1), a Mallows draw moves two items of ranks (c, d) to ranks (a, b). The **kernel** k_m(a, b) is
the function with E k_m(a, b) = sign(d - c) for every c ≠ d. Then (1 + k_m)/2, averaged over users, is unbiased whatever
the users' rankings are. The kernel is unique, even among functions of the whole ranking: the matrix q^d(π, φ) over
rankings is positive definite (Zagier 1992; Jiao and Vert 2015).

**Recurrence.** Write [j] = 1 - q^j and c_n = coth(θn(n-1)/4) for even n, tanh(θn(n-1)/4) for odd n. Then

1. k_n(b, a) = -k_n(a, b) = -k_n(n-1-b, n-1-a);
2. k_n(0, n-1) = c_n;
3. for 0 <= a < b <= n-2, with s = a + 1, t = b + 1,

.. math:: [n-t][n+t-s]\, k_n(a, b) = [n][n-s]\, k_{n-1}(a, b) - q^{n-t} [t][t-s]\, k_n(a, b+1).

So row 0 follows from its end 2. by 3., the last column from row 0 by 1., and the rest by 3. Where ε is small,
k_{n-1}(a, b) and k_n(a, b+1) have opposite signs, and where it is large their difference hardly matters: there is
little cancellation, single precision suffices, and the cost is m³. (The linear system of all pairs of ranks costs m⁶,
and its condition number, 5·10⁷ at m = 8, ε = 1, loses eight digits.)

**Proof of 1 and 3.** Reversing both rankings and exchanging the two items each keep the law of the draw and flip the
sign of the order, so 1 holds by uniqueness. The last item inserted, the worst of the center, takes place p with
probability q^{n-1-p}(1-q)/[n]. Averaged over p, k_n must be an unbiased function of the ranks among the other n - 1
items, so by uniqueness k_{n-1}. With P(p <= a) = q^{n-s}[s]/[n] this says

    [n-t] x + q^{n-t}[t-s] y + q^{n-s}[s] z = [n] k_{n-1}(a, b),    x, y, z = k_n(a, b), k_n(a, b+1), k_n(a+1, b+1),

and, mirrored by 1, q^t[n-t] x + q^s[t-s] y + [s] z = [n] k_{n-1}(a, b). Without z, that is 3.

**Proof of 2.** When the last item itself is one of the two, against one that has rank n - 2 among the others,
Σ_p P(p) k_n = 1 reads, in r_n(b) = k_n(0, b),

    r_n(1) - Σ_{b=1..n-1} q^b r_n(b) = [n]/[1].                                                                 (*)

Let κ_t = k_t(0, t-1). Rule 3 with a = 0 is linear in κ, and is solved by r_n(b) = Σ_{t=b+1..n} F_{b,t} G_{n,t} κ_t,

    F_{b,t} = (-1)^{t-1-b} q^{(t-b)(t-b-1)/2} [t-1]! [t-2]! [t+b-1]! / ([b]! [b-1]! [t-1-b]! [2t-2]!),
    G_{n,t} = [n]! [n-1]! [2t-1]! / ([t]! [t-1]! [n-t]! [n+t-1]!),

since [n+b][n-b-1] - q^{n-t}[t+b][t-b-1] = [n+t-1][n-t]. By the q-Chu-Vandermonde sum,
Σ_b q^b F_{b,t} = (-1)^t q^{t(t-1)/2} F_{1,t}, so that (*) is

    Σ_{t=2..n} G_{n,t} F_{1,t} (1 - (-1)^t q^{t(t-1)/2}) κ_t = [n]/[1],

which determines κ_2, κ_3, ... one after the other. That κ_t = (1 + (-1)^t q^{t(t-1)/2})/(1 - (-1)^t q^{t(t-1)/2}) = c_t
solves it is the sum of two identities. With
G_{n,t} F_{1,t} = (-1)^t q^{(t-1)(t-2)/2} [2t-1] [n]! [n-1]!/([1] [n+t-1]! [n-t]!),

    Σ_{t=1..n} (-1)^t q^{t(t-1)/2} G_{n,t} F_{1,t} = [n]/[1],    Σ_{t=1..n} G_{n,t} F_{1,t} = 0,

whose terms at t = 1 are 1 and -1 and cancel. The first telescopes: times [1], its terms are X_t - X_{t+1} with
X_t = [n]! [n-1]! q^{(t-1)²}/([n+t-2]! [n-t]!), as [n+t-1] - q^{2t-1}[n-t] = [2t-1]. The second is, by its symmetry in
t ↔ 1 - t, half a sum over all t, that is two sums of the q-binomial theorem at zeros of (z; q)_{2n-1}. ∎

**Variance.** The draw is reversible with respect to the uniform law. So over uniform (c, d) the mean of E k² is the
mean of k(a, b)² over a ≠ b, and the mean variance is that less 1. Sums over an item's pairs have far less variance:
:func:`~privrank_jax.mallows.unbiased_ranks` has the row sums in closed form.

No paper has this; Xu, Sun and Cheng use the synthetic rankings as they are, and their Theorem 1(1), which says that
this preserves the order of every pair, is false (``tests/mallows/test_distribution.py`` has the counterexample).
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from privrank_jax._types import Count, Epsilon, Numbers, NumbersLike, PairMatrix
from privrank_jax._validate import check_epsilon, check_whole, is_traced
from privrank_jax.mallows.distribution import as_float, decay

_TOLERATED = 0.01  # rounding may move E k from 1 by at most this


def debiasing_kernel(num_items: int, epsilon: Epsilon) -> PairMatrix:
    """k(a, b) of synthetic ranks a and b, whose mean is 1 if the first item is truly ahead, -1 if it is behind.

    Args:
        num_items: m, static.
        epsilon: ε > 0 of the draws, one number, may be traced; ∞ gives the sign of b - a.

    Returns:
        ``(m, m)`` antisymmetric float (dtype of ``epsilon``, else JAX's default). For traced ε, NaN where entries are
        too large for the floating-point type.

    Raises:
        ValueError: ε <= 0 or NaN, m < 1; entries so large (small ε, many items) that their rounding alone could
            move the mean by a hundredth.

    >>> kernel = debiasing_kernel(2, jnp.log(3.0))  # q = 1/3: (1 + q)/(1 - q)
    >>> round(float(kernel[0, 1]), 5), round(float(kernel[1, 0]), 5)
    (2.0, -2.0)
    """
    epsilon = check_epsilon(epsilon)
    check_whole("num_items", num_items)
    epsilon = as_float(epsilon)
    kernel = kernel_of(num_items, epsilon, num_items)
    refuse_lost(kernel, epsilon, num_items)
    return kernel


def mean_square(kernel: PairMatrix, num_items: Count) -> Float[Array, ""]:
    """Mean of k² over pairs of different ranks."""
    return jnp.sum(jnp.square(kernel)) / jnp.maximum(num_items * (num_items - 1), 1)


@jax.jit
def rounding(kernel: PairMatrix, num_items: Count) -> Float[Array, ""]:
    """How far rounding may move E k from 1: the conditioning of the kernel, eps m² max |k|.

    The error against rational arithmetic was below it in every case tried, m up to 50 in both precisions.
    """
    return jnp.finfo(kernel.dtype).eps * jnp.square(num_items) * jnp.max(jnp.abs(kernel))


def refuse_lost(
    kernel: Float[Array, "*batch items items"], epsilon: Float[Array, "*batch"], num_items: Numbers
) -> None:
    """Raise ``ValueError`` if an entry of concrete kernels is lost to rounding; what is traced passes."""
    if is_traced(kernel) or not jnp.any(jnp.isnan(kernel)):
        return
    where = int(np.argmax(np.any(np.isnan(np.asarray(kernel)), axis=(-2, -1))))
    lost = float(np.ravel(np.asarray(epsilon))[where])
    items = int(np.ravel(np.broadcast_to(np.asarray(num_items), np.shape(epsilon)))[where])
    wider = "enable 64-bit floats (jax.enable_x64), or " if kernel.dtype == jnp.float32 else ""
    raise ValueError(
        f"epsilon = {lost:g} is too small to debias single pairs of {items} items in {kernel.dtype}: {wider}"
        "use larger budgets (of the order of the number of items), fewer items, or sums over pairs "
        "(mallows.unbiased_ranks), which stay accurate."
    )


@functools.partial(jax.jit, static_argnames=("size",))
def kernel_of(size: int, epsilon: Float[Array, ""], num_items: Count) -> Float[Array, "size size"]:
    """The kernel of ``num_items`` <= ``size`` items, zero beyond them, NaN where rounding may have corrupted it.

    The recurrence in d = n - 1 - b, for all n and a at once: one vector operation for each d.
    """
    epsilon, count = jnp.asarray(epsilon), jnp.asarray(num_items)
    theta = decay(epsilon, count)
    n = jnp.arange(size + 1)[:, None]

    def less(power: Array) -> Array:
        return -jnp.expm1(-jnp.maximum(power, 1) * theta)  # powers below 1 are not used

    def column(before: Array, d: Array, a: Array) -> Array:
        """k_n(a, n-1-d) from k_n(a, n-d) and k_{n-1}(a, n-1-d), both of which are ``before``."""
        s, t = a + 1, n - d
        fewer = jnp.roll(before, 1, axis=0)
        top = less(n) * less(n - s) * fewer - jnp.exp(-d * theta) * less(t) * less(t - s) * before
        return jnp.where(s < t, top / (less(d) * less(n + t - s)), 0)

    def columns(first: Array, a: Array) -> Array:
        def step(before: Array, d: Array) -> tuple[Array, Array]:
            now = column(before, d, a)
            return now, now

        _, later = jax.lax.scan(step, first, jnp.arange(1, size))
        return jnp.concatenate([first[None], later])  # (d, n, a)

    half = jnp.tanh(0.25 * jnp.maximum(n * (n - 1), 2) * theta)
    corner = jnp.where(n % 2 == 0, 1 / half, half)
    corner = jnp.where(n >= 2, corner, 0).astype(epsilon.dtype)
    row = columns(corner, jnp.zeros(1, jnp.int32))[:, :, 0]  # k_n(0, n-1-d)
    last = jnp.where(jnp.arange(size) < n - 1, row.T, 0)  # k_n(a, n-1) = k_n(0, n-1-a)
    table = columns(last, jnp.arange(size))[:, count]  # k_m(a, m-1-d) at [d, a]
    a, b = jnp.indices((size, size))
    upper = jnp.where((a < b) & (b < count), table[jnp.clip(count - 1 - b, 0), a], 0)
    return jnp.where(rounding(upper, count) <= _TOLERATED, upper - upper.T, jnp.nan)


def as_levels(
    epsilon: NumbersLike, num_items: NumbersLike
) -> tuple[Float[Array, "levels"], Num[Array, "levels"], Int[Array, "users"]]:
    """The distinct (ε, m) among users, and each user's index into them; traced ones all count as distinct."""
    epsilon, counts = as_float(epsilon), jnp.asarray(num_items)
    if is_traced(epsilon, counts):
        return epsilon, counts, jnp.arange(epsilon.shape[0])
    pairs = np.stack([np.asarray(epsilon, np.float64), np.asarray(counts, np.float64)], axis=1)
    levels, which = np.unique(pairs, axis=0, return_inverse=True)
    return (
        jnp.asarray(levels[:, 0], epsilon.dtype),
        jnp.asarray(levels[:, 1], counts.dtype),
        jnp.asarray(which.reshape(-1)),
    )
