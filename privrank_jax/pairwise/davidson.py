r"""Ties as outcomes of their own: Davidson's model, and whether it describes ties better than half wins.

Of two items with scores θ_i, θ_j the outcomes win, tie and loss have probabilities in the ratios

.. math:: e^{θ_i} : ν\sqrt{e^{θ_i} e^{θ_j}} : e^{θ_j}.

ν > 0 says how common ties are: between equal items P(tie) = ν/(2 + ν).

**Sufficient statistics.** With η = log ν, the log-likelihood of a comparison is θ_i, (θ_i + θ_j)/2 + η or θ_j, less
log(e^{θ_i} + e^{θ_j} + e^{η + (θ_i + θ_j)/2}). So that of all of them is

.. math:: Σ_i N_i θ_i + Tη - Σ_{i<j} M_{ij} \log(e^{θ_i} + e^{θ_j} + e^{η + (θ_i + θ_j)/2}),

which sees the outcomes only through the win totals N_i, a tie counted as half a win, and the number T of ties. It is
concave in (θ, η), and a conditional logit, with or without covariates (:mod:`privrank_jax.pairwise.designs`);
``mle(..., ties="davidson")`` fits it. (The model of Rao and Kupper (1967), in which a tie is a difference below a
threshold, is no such family: its likelihood needs the ties of every pair, so noise on a few totals can't make its fit
private, and it is not offered.)

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
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.designs import ModelScores
from privrank_jax.pairwise.graph import check_tied_counts
from privrank_jax.pairwise.maximum_likelihood import design_of, mle

HALF_WINS = math.log(2.0)
"""log ν at which the model is that of half wins."""


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
    davidson: ModelScores
    half_wins: ModelScores


def half_win_test(wins: WinCounts) -> HalfWinTest:
    """Likelihood-ratio test of half wins (ν = 2) against Davidson's model with free ν. **Not private.**

    A small p-value says that ties are rarer (ν < 2) or more common than the split votes that half wins stand for, and
    that the two fits describe the chance of a tie differently. Comparisons must be independent given the scores.

    *With privacy*: the test is a function of the data, so neither its p-value nor the choice of a model by it may be
    published. The released log ν of :func:`~privrank_jax.pairwise.perturbed_mle` tells the same as
    post-processing: whether its interval (:func:`~privrank_jax.pairwise.model_uncertainty.model_intervals`) contains
    log 2.

    Args:
        wins: win counts that know their ``ties``.

    Returns:
        :class:`HalfWinTest`; meaningless where the maximum of either model is not finite.

    Raises:
        ValueError, TypeError: as :func:`~privrank_jax.pairwise.mle`.

    >>> rare = half_win_test(WinCounts.from_matrix([[0, 60], [40, 0]], ties=4))
    >>> bool(rare.p_value < 0.001), bool(rare.davidson.tie < 2)
    (True, True)
    """
    check_tied_counts(wins)
    return _half_win_test(wins)


@jax.jit
def _half_win_test(wins: WinCounts) -> HalfWinTest:
    free = mle(wins, ties="davidson").value
    halves = 2 * mle(wins).value
    half_wins = ModelScores(halves, None, jnp.asarray(HALF_WINS, halves.dtype))
    design, counted = design_of(wins, True)

    def loss(at: ModelScores) -> Array:
        beta = design.beta_of(at)
        return design.log_partition(beta) - product(design.excess(counted), beta)

    statistic = jnp.maximum(2 * (loss(half_wins) - loss(free)), 0.0)
    return HalfWinTest(
        statistic, jax.scipy.special.erfc(jnp.sqrt(0.5 * statistic)), free, half_wins
    )
