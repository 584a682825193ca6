r"""Conditional logits, by the public part of their data: who met with which features, or what was offered.

**Model.** Of the alternatives of an answer, k is given with probability p_k ∝ e^{⟨x_k, β⟩}. The first m entries of β
are the scores θ of the items; coefficients of features follow, and log ν where ties are outcomes of their own.

* *Two items* i and j that meet with features x: with z = (e_i - e_j, x) and η = ⟨z, β⟩ a win, a loss and a tie have
  probabilities in the ratios e^{η/2} : e^{-η/2} : ν, so the alternatives are z/2, -z/2 and, for a tie, the last unit
  vector. Without ties this is Bradley-Terry-Luce, where a tie may count as half a win; with them Davidson's model
  (:mod:`privrank_jax.pairwise.davidson`).
* *A choice from a set* has the unit vectors of the items offered: Plackett-Luce (:mod:`privrank_jax.pairwise.choices`).

**What a fit needs.** The log-likelihood of all answers is ⟨s, β⟩ - A(β) with the statistic s = Σ x_y, y the answer
given, and A = Σ log Σ_k e^{⟨x_k, β⟩}, the ``log_partition``. Its derivatives are sums over answers too: ∇A is the
expected statistic, ``mean``, and ∇²A its covariance, ``information``, which is the observed and the expected Fisher
information alike. Given the design, answers enter through s alone. What is counted and published in place of s is how
often an item won (N), or Σ yz over wins y (S): s is what exceeds that of even answers, ``excess``.

Sources: McFadden (1974), Conditional logit analysis of qualitative choice behavior; Barndorff-Nielsen (1978).
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int

from privrank_jax._backend import product
from privrank_jax._batches import of_each_problem
from privrank_jax._types import Scalar, ScoresLike
from privrank_jax._validate import in_floats
from privrank_jax.pairwise.masked import center, count_items

# Share of ties at which a search starts, at most and at least.
_LEAST_SHARE, _MOST_SHARE = 0.01, 0.99


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ModelScores:
    """A fit of a model with more parameters than scores.

    Attributes:
        scores: ``(m,)``, θ, mean 0 over real items, high = preferred: of items that meet with all covariates 0;
            differences are log-odds of a win against a loss.
        coefficients: ``(p,)``, what one unit of each covariate adds to these log-odds of the first item; ``None`` for a
            model without covariates.
        log_tie: log ν, shape ``()``; ``None`` where ties are half wins.
    """

    scores: Float[Array, "*batch items"]
    coefficients: Float[Array, "*batch covariates"] | None = None
    log_tie: Float[Array, "*batch"] | None = None

    @classmethod
    def of(cls, value: ModelScores | ScoresLike) -> ModelScores:
        """The fit as it is, or scores alone."""
        return value if isinstance(value, cls) else cls(jnp.asarray(value))

    @property
    def tie(self) -> Float[Array, "*batch"]:
        """ν; 2 where ties are like half wins, less where they are rarer."""
        return jnp.exp(jnp.asarray(self.log_tie))

    def outcome_probabilities(
        self,
    ) -> tuple[Float[Array, "*batch items items"], Float[Array, "*batch items items"]]:
        """P(i beats j) and P(i and j tie), each ``(m, m)``; entries of an item with itself are meaningless."""
        gaps = self.scores[..., :, None] - self.scores[..., None, :]
        win, _, tie = outcome_odds(gaps, jnp.asarray(self.log_tie)[..., None, None])
        return win, tie


class Design(abc.ABC):
    """What is public of answers under a conditional logit; β has ``size`` entries, and log ν where ``ties``.

    Attributes:
        num_items: m.
        ties: whether ties are outcomes of their own.
    """

    num_items: Any
    ties: bool = False

    @abc.abstractmethod
    def log_partition(self, beta: Float[Array, "parameters"]) -> Float[Array, ""]:
        """A(β)."""

    @abc.abstractmethod
    def mean(self, beta: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
        """∇A(β), the expected statistic."""

    @abc.abstractmethod
    def information(
        self, beta: Float[Array, "parameters"]
    ) -> Float[Array, "parameters parameters"]:
        """∇²A(β), the covariance of the statistic."""

    @abc.abstractmethod
    def bend(self, beta: Float[Array, "parameters"]) -> Float[Array, "kinds *answers"]:
        """Log of the information of each answer, about log-odds and then about log ν; 0 for padding."""

    @abc.abstractmethod
    def excess(self, counted: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
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
    @abc.abstractmethod
    def dtype(self) -> DTypeLike:
        """Float type of a fit."""

    @property
    def feature_units(self) -> Float[Array, "covariates"] | None:
        """What a feature of 1 stands for, ``(p,)``; ``None`` without features."""
        return None

    @property
    def item_mask(self) -> Bool[Array, "items"] | None:
        """``(m,)`` bool, items that are no padding; ``None`` = all."""
        return None

    @property
    def size(self) -> int:
        """m + p, how many numbers are counted beside ties."""
        return self.num_items + (0 if self.feature_units is None else self.feature_units.shape[-1])

    @property
    @of_each_problem
    def held(self) -> Float[Array, "parameters"]:
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

    def start(self, excess: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
        """Where a search begins: equal scores."""
        return jnp.zeros_like(excess)

    def ridges(self, gamma: Scalar | Float[Array, "size"]) -> Float[Array, "size"]:
        """γ of each score and coefficient: as given, or of one γ for scores."""
        return jnp.broadcast_to(jnp.asarray(gamma, self.dtype), (self.size,))

    def all_ridges(
        self, gamma: Scalar | Float[Array, "size"], tie_gamma: Scalar | None = None
    ) -> Float[Array, "parameters"]:
        """:meth:`ridges` and, with ties, that of log ν."""
        ridges = self.ridges(gamma)
        return jnp.append(ridges, jnp.asarray(tie_gamma, ridges.dtype)) if self.ties else ridges

    def value_of(self, beta: Float[Array, "parameters"]) -> Float[Array, "items"] | ModelScores:
        """Centered scores and what else β says, in the units of the data."""
        theta, units = center(beta[: self.num_items], self.item_mask), self.feature_units
        if units is None and not self.ties:
            return theta
        slopes = None if units is None else beta[self.num_items : self.size] / units
        return ModelScores(theta, slopes, beta[-1] if self.ties else None)

    def beta_of(self, value: ModelScores | ScoresLike) -> Float[Array, "parameters"]:
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
    """Answers about two items each, of which a kind says η, and what is summed over them."""

    @abc.abstractmethod
    def log_odds(self, beta: Float[Array, "size"]) -> Float[Array, "*meetings"]:
        """η = ⟨z, β⟩ of each meeting, for β without log ν."""

    @abc.abstractmethod
    def real(self, each: Float[Array, "*meetings"]) -> Float[Array, "*meetings"]:
        """One number per meeting, 0 for padding."""

    @abc.abstractmethod
    def count(self, each: Float[Array, "*meetings"]) -> Float[Array, ""]:
        """Sum over meetings."""

    @abc.abstractmethod
    def total(self, weights: Float[Array, "*meetings"]) -> Float[Array, "size"]:
        """Σ weights · z over meetings."""

    @abc.abstractmethod
    def gram(self, weights: Float[Array, "*meetings"]) -> Float[Array, "size size"]:
        """Σ weights · zzᵀ over meetings."""

    def log_partition(self, beta: Float[Array, "parameters"]) -> Float[Array, ""]:
        """A(β) = Σ log(e^{η/2} + e^{-η/2} + ν)."""
        return self.count(log_normalizer(*self._split(beta)))

    def mean(self, beta: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
        """∇A(β) = Σ (P(win) - P(loss))z/2, then Σ P(tie)."""
        odds, log_tie = self._split(beta)
        if log_tie is None:
            return self.total(0.5 * jnp.tanh(0.5 * odds))
        win, loss, tie = outcome_odds(odds, log_tie)
        return jnp.append(self.total(0.5 * (win - loss)), self.count(tie))

    def information(
        self, beta: Float[Array, "parameters"]
    ) -> Float[Array, "parameters parameters"]:
        """∇²A(β)."""
        odds, log_tie = self._split(beta)
        if log_tie is None:
            return self.gram(jax.nn.sigmoid(odds) * jax.nn.sigmoid(-odds))
        win, loss, tie = outcome_odds(odds, log_tie)
        of_beta = self.gram(_spread(win, loss, tie))
        cross = -self.total(tie * 0.5 * (win - loss))
        own = self.count(tie * (win + loss))
        return jnp.block([[of_beta, cross[:, None]], [cross[None, :], own[None, None]]])

    def bend(self, beta: Float[Array, "parameters"]) -> Float[Array, "kinds *meetings"]:
        """Log of the information of each meeting about η and, with ties, about log ν; 0 for padding."""
        odds, log_tie = self._split(beta)
        if log_tie is None:
            return self.real(jax.nn.log_sigmoid(odds) + jax.nn.log_sigmoid(-odds))[None]
        win, loss, tie = outcome_odds(odds, log_tie)
        both = _spread(win, loss, tie), tie * (win + loss)
        return jnp.stack([self.real(jnp.log(one)) for one in both])

    def start(self, excess: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
        """Equal scores, and log ν as fits them to the number of ties."""
        start = jnp.zeros_like(excess)
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

    def _split(
        self, beta: Float[Array, "parameters"]
    ) -> tuple[Float[Array, "*meetings"], Float[Array, ""] | None]:
        """η of each meeting and log ν."""
        return (self.log_odds(beta[:-1]), beta[-1]) if self.ties else (self.log_odds(beta), None)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
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
    ties: bool = dataclasses.field(default=False, metadata={"static": True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "comparisons", in_floats("comparisons", self.comparisons))

    @property
    def num_items(self) -> int:
        """m, padding included."""
        return self.comparisons.shape[-1]

    @property
    def item_mask(self) -> Bool[Array, "items"] | None:
        """``(m,)`` bool, or ``None``."""
        return None if self.mask is None else jnp.asarray(self.mask)

    @property
    def dtype(self) -> DTypeLike:
        """That of the counts."""
        return jnp.result_type(self.comparisons)

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

    def excess(self, counted: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
        """N less half of the comparisons; then the number of ties."""
        totals = counted[: self.num_items] - 0.5 * jnp.sum(self.comparisons, -1)
        if self.item_mask is not None:
            totals = jnp.where(self.item_mask, totals, 0)
        return jnp.concatenate([totals, counted[self.num_items :]])

    def log_odds(self, beta: Float[Array, "items"]) -> Float[Array, "items items"]:
        """θ_i - θ_j."""
        return beta[:, None] - beta[None, :]

    def real(self, each: Float[Array, "items items"]) -> Float[Array, "items items"]:
        """0 where two items never met."""
        met = jnp.asarray(self.comparisons) > 0
        if self.item_mask is not None:
            met &= self.item_mask[:, None] & self.item_mask[None, :]
        return jnp.where(met & ~jnp.eye(self.num_items, dtype=bool), each, 0)

    def count(self, each: Float[Array, "items items"]) -> Float[Array, ""]:
        """Σ_{i<j} M_ij each_ij, of what is the same for (i, j) and (j, i)."""
        return 0.5 * jnp.sum(self.comparisons * each)

    def total(self, weights: Float[Array, "items items"]) -> Float[Array, "items"]:
        """Σ_j M_ij weights_ij, of what changes its sign from (i, j) to (j, i)."""
        totals = jnp.sum(self.comparisons * weights, 1)
        return totals if self.item_mask is None else jnp.where(self.item_mask, totals, 0)

    def gram(self, weights: Float[Array, "items items"]) -> Float[Array, "items items"]:
        """The Laplacian of M_ij weights_ij."""
        bent = self.comparisons * weights
        return jnp.diag(jnp.sum(bent, 1)) - bent


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
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
    num_items: int = dataclasses.field(metadata={"static": True})
    public: bool = dataclasses.field(default=True, metadata={"static": True})

    @property
    def dtype(self) -> DTypeLike:
        """That of the weights."""
        return jnp.result_type(self.weights)

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

    def excess(self, counted: Float[Array, "items"]) -> Float[Array, "items"]:
        """How often each item was chosen, as it is."""
        return counted

    def log_partition(self, beta: Float[Array, "items"]) -> Float[Array, ""]:
        """A(θ) = Σ log Σ_{j offered} e^{θ_j}."""
        return product(self.weights, jax.nn.logsumexp(self._utilities(beta), axis=-1))

    def mean(self, beta: Float[Array, "items"]) -> Float[Array, "items"]:
        """∇A(θ), how often each item is expected to be chosen."""
        return product(self.weights, self._shares(beta))

    def information(self, beta: Float[Array, "items"]) -> Float[Array, "items items"]:
        """∇²A(θ) = Σ diag(p) - ppᵀ, p the chances of the items of a set."""
        shares = self._shares(beta)
        return jnp.diag(product(self.weights, shares)) - product(
            shares.T, self.weights[:, None] * shares
        )

    def bend(self, beta: Float[Array, "items"]) -> Float[Array, "1 choices size"]:
        """log p(1 - p) of each item offered; for sets of two as of a comparison."""
        chances = self.chances(beta)
        return jnp.where(self.offered, jnp.log(chances) + jnp.log1p(-chances), 0)[None]

    def chances(self, beta: Float[Array, "items"]) -> Float[Array, "choices size"]:
        """The chance of each item of each set; 0 for padding."""
        return jax.nn.softmax(self._utilities(beta), axis=-1)

    def _utilities(self, beta: Float[Array, "items"]) -> Float[Array, "choices size"]:
        return jnp.where(self.offered, beta[self.sets], -jnp.inf)

    def _shares(self, beta: Float[Array, "items"]) -> Float[Array, "choices items"]:
        """Each item's chance in each choice."""
        rows = jnp.arange(self.sets.shape[0])[:, None]
        empty = jnp.zeros((self.sets.shape[0], beta.shape[0]), beta.dtype)
        return empty.at[rows, self.sets].add(self.chances(beta))


# --- a win, a loss and a tie -------------------------------------------------------------------------


def outcome_odds(gap: Array, log_tie: Array) -> tuple[Array, Array, Array]:
    """Probabilities of a win, a loss and a tie at log-odds η and log ν."""
    log_all = log_normalizer(gap, log_tie)
    return jnp.exp(0.5 * gap - log_all), jnp.exp(-0.5 * gap - log_all), jnp.exp(log_tie - log_all)


def log_normalizer(gap: Array, log_tie: Array | None = None) -> Array:
    """log(e^{η/2} + e^{-η/2} + ν) at log-odds η and log ν; without log ν there are no ties."""
    half = 0.5 * jnp.abs(gap)
    two = half + jnp.log1p(jnp.exp(-2 * half))
    return two if log_tie is None else jnp.logaddexp(two, log_tie)


def _spread(win: Array, loss: Array, tie: Array) -> Array:
    """Variance of an outcome that is 1/2, -1/2 or, for a tie, 0: (w + l)/4 - (w - l)²/4, without cancellation."""
    return win * loss + 0.25 * tie * (win + loss)
