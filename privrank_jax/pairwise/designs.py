r"""Conditional logits, by the public part of their data: who met with which features, or what was offered.

**Model.** Of the alternatives of an answer, k is given with probability p_k ∝ e^{⟨x_k, β⟩}. The first m entries of β
are the scores θ of the items; coefficients of features follow, and log ν where ties are outcomes of their own.

* *Two items* i and j that meet with features x: with z = (e_i - e_j, x) and η = ⟨z, β⟩ a win, a loss and a tie have
  probabilities in the ratios e^{η/2} : e^{-η/2} : ν, so the alternatives are z/2, -z/2 and, for a tie, the last unit
  vector. Without ties this is Bradley-Terry-Luce, where a tie may count as half a win; with them it is Davidson's
  model. At ν = 2 the three are σ(d)², σ(-d)² and 2σ(d)σ(-d), d = η/2: scores fitted to half wins are half of these.
* *A choice from a set* has the unit vectors of the items offered: Plackett-Luce (:mod:`privrank_jax.pairwise.choices`).

**What a fit needs.** The log-likelihood of all answers is ⟨s, β⟩ - A(β) with the statistic s = Σ x_y, y the answer
given, and A = Σ log Σ_k e^{⟨x_k, β⟩}. Its derivatives are sums over answers too: ∇A is the expected statistic,
``mean``, and ∇²A its covariance, ``information``, which is the observed and the expected Fisher information alike. A
fit forms no matrix: what ∇²A consists of at β is its ``bent``, of which ``times`` makes products. Given the design,
answers enter through s alone. In place of s, counts are published: how often an item won (N, a tie half), or Σ yz over
wins y (S), and the number of ties. From these follows s, by which they exceed even answers: ``excess``.

Sources: McFadden (1974), Conditional logit analysis of qualitative choice behavior; Davidson (1970), On extending the
Bradley-Terry model to accommodate ties in paired comparison experiments; Barndorff-Nielsen (1978).
"""

from __future__ import annotations

import abc
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int

from privrank_jax._backend import product
from privrank_jax._batches import of_each_problem
from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Mask, PairMatrix, Scalar, Scores, ScoresLike
from privrank_jax._validate import in_floats
from privrank_jax.links import logistic
from privrank_jax.pairwise.lanes import add_rows, center, column_sums, count_items, dot, real

Parameters: TypeAlias = Float[Array, "parameters"]
"""β: scores, coefficients of features, log ν."""
Information: TypeAlias = Float[Array, "parameters parameters"]
Bent: TypeAlias = Float[Array, "..."]
"""What the Hessian of a loss consists of at β."""
Each: TypeAlias = Float[Array, "*meetings"]
"""One number per meeting."""

# Share of ties, and of an item's wins, at which a search starts, at least and at most.
_LEAST_SHARE, _MOST_SHARE = 0.02, 0.98


@pytree
class ModelScores:
    """A fit of a model with more parameters than scores.

    Attributes:
        scores: ``(m,)``, θ, mean 0 over real items, high = preferred; differences are log-odds of a win against a loss
            of items that meet with all covariates 0.
        coefficients: ``(p,)``, what one unit of each covariate adds to these log-odds of the first item, or ``None``.
        log_tie: log ν, shape ``()``; ``None`` where ties are half wins.
    """

    scores: Float[Array, "*batch items"]
    coefficients: Float[Array, "*batch covariates"] | None = None
    log_tie: Float[Array, "*batch"] | None = None

    @property
    def tie(self) -> Float[Array, "*batch"]:
        """ν; 2 where ties are like half wins, less where they are rarer."""
        return jnp.exp(jnp.asarray(self.log_tie))


class Design(abc.ABC):
    """What is public of answers under a conditional logit; β has ``size`` entries, and log ν where ``ties``.

    :class:`Counts` without ties may hold many problems at once, along a trailing axis of all arrays.

    Attributes:
        num_items: m.
        ties: whether ties are outcomes of their own.
    """

    num_items: Any
    ties: bool = False

    @abc.abstractmethod
    def log_partition(self, beta: Parameters) -> Float[Array, ""]:
        """A(β)."""

    @abc.abstractmethod
    def mean(self, beta: Parameters) -> Parameters:
        """∇A(β), the expected statistic."""

    @abc.abstractmethod
    def information(self, beta: Parameters) -> Information:
        """∇²A(β), the covariance of the statistic."""

    def bent(self, beta: Parameters) -> Bent:
        """What ∇²A(β) consists of: itself, where a design has no faster products."""
        return self.information(beta)

    def times(self, bent: Bent, vector: Parameters) -> Parameters:
        """∇²A times a vector, from :meth:`bent`."""
        return product(bent, vector)

    def diagonal(self, bent: Bent) -> Parameters:
        """The diagonal of ∇²A, from :meth:`bent`."""
        return jnp.diag(bent)

    @abc.abstractmethod
    def bend(self, beta: Parameters) -> Float[Array, "kinds *answers"]:
        """Log of the information of each answer, about log-odds and then about log ν; 0 for padding."""

    @abc.abstractmethod
    def excess(self, counted: Parameters) -> Parameters:
        """s, from what is counted: N or S, then the number of ties."""

    @property
    @of_each_problem
    @abc.abstractmethod
    def degree(self) -> Float[Array, ""]:
        """Mean number of answers per item, the unit in which an objective is measured."""

    @property
    @of_each_problem
    def evidence(self) -> Float[Array, "..."]:
        """How many comparisons tell of each score, and Σx² of each feature: ``(m + p,)``, or one number for all."""
        return self.degree

    @property
    def dtype(self) -> DTypeLike:
        """Float type of a fit, that of the arrays."""
        arrays = (
            leaf for leaf in jax.tree.leaves(self) if jnp.issubdtype(leaf.dtype, jnp.floating)
        )
        return jnp.result_type(*arrays)

    @property
    def feature_units(self) -> Float[Array, "covariates"] | None:
        """What a feature of 1 stands for, ``(p,)``; ``None`` without features."""
        return None

    @property
    def item_mask(self) -> Mask | None:
        """``(m,)`` bool, items that are no padding; ``None`` = all."""
        return None

    @property
    def size(self) -> int:
        """m + p, how many numbers are counted beside ties."""
        return self.num_items + (0 if self.feature_units is None else self.feature_units.shape[-1])

    @property
    @of_each_problem
    def held(self) -> Parameters:
        """1 for scores of real items, whose sum no answer tells."""
        real = jnp.arange(self.size + self.ties) < self.num_items
        if self.item_mask is not None:
            real = real.at[: self.num_items].set(self.item_mask)
        return real.astype(self.dtype)

    @property
    @of_each_problem
    def linked(self) -> Bool[Array, "items items"]:
        """Which items were met or offered together."""
        even = jnp.zeros(self.size + self.ties, self.dtype)
        return self.information(even)[: self.num_items, : self.num_items] < 0

    def start(self, excess: Parameters, ridge: Parameters) -> Parameters:
        """Where a search begins: equal scores."""
        return jnp.zeros_like(excess)

    def ridges(self, gamma: Scalar | Float[Array, "size"]) -> Float[Array, "size"]:
        """γ of each score and coefficient: as given, or of one γ for scores."""
        return jnp.broadcast_to(jnp.asarray(gamma, self.dtype), (self.size,))

    def all_ridges(
        self, gamma: Scalar | Float[Array, "size"], tie_gamma: Scalar | None = None
    ) -> Parameters:
        """:meth:`ridges` and, with ties, that of log ν."""
        ridges = self.ridges(gamma)
        return jnp.append(ridges, jnp.asarray(tie_gamma, ridges.dtype)) if self.ties else ridges

    def value_of(self, beta: Parameters) -> Scores | ModelScores:
        """Centered scores and what else β says, in the units of the data."""
        theta, units = center(beta[: self.num_items], self.item_mask), self.feature_units
        if units is None and not self.ties:
            return theta
        slopes = None if units is None else beta[self.num_items : self.size] / units
        return ModelScores(theta, slopes, beta[-1] if self.ties else None)

    def beta_of(self, value: ModelScores | ScoresLike) -> Parameters:
        """β, of what :meth:`value_of` makes of it."""
        if not isinstance(value, ModelScores):
            return jnp.asarray(value)
        parts = [jnp.asarray(value.scores)]
        if self.feature_units is not None:
            parts.append(jnp.asarray(value.coefficients) * self.feature_units)
        if self.ties:
            parts.append(jnp.asarray(value.log_tie)[None])
        return jnp.concatenate([part.astype(parts[0].dtype) for part in parts])


class Meetings(Design):
    """Answers about two items each, of which a kind says η, how often each stands, and what is summed over them."""

    @abc.abstractmethod
    def log_odds(self, beta: Float[Array, "size"]) -> Each:
        """η = ⟨z, β⟩ of each meeting, for β without log ν."""

    @abc.abstractmethod
    def real(self, each: Each) -> Each:
        """One number per meeting, 0 for padding."""

    def weigh(self, each: Each) -> Each:
        """One number per meeting times how often it took place."""
        return self.real(each)

    @abc.abstractmethod
    def pull(self, each: Each) -> Float[Array, "size"]:
        """Σ each · z."""

    @abc.abstractmethod
    def squares(self, each: Each) -> Float[Array, "size"]:
        """Σ each · z², entry by entry."""

    def add(self, each: Each) -> Float[Array, ""]:
        """Σ each."""
        return jnp.sum(each)

    def count(self, each: Each) -> Float[Array, ""]:
        """Sum over meetings as often as they took place."""
        return self.add(self.weigh(each))

    def total(self, each: Each) -> Float[Array, "size"]:
        """Σ each · z over meetings as often as they took place."""
        return self.pull(self.weigh(each))

    def gram(self, weights: Each) -> Float[Array, "size size"]:
        """Σ weights · zzᵀ over meetings as often as they took place."""
        weights = self.weigh(weights)
        unit = jnp.eye(self.size, dtype=weights.dtype)
        return jax.vmap(lambda vector: self.pull(weights * self.log_odds(vector)))(unit)

    def log_partition(self, beta: Parameters) -> Float[Array, ""]:
        """A(β) = Σ log(e^{η/2} + e^{-η/2} + ν)."""
        return self.count(_log_normalizer(*self._split(beta)))

    def mean(self, beta: Parameters) -> Parameters:
        """∇A(β) = Σ (P(win) - P(loss))z/2, then Σ P(tie)."""
        odds, log_tie = self._split(beta)
        if log_tie is None:
            return self.total(0.5 * jnp.tanh(0.5 * odds))
        win, loss, tie = _outcome_odds(odds, log_tie)
        return jnp.append(self.total(0.5 * (win - loss)), self.count(tie))

    def information(self, beta: Parameters) -> Information:
        """∇²A(β)."""
        odds, log_tie = self._split(beta)
        if log_tie is None:
            return self.gram(logistic.curvature(odds))
        win, loss, tie = _outcome_odds(odds, log_tie)
        of_beta = self.gram(_spread(win, loss, tie))
        cross = -self.total(tie * 0.5 * (win - loss))
        own = self.count(tie * (win + loss))
        return jnp.block([[of_beta, cross[:, None]], [cross[None, :], own[None, None]]])

    def bent(self, beta: Parameters) -> Bent:
        """How much the loss of each meeting bends in η; with ties the information."""
        return (
            super().bent(beta) if self.ties else self.weigh(logistic.curvature(self.log_odds(beta)))
        )

    def times(self, bent: Bent, vector: Parameters) -> Parameters:
        """Σ bent · ⟨z, vector⟩ z."""
        if self.ties:
            return super().times(bent, vector)
        return self.pull(bent * self.log_odds(vector))

    def diagonal(self, bent: Bent) -> Parameters:
        """Σ \\|bent\\| · z²."""
        return super().diagonal(bent) if self.ties else self.squares(jnp.abs(bent))

    def bend(self, beta: Parameters) -> Float[Array, "kinds *meetings"]:
        """Log of the information of each meeting about η and, with ties, about log ν; 0 for padding."""
        odds, log_tie = self._split(beta)
        if log_tie is None:
            return self.real(jax.nn.log_sigmoid(odds) + jax.nn.log_sigmoid(-odds))[None]
        win, loss, tie = _outcome_odds(odds, log_tie)
        both = _spread(win, loss, tie), tie * (win + loss)
        return jnp.stack([self.real(jnp.log(one)) for one in both])

    def start(self, excess: Parameters, ridge: Parameters) -> Parameters:
        """Equal scores, and log ν as fits them to the number of ties."""
        start = super().start(excess, ridge)
        if not self.ties:
            return start
        meetings = 0.5 * self.num_real * self.degree
        share = jnp.clip(excess[-1] / jnp.maximum(meetings, 1.0), _LEAST_SHARE, _MOST_SHARE)
        return start.at[-1].set(jnp.log(2 * share) - jnp.log1p(-share))

    @property
    @of_each_problem
    def num_real(self) -> Any:
        """Number of items that are no padding, at least 1."""
        return self.num_items

    def _split(self, beta: Parameters) -> tuple[Each, Float[Array, ""] | None]:
        """η of each meeting and log ν."""
        return (self.log_odds(beta[:-1]), beta[-1]) if self.ties else (self.log_odds(beta), None)


@pytree
class Counts(Meetings):
    """How often each two of m items met, without features; what is counted are win totals N, ties half.

    Attributes:
        comparisons: ``(m, m)`` float, symmetric, M_ij = how often i and j were compared, 0 on the diagonal and for
            padding.
        mask: ``(m,)`` bool, real items; ``None`` = all.
        ties: whether ties are outcomes of their own (Davidson's model), so that their number is counted too; static.
    """

    comparisons: Float[Array | np.ndarray, "*batch items items"]
    mask: Bool[Array, "*batch items"] | None = None
    ties: bool = static(default=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "comparisons", in_floats("comparisons", self.comparisons))

    @property
    def num_items(self) -> int:
        """m, padding included."""
        return self.comparisons.shape[-1]

    @property
    def item_mask(self) -> Mask | None:
        """``(m,)`` bool, or ``None``."""
        return None if self.mask is None else jnp.asarray(self.mask)

    @property
    @of_each_problem
    def num_real(self) -> Any:
        """Number of items that are no padding, at least 1."""
        return count_items(jnp.asarray(self.comparisons)[0], self.item_mask)

    @property
    @of_each_problem
    def degree(self) -> Float[Array, ""]:
        """Mean number of comparisons per item."""
        return jnp.sum(jnp.asarray(self.comparisons)) / self.num_real

    def excess(self, counted: Parameters) -> Parameters:
        """N less half of the comparisons; then the number of ties."""
        totals = counted[: self.num_items] - 0.5 * jnp.sum(self.comparisons, -1)
        return jnp.concatenate([real(totals, self.item_mask), counted[self.num_items :]])

    def start(self, excess: Parameters, ridge: Parameters) -> Parameters:
        """The scores at which each item would win its share of its comparisons; with ties as of all meetings.

        An item meets opponents of unlike scores, and so wins a share nearer to 1/2 than against their mean: of normal
        scores of variance v by about √(1 + πv/8). The ridge enters as 4γ comparisons without a winner.
        """
        if self.ties:
            return super().start(excess, ridge)
        degrees = column_sums(jnp.asarray(self.comparisons))
        share = 0.5 + excess / jnp.maximum(degrees + 4 * ridge, 1e-3)
        share = jnp.clip(share, _LEAST_SHARE, _MOST_SHARE)
        items = count_items(excess, self.item_mask)
        # One of the m is no opponent.
        score = center(jnp.log(share) - jnp.log1p(-share), self.item_mask) * (items - 1) / items
        return score * jnp.sqrt(1 + jnp.pi / 8 * dot(score, score) / items)

    def log_odds(self, beta: Scores) -> PairMatrix:
        """θ_i - θ_j."""
        return beta[:, None] - beta[None, :]

    def real(self, each: PairMatrix) -> PairMatrix:
        """0 where two items never met."""
        return jnp.where(jnp.asarray(self.comparisons) > 0, each, 0)

    def weigh(self, each: PairMatrix) -> PairMatrix:
        """M_ij each_ij."""
        return jnp.asarray(self.comparisons) * each

    def add(self, each: PairMatrix) -> Float[Array, ""]:
        """Σ_{i<j} each_ij, of what is the same for (i, j) and (j, i)."""
        return 0.5 * jnp.sum(each)

    def pull(self, each: PairMatrix) -> Scores:
        """Σ_j each_ij, of what changes its sign from (i, j) to (j, i)."""
        return real(-column_sums(each), self.item_mask)

    def squares(self, each: PairMatrix) -> Scores:
        """Σ_j each_ij."""
        return real(column_sums(each), self.item_mask)

    def times(self, bent: Bent, vector: Parameters) -> Parameters:
        """Σ_j bent_ij (v_i - v_j)."""
        if self.ties:
            return super().times(bent, vector)
        return real(add_rows(lambda row, one: row * (vector - one), bent, vector), self.item_mask)

    def gram(self, weights: PairMatrix) -> PairMatrix:
        """The Laplacian of M_ij weights_ij."""
        bent = self.weigh(weights)
        return jnp.diag(jnp.sum(bent, 1)) - bent

    def mean(self, beta: Parameters) -> Parameters:
        """Σ_j M_ij tanh((θ_i - θ_j)/2)/2, from one exponential of each item while none is far from 0."""
        if self.ties:
            return super().mean(beta)
        return real(_pull(jnp.asarray(self.comparisons), beta), self.item_mask)

    def bent(self, beta: Parameters) -> Bent:
        """M_ij F'(θ_i - θ_j), likewise; with ties the information."""
        if self.ties:
            return super().bent(beta)
        power = jnp.exp(beta)

        def near() -> PairMatrix:
            inverse = 1 / (power[:, None] + power[None, :])
            return self.weigh((power[:, None] * inverse) * (power[None, :] * inverse))

        return jax.lax.cond(
            _near(beta), near, lambda: self.weigh(logistic.curvature(self.log_odds(beta)))
        )


@jax.custom_jvp
def _pull(met: Array, beta: Array) -> Array:
    power = jnp.exp(beta)

    def near() -> Array:
        each = lambda met, one: met * ((one - power) / (one + power))  # noqa: E731
        return -0.5 * add_rows(each, met, power)

    return jax.lax.cond(_near(beta), near, lambda: _plain_pull(met, beta))


def _plain_pull(met: Array, beta: Array) -> Array:
    design = Counts(met)
    return design.total(0.5 * jnp.tanh(0.5 * design.log_odds(beta)))


@_pull.defjvp
def _pull_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    """Without branches: JAX can't transpose those of a batch (``lax.cond`` under ``vmap`` stops gradients)."""
    return _pull(*primals), jax.jvp(_plain_pull, primals, tangents)[1]


def _near(beta: Array) -> Bool[Array, ""]:
    """Whether exponentials of all scores, and their products, are in the range of float32."""
    return jnp.all(jnp.abs(beta) < 40)


@pytree
class Sets(Design):
    """K choices from sets of items; what is counted is how often each item was chosen.

    The items of a set stand in their order, else sums in another order would tell in their last digits who was chosen.

    Attributes:
        sets: ``(K, s)`` int32, the items offered, padded.
        offered: ``(K, s)`` bool, False for padding.
        weights: ``(K,)`` float, how many choices each row stands for.
        num_items: m, static.
        public: whether the sets may be public: False for the stages of rankings; static.
    """

    sets: Int[Array, "*batch choices size"]
    offered: Bool[Array, "*batch choices size"]
    weights: Float[Array, "*batch choices"]
    num_items: int = static()
    public: bool = static(default=True)

    @property
    @of_each_problem
    def degree(self) -> Float[Array, ""]:
        """Mean number of choices per item."""
        return jnp.sum(self.weights) / self.num_items

    @property
    @of_each_problem
    def evidence(self) -> Float[Array, ""]:
        """A choice among s equal items tells of their scores together as 2(1 - 1/s) comparisons: 1 - 1/s."""
        sizes = jnp.sum(self.offered, -1)
        return 2 * jnp.sum(self.weights * 2 * (1 - 1 / sizes)) / self.num_items

    def excess(self, counted: Scores) -> Scores:
        """How often each item was chosen, as it is."""
        return counted

    def log_partition(self, beta: Scores) -> Float[Array, ""]:
        """A(θ) = Σ log Σ_{j offered} e^{θ_j}."""
        return product(self.weights, jax.nn.logsumexp(self._utilities(beta), axis=-1))

    def mean(self, beta: Scores) -> Scores:
        """∇A(θ), how often each item is expected to be chosen."""
        return product(self.weights, self._shares(beta))

    def information(self, beta: Scores) -> PairMatrix:
        """∇²A(θ) = Σ diag(p) - ppᵀ, p the chances of the items of a set."""
        shares = self._shares(beta)
        both = product(shares.T, self.weights[:, None] * shares)
        return jnp.diag(product(self.weights, shares)) - both

    def bend(self, beta: Scores) -> Float[Array, "1 choices size"]:
        """log p(1 - p) of each item offered; for sets of two as of a comparison."""
        chances = self._chances(beta)
        return jnp.where(self.offered, jnp.log(chances) + jnp.log1p(-chances), 0)[None]

    def _chances(self, beta: Scores) -> Array:
        """The chance of each item of each set; 0 for padding."""
        return jax.nn.softmax(self._utilities(beta), axis=-1)

    def _utilities(self, beta: Scores) -> Array:
        return jnp.where(self.offered, beta[self.sets], -jnp.inf)

    def _shares(self, beta: Scores) -> Float[Array, "choices items"]:
        """Each item's chance in each choice."""
        rows = jnp.arange(self.sets.shape[0])[:, None]
        empty = jnp.zeros((self.sets.shape[0], beta.shape[0]), beta.dtype)
        return empty.at[rows, self.sets].add(self._chances(beta))


def _outcome_odds(gap: Array, log_tie: Array) -> tuple[Array, Array, Array]:
    """Probabilities of a win, a loss and a tie at log-odds η and log ν."""
    log_all = _log_normalizer(gap, log_tie)
    return jnp.exp(0.5 * gap - log_all), jnp.exp(-0.5 * gap - log_all), jnp.exp(log_tie - log_all)


def _log_normalizer(gap: Array, log_tie: Array | None) -> Array:
    """log(e^{η/2} + e^{-η/2} + ν) at log-odds η and log ν; without log ν there are no ties."""
    half = 0.5 * jnp.abs(gap)
    two = half + jnp.log1p(jnp.exp(-2 * half))
    return two if log_tie is None else jnp.logaddexp(two, log_tie)


def _spread(win: Array, loss: Array, tie: Array) -> Array:
    """Variance of an outcome that is 1/2, -1/2 or, for a tie, 0: (w + l)/4 - (w - l)²/4, without cancellation."""
    return win * loss + 0.25 * tie * (win + loss)
