r"""Ties as outcomes of their own: Davidson's model, its likelihood, and its fit without privacy.

Of two items with scores θ_i, θ_j the outcomes win, tie and loss have probabilities in the ratios

.. math:: e^{θ_i} : ν\sqrt{e^{θ_i} e^{θ_j}} : e^{θ_j}.

ν > 0 says how common ties are: between equal items P(tie) = ν/(2 + ν).

**Sufficient statistics.** With η = log ν, the log-likelihood of a comparison is θ_i, (θ_i + θ_j)/2 + η or θ_j, less
log(e^{θ_i} + e^{θ_j} + e^{η + (θ_i + θ_j)/2}). So that of all of them is

.. math:: Σ_i N_i θ_i + Tη - Σ_{i<j} M_{ij} \log(e^{θ_i} + e^{θ_j} + e^{η + (θ_i + θ_j)/2}),

which sees the outcomes only through the win totals N_i, a tie counted as half a win, and the number T of ties. It is
concave in (θ, η). (The model of Rao and Kupper (1967), in which a tie is a difference below a threshold, is no such
family: its likelihood needs the ties of every pair, so noise on a few totals can't make its fit private, and it is not
offered.)

**Half wins are ν = 2.** At ν = 2 the three probabilities are σ(d)², 2σ(d)σ(-d) and σ(-d)² with d = (θ_i - θ_j)/2: a
comparison is two independent votes of the Bradley-Terry-Luce model with scores θ/2, and a tie is a split. So scores
fitted to half wins (:func:`~privrank_jax.pairwise.mle`) are half of Davidson's at ν = 2, and a test of ν = 2 tells
whether half wins describe the ties: :func:`half_win_test`. Where every pair meets equally often, all ν order the items
alike, by N.

Source: Davidson (1970), On extending the Bradley-Terry model to accommodate ties in paired comparison experiments,
Journal of the American Statistical Association 65, 317-328.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._types import Mask, PairMatrix, Scalar, Scores
from privrank_jax._validate import check_nonnegative, is_traced
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.davidson_maximum import has_maximum
from privrank_jax.pairwise.graph import check_one_problem, connectivity
from privrank_jax.pairwise.masked import center, mean_degree
from privrank_jax.pairwise.minimize import Minimum, minimize
from privrank_jax.pairwise.mle import FitDiagnostics, mle

# Newton steps without progress after which a search ends (see minimize).
_PATIENCE = 8
# Share of ties at which a search starts, at most and at least.
_LEAST_SHARE, _MOST_SHARE = 0.01, 0.99
HALF_WINS = math.log(2.0)
"""log ν at which the model is that of half wins."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DavidsonScores:
    """Scores and the parameter of ties.

    Attributes:
        scores: ``(m,)`` θ, mean 0 over real items, high = preferred; differences are log-odds of a win against a loss.
        log_tie: log ν, shape ``()``.
    """

    scores: Scores
    log_tie: Float[Array, ""]

    @property
    def tie(self) -> Float[Array, ""]:
        """ν; 2 where ties are like half wins, less where they are rarer."""
        return jnp.exp(self.log_tie)

    def outcome_probabilities(self) -> tuple[PairMatrix, PairMatrix]:
        """P(i beats j) and P(i and j tie), each ``(m, m)``; entries of an item with itself are meaningless."""
        win, _, tie = outcome_odds(
            self.scores[..., :, None] - self.scores[..., None, :], self.log_tie[..., None, None]
        )
        return win, tie


def davidson_mle(
    wins: WinCounts,
    gamma: Scalar = 0.0,
    tie_gamma: Scalar = 0.0,
    *,
    tolerance: float | None = None,
    max_steps: int = 100,
) -> Estimate:
    """Scores and tie parameter that maximize the likelihood of Davidson's model, Σθ = 0. **Not private.**

    Minimizes the negative log-likelihood (module docstring) plus (γ/2)‖θ‖² + (γ_T/2)(log ν)², by Newton's method.
    Differentiable with respect to the counts and the ridges by the implicit function theorem.

    Args:
        wins: win counts of m items that know their ``ties``.
        gamma: ridge γ >= 0 of the scores, may be traced.
        tie_gamma: ridge γ_T >= 0 of log ν, may be traced.
        tolerance: ℓ_∞ gradient norm to reach, relative to the mean number of comparisons per item (default 1e-10 in
            float64, 1e-6 in float32).
        max_steps: iterations at most.

    Returns:
        ``value``: :class:`DavidsonScores`, dtype of the counts; masked items get 0. ``guarantee``: ``None``.
        ``diagnostics``: :class:`~privrank_jax.pairwise.mle.FitDiagnostics`; ``separated`` says that no finite maximum
        exists without ridges, for example where nothing or everything is tied, or where no other outcomes occur than
        wins of one side and ties; it is ``None`` where not computed: under ``jit``, and for more than 2,000 compared
        pairs.

    Raises:
        ValueError: counts that don't know their ties, a negative ridge, a batch of problems.
        TypeError: ``wins`` is no :class:`~privrank_jax.comparisons.WinCounts`.

    >>> wins = WinCounts.from_matrix([[0, 35], [15, 0]], ties=20)  # 25 wins, 20 ties, 5 losses
    >>> found = davidson_mle(wins).value
    >>> round(float(found.scores[0] - found.scores[1]), 4)  # log 5
    1.6094
    >>> round(float(found.tie), 4)  # 20/√(25·5)
    1.7889
    """
    check_tied_counts(wins)
    check_nonnegative("gamma", gamma)
    check_nonnegative("tie_gamma", tie_gamma)
    found = _davidson_mle(wins, gamma, tie_gamma, tolerance, max_steps)
    if is_traced(wins, gamma, tie_gamma):
        return found
    exists = has_maximum(wins)
    separated = None if exists is None else not exists
    return dataclasses.replace(
        found, diagnostics=dataclasses.replace(found.diagnostics, separated=separated)
    )


@functools.partial(jax.jit, static_argnames=("tolerance", "max_steps"))
def _davidson_mle(
    wins: WinCounts, gamma: Scalar, tie_gamma: Scalar, tolerance: float | None, max_steps: int
) -> Estimate:
    assert wins.ties is not None
    objective = davidson_objective(
        wins.totals, wins.ties, wins.comparisons, gamma, tie_gamma, wins.mask
    )
    found = fit_davidson(objective, tolerance=tolerance, max_steps=max_steps)
    components, _ = connectivity(dataclasses.replace(wins, ties=None))
    diagnostics = FitDiagnostics(found.gradient_norm, found.steps, found.code, components)
    return Estimate(objective.value_of(found), None, diagnostics)


def check_tied_counts(wins: WinCounts) -> None:
    """Raise unless ``wins`` are the counts of one problem that know their ties."""
    check_one_problem(wins)
    if wins.ties is None:
        raise ValueError(
            "these win counts don't say how many comparisons are ties: count them by WinCounts.from_comparisons(..., "
            "tied=...), or give WinCounts.from_matrix(..., ties=T)."
        )


# --- the objective ---------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DavidsonObjective:
    r"""The negative log-likelihood with its ridges, of parameters (θ, log ν) ``(m + 1,)``, in units of S.

    With d = θ_i - θ_j, a pair's normalizer is A = log(2 cosh(d/2) + ν) once the totals are taken as wins beyond half
    of the comparisons. A term (1ᵀθ)²/(2m) keeps the shift, which the likelihood does not identify, near 0.

    Attributes:
        comparisons: ``(m, m)`` M_ij.
        target: ``(m,)`` N_i - M_i/2.
        ties: T, shape ``()``.
        gamma: ridge of θ, shape ``()``.
        tie_gamma: ridge of log ν, shape ``()``.
        mask: ``(m,)`` bool, real items.
        scale: S, the mean degree, shape ``()``.
    """

    comparisons: Array
    target: Array
    ties: Array
    gamma: Array
    tie_gamma: Array
    mask: Array
    scale: Array

    @property
    def start(self) -> Array:
        """Equal scores, and the tie parameter that fits them."""
        start = start_of_ties(self.ties, 0.5 * jnp.sum(self.comparisons))
        return jnp.zeros(self.target.shape[0] + 1, self.target.dtype).at[-1].set(start)

    def value_of(self, found: Minimum) -> DavidsonScores:
        """The parameters at the end of a search."""
        return DavidsonScores(center(found.value[:-1], self.mask), found.value[-1])

    def __call__(self, params: Array) -> Array:
        """The objective."""
        theta, log_tie = params[:-1], params[-1]
        pairs = 0.5 * jnp.sum(self.comparisons * log_normalizer(_gaps(theta), log_tie))
        fit = pairs - product(self.target, theta) - self.ties * log_tie
        real = jnp.where(self.mask, theta, 0)
        ridge = 0.5 * self.gamma * product(real, real) + 0.5 * self.tie_gamma * log_tie**2
        pinned = 0.5 * jnp.sum(jnp.where(self.mask, 0, theta) ** 2)
        return (fit + ridge) / self.scale + 0.5 * jnp.sum(real) ** 2 / self._count + pinned

    def gradient(self, params: Array) -> Array:
        """Its gradient, ``(m + 1,)``."""
        theta, log_tie = params[:-1], params[-1]
        win, loss, tie = outcome_odds(_gaps(theta), log_tie)
        real = jnp.where(self.mask, theta, 0)
        push = 0.5 * jnp.sum(self.comparisons * (win - loss), 1) - self.target
        items = (push + self.gamma * real) / self.scale + jnp.sum(real) / self._count
        ties = 0.5 * jnp.sum(self.comparisons * tie) - self.ties + self.tie_gamma * log_tie
        return jnp.append(jnp.where(self.mask, items, theta), ties / self.scale)

    def hessian(self, params: Array) -> Array:
        """Its Hessian, ``(m + 1, m + 1)``."""
        bend = davidson_information(params[:-1], params[-1], self.comparisons)
        ridge = jnp.append(jnp.where(self.mask, self.gamma, self.scale), self.tie_gamma)
        both = jnp.append(self.mask, False).astype(params.dtype)
        return (bend + jnp.diag(ridge)) / self.scale + jnp.outer(both, both) / self._count

    @property
    def _count(self) -> Array:
        return jnp.maximum(jnp.sum(self.mask), 1).astype(self.target.dtype)


def davidson_objective(
    totals: Scores,
    ties: Scalar,
    comparisons: PairMatrix,
    gamma: Scalar,
    tie_gamma: Scalar,
    mask: Mask | None,
) -> DavidsonObjective:
    """The objective for win totals ``(m,)`` and a number of ties, which need not be attainable.

    Args:
        totals: N, ties counted half.
        ties: T.
        comparisons: ``(m, m)`` M_ij, symmetric, 0 on the diagonal; its dtype is that of the computation.
        gamma: ridge of the scores.
        tie_gamma: ridge of log ν.
        mask: ``(m,)`` bool, or ``None``.
    """
    dtype, degrees = comparisons.dtype, comparisons.sum(-1)
    real = jnp.ones(degrees.shape, bool) if mask is None else mask
    target = jnp.where(real, jnp.asarray(totals, dtype) - 0.5 * degrees, 0)
    number, ridge, tie_ridge = (jnp.asarray(one, dtype) for one in (ties, gamma, tie_gamma))
    scale = mean_degree(degrees, mask)
    return DavidsonObjective(comparisons, target, number, ridge, tie_ridge, real, scale)


def fit_davidson(
    objective: DavidsonObjective, *, tolerance: float | None = None, max_steps: int = 100
) -> Minimum:
    """Minimize by Newton's method with a line search."""
    start = jax.lax.stop_gradient(objective.start)
    return minimize(objective, start, tolerance=tolerance, max_steps=max_steps, patience=_PATIENCE)


def start_of_ties(ties: Array, comparisons: Array) -> Array:
    """log ν at which a search starts: that of equal scores with this number of ties."""
    share = jnp.clip(ties / jnp.maximum(comparisons, 1.0), _LEAST_SHARE, _MOST_SHARE)
    return jnp.log(2 * share) - jnp.log1p(-share)


def outcome_odds(gap: Array, log_tie: Array) -> tuple[Array, Array, Array]:
    """Probabilities of a win, a loss and a tie at gaps d = θ_i - θ_j and log ν."""
    log_all = log_normalizer(gap, log_tie)
    return jnp.exp(0.5 * gap - log_all), jnp.exp(-0.5 * gap - log_all), jnp.exp(log_tie - log_all)


def davidson_information(
    theta: Scores, log_tie: Array, comparisons: PairMatrix
) -> Float[Array, "numbers numbers"]:
    """Fisher information of (θ, log ν), observed and expected, ``(m + 1, m + 1)``: the covariance of (N, T)."""
    win, loss, tie = outcome_odds(_gaps(theta), log_tie)
    lead = 0.5 * (win - loss)
    weight = comparisons * (0.25 * (win + loss) - lead**2)
    cross = -jnp.sum(comparisons * tie * lead, 1)
    own = 0.5 * jnp.sum(comparisons * tie * (win + loss))
    laplacian = jnp.diag(weight.sum(1)) - weight
    return jnp.block([[laplacian, cross[:, None]], [cross[None, :], own[None, None]]])


def _gaps(theta: Scores) -> PairMatrix:
    return theta[:, None] - theta[None, :]


def log_normalizer(gap: Array, log_tie: Array) -> Array:
    """A = log(e^{d/2} + e^{-d/2} + ν) at gaps d = θ_i - θ_j and log ν."""
    half = 0.5 * jnp.abs(gap)
    return jnp.logaddexp(half + jnp.log1p(jnp.exp(-2 * half)), log_tie)


# --- does a tie parameter fit better than half wins? -------------------------------------------------


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class HalfWinTest:
    """Whether ties are like half wins, by the likelihood ratio. All of it is computed from the data: not private.

    Attributes:
        statistic: twice the log-likelihood ratio of free ν to ν = 2, shape ``()``.
        p_value: P(χ²₁ > statistic), shape ``()``.
        davidson: the fit with free ν.
        half_wins: the fit with ν = 2; its scores are twice those of :func:`~privrank_jax.pairwise.mle`.
    """

    statistic: Float[Array, ""]
    p_value: Float[Array, ""]
    davidson: DavidsonScores
    half_wins: DavidsonScores


def half_win_test(wins: WinCounts) -> HalfWinTest:
    """Likelihood-ratio test of half wins (ν = 2) against Davidson's model with free ν. **Not private.**

    A small p-value says that ties are rarer (ν < 2) or more common than the split votes that half wins stand for, and
    that the two fits describe the chance of a tie differently. Comparisons must be independent given the scores.

    *With privacy*: the test is a function of the data, so neither its p-value nor the choice of a model by it may be
    published. The released log ν of :func:`~privrank_jax.pairwise.perturbed_davidson_mle` tells the same as
    post-processing: whether its interval (:func:`~privrank_jax.pairwise.davidson_errors.davidson_intervals`) contains
    log 2.

    Args:
        wins: win counts that know their ``ties``.

    Returns:
        :class:`HalfWinTest`; meaningless where the maximum of either model is not finite.

    Raises:
        ValueError, TypeError: as :func:`davidson_mle`.

    >>> rare = half_win_test(WinCounts.from_matrix([[0, 60], [40, 0]], ties=4))
    >>> bool(rare.p_value < 0.001), bool(rare.davidson.tie < 2)
    (True, True)
    """
    check_tied_counts(wins)
    return _half_win_test(wins)


@jax.jit
def _half_win_test(wins: WinCounts) -> HalfWinTest:
    assert wins.ties is not None
    free = davidson_mle(wins).value
    halves = 2 * mle(wins).value
    half_wins = DavidsonScores(halves, jnp.asarray(HALF_WINS, halves.dtype))
    objective = davidson_objective(wins.totals, wins.ties, wins.comparisons, 0.0, 0.0, wins.mask)

    def loss(at: DavidsonScores) -> Array:
        return objective.scale * objective(jnp.append(at.scores, at.log_tie))

    statistic = jnp.maximum(2 * (loss(half_wins) - loss(free)), 0.0)
    return HalfWinTest(
        statistic, jax.scipy.special.erfc(jnp.sqrt(0.5 * statistic)), free, half_wins
    )
