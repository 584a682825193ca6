r"""Every fit: of conditional logits by their designs, of dense win counts and of edge lists.

A conditional logit (:mod:`privrank_jax.pairwise.designs`) with the statistic s and the ridges γ_k is fitted by the
minimizer of

.. math:: f(β) = \frac{1}{d}\Bigl(A(β) - ⟨s, β⟩ + \tfrac12 \sum_k γ_k β_k²\Bigr) + \frac{(1ᵀθ)²}{2m},

d the mean number of answers per item, so that gradients are of order one. The last term keeps the shift of the scores,
which no answer tells, near 0 without changing any difference; the result is centered.

The negative log-likelihood of win counts under another link takes the place of A, with s = -w, w the tilt. Of win
counts without ties a whole batch is minimized at once, a problem along each lane of a trailing axis.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from privrank_jax._backend import product
from privrank_jax._chunks import in_lanes
from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Mask, Numbers, NumbersLike, PairMatrix, Scalar, Scores
from privrank_jax._validate import as_array, check_positive, check_shape, check_square
from privrank_jax._workarounds.xla import materialized
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.links import Elementwise, Link, get_link
from privrank_jax.pairwise.designs import Bent, Counts, Design, Each, Meetings, Parameters, Sets
from privrank_jax.pairwise.lanes import center, column_sums, count_items, dot, item_sum, real
from privrank_jax.pairwise.minimizer import USUAL, Minimum, Search, minimize, newton, root_of


@pytree
class FitDiagnostics:
    """Diagnostics of a fit.

    Attributes:
        gradient_norm: ℓ_∞ norm of the gradient, in units of the mean number of comparisons per item.
        steps: iterations, int32.
        code: 0 where the fit converged, see :data:`~privrank_jax.pairwise.minimizer.CODES`.
        components: connected components of the comparison graph, int32 (``None`` where not computed).
        separated: True if no finite maximum exists without a ridge (``None`` where not computed).
    """

    gradient_norm: Float[Array, ""]
    steps: Int[Array, ""]
    code: Int[Array, ""]
    components: Int[Array, ""] | int | None = None
    separated: Bool[Array, "..."] | bool | None = None

    @classmethod
    def of(cls, found: Minimum) -> FitDiagnostics:
        """What a search says of itself."""
        return cls(found.gradient_norm, found.steps, found.code)


@pytree
class _LinkLoss:
    """-Σ (won log F(η) + lost log F(-η)), the negative log-likelihood of meetings under any link, in place of A."""

    meetings: Meetings  # how often they met is not read; of Counts each pair stands twice
    won: Each  # wins of the first item
    lost: Each
    link: Link = static()

    def _of_both(self, function: Elementwise, beta: Parameters) -> tuple[Each, Each]:
        # With sums in sight, XLA searches for minutes for how a GPU may take them at once.
        odds = self.meetings.log_odds(beta)
        up, down = (jax.lax.optimization_barrier(function(x)) for x in (odds, -odds))
        return up, down

    def log_partition(self, beta: Parameters) -> Float[Array, ""]:
        up, down = self._of_both(self.link.log_cdf, beta)
        return -self.meetings.add(self.won * up + self.lost * down)

    def mean(self, beta: Parameters) -> Parameters:
        up, down = self._of_both(self.link.score, beta)
        return -self.meetings.pull(self.won * up - self.lost * down)

    def bent(self, beta: Parameters) -> Bent:
        """The second derivative in each η."""
        up, down = self._of_both(self.link.curvature, beta)
        return self.won * up + self.lost * down

    def times(self, bent: Bent, vector: Parameters) -> Parameters:
        return self.meetings.times(bent, vector)

    def diagonal(self, bent: Bent) -> Parameters:
        """With absolute values in the sums."""
        return self.meetings.diagonal(bent)


@pytree
class Ridged:
    """(A(β) - ⟨s, β⟩ + Σ γ_k β_k²/2)/d + ⟨u, β⟩²/2, of β.

    Attributes:
        loss: A.
        excess: ``(parameters,)``, s, with any noise.
        ridge: ``(parameters,)``, γ_k.
        scale: d, at least 1.
        held: ``(parameters,)``, u: 1/√m for each of m scores, which holds the sum that no answer tells.
        longest: the largest change of a difference in one step; static.
    """

    loss: Design | _LinkLoss
    excess: Float[Array, "*batch parameters"]
    ridge: Float[Array, "*batch parameters"]
    scale: Float[Array, "*batch"]
    held: Float[Array, "*batch parameters"]
    longest: float = static(default=8.0)

    @classmethod
    def of(cls, design: Design, counted: Parameters, ridge: Parameters) -> Ridged:
        """The objective at what was counted, which may hold noise; padding is held at 0."""
        scale, held = jnp.maximum(design.degree, 1.0), design.held
        if design.item_mask is not None:
            padded = jnp.where(design.item_mask, ridge[: design.num_items], scale)
            ridge = jnp.concatenate([padded, ridge[design.num_items :]])
        held = held / jnp.sqrt(jnp.maximum(jnp.sum(held), 1))
        return cls(design, design.excess(counted), ridge, scale, held)

    def __call__(self, beta: Parameters) -> Float[Array, ""]:
        """f(β), of one problem."""
        linear = product(0.5 * self.ridge * beta - self.excess, beta)
        level = 0.5 * jnp.square(dot(self.held, beta))
        return (self.loss.log_partition(beta) + linear) / self.scale + level

    def gradient(self, beta: Parameters) -> Parameters:
        """∇f(β)."""
        push = self.loss.mean(beta) - self.excess + self.ridge * beta
        return push / self.scale + self.held * dot(self.held, beta)

    def bent(self, beta: Parameters) -> Bent:
        """What ∇²f(β) consists of."""
        return self.loss.bent(beta) / self.scale

    def times(self, bent: Bent, vector: Parameters) -> Parameters:
        """∇²f times a vector."""
        level = self.held * dot(self.held, vector)
        return self.loss.times(bent, vector) + self.ridge / self.scale * vector + level

    def diagonal(self, bent: Bent) -> Parameters:
        """The diagonal of ∇²f."""
        return self.loss.diagonal(bent) + self.ridge / self.scale + jnp.square(self.held)


def fit(
    design: Design,
    counted: NumbersLike,
    gamma: Numbers,
    tie_gamma: Scalar | None = None,
) -> Estimate:
    """The ridge fit to given (for instance noisy) counts, without randomness or access to outcomes.

    With the counts of a release whose design is public (adjacency ``flip``) this *is* the private fit. Counts need not
    be attainable; positive ridges make the solution finite and unique.

    Args:
        design: the public part: :class:`~privrank_jax.pairwise.designs.Counts` of meetings, or the ``design`` of a
            table with covariates or of choices.
        counted: what the outcomes say: ``(m,)`` win totals, ties half, or how often each item was chosen; ``(m + p,)``
            sums of comparisons with covariates; where the design says ``ties``, then their number.
        gamma: ridge γ > 0 of the scores, may be traced; that of a feature is γ times the square of its largest size.
            Or ``(m + p,)``, one number for each.
        tie_gamma: ridge γ_T > 0 of log ν, where the design says ``ties``; may be traced.

    Returns:
        ``value``: θ, ``(m,)``, mean 0 over real items, or :class:`~privrank_jax.pairwise.designs.ModelScores`; dtype
        of the design. ``guarantee``: ``None``; that of the counts applies. ``diagnostics``: :class:`FitDiagnostics`.

    Raises:
        ValueError: ridges not positive, γ_T missing or not asked for, shapes that don't match, stages of rankings.

    >>> found = fit(Counts([[0.0, 100.0], [100.0, 0.0]]), [90.0, 10.0], 1e-6)
    >>> round(float(found.value[0] - found.value[1]), 3)  # log 9
    2.197
    """
    check_positive("gamma", gamma, infinite=False)
    if tie_gamma is not None:
        check_positive("tie_gamma", tie_gamma, infinite=False)
    if (tie_gamma is None) == design.ties:
        raise ValueError("tie_gamma is the ridge of log ν: give it where design.ties says so.")
    counted = as_array("counted", counted)
    numbers = design.size + design.ties
    check_shape("counted", counted, (numbers,))
    check_shape("gamma", gamma, (), (design.size,))
    if isinstance(design, Counts):
        check_square("comparisons", design.comparisons)
    if isinstance(design, Sets) and not design.public:
        raise ValueError(STAGES)
    counted = counted.astype(design.dtype)
    if isinstance(design, Counts) and not design.ties and not jnp.ndim(gamma):
        halves = WinCounts(jnp.asarray(design.comparisons, design.dtype) / 2, design.item_mask)
        return _fit_totals(counted, halves, gamma)
    # As arrays, so that numbers and arrays are fitted by one program.
    given = jnp.asarray(gamma, design.dtype)
    other = None if tie_gamma is None else jnp.asarray(tie_gamma, design.dtype)
    return fitted(design, counted, design.all_ridges(given, other))


STAGES = (
    "the sets of a ranking's later choices are not public: they depend on its answers, so noise on how often items "
    "were chosen does not make a fit private. Break the rankings into pairs by break_rankings, and use noisy_counts or "
    "perturbed_mle."
)


@functools.partial(jax.jit, static_argnames=("search",))
def fitted(
    design: Design, counted: Parameters, ridge: Parameters, search: Search = USUAL
) -> Estimate:
    """The fit of a conditional logit to what was counted, with any noise; arguments are not checked."""
    objective = Ridged.of(design, counted, ridge)
    start = jax.lax.stop_gradient(design.start(objective.excess, objective.ridge))
    found = minimize(objective, start, search)
    return Estimate(design.value_of(found.value), None, FitDiagnostics.of(found))


@jax.jit
def _fit_totals(totals: Scores, halves: WinCounts, gamma: Scalar) -> Estimate:
    # Counting half of M_ij as wins of either side gives the right graph; the tilt moves its totals to the given ones.
    tilt = halves.totals - totals
    found = fit_counts(halves, get_link("logistic"), gamma=gamma, tilt=tilt)
    return Estimate(center(found.value, halves.item_mask), None, FitDiagnostics.of(found))


def _of_counts(
    wins: Float[Array, "items items *batch"],
    mask: Bool[Array, "items *batch"] | None,
    tilt: Float[Array, "items *batch"],
    gamma: Float[Array, "*batch"],
    link: Link,
) -> Ridged:
    """The objective of win counts with a linear tilt, also of many problems along a trailing axis."""
    losses = wins.swapaxes(0, 1)
    comparisons, lost = wins + losses, column_sums(wins)
    degrees = lost + column_sums(losses)
    scale = jnp.maximum(item_sum(degrees) / count_items(degrees, mask), 1.0)
    counts = Counts(comparisons / scale, mask)
    if link.name == "logistic":
        return _ridged(counts, (0.5 * degrees - lost - tilt) / scale, gamma / scale, mask)
    loss = _LinkLoss(counts, wins / scale, losses / scale, link)
    return _ridged(loss, -tilt / scale, gamma / scale, mask)


def signed_objective(
    margins: PairMatrix, weights: PairMatrix, gamma: Scalar, mask: Mask | None = None, *, link: Link
) -> Ridged:
    """The objective of W_ij/2 + D_ij wins, which may be negative (debiased reports), with ridge γ.

    Its unit is the gradient at θ = 0 if that exceeds the mean degree: where weights are tiny, so is θ, and only a
    tolerance relative to θ is meaningful.
    """
    excess, degrees = -column_sums(margins), column_sums(weights)
    scale = jnp.maximum(jnp.max(jnp.abs(excess), 0), item_sum(degrees) / count_items(degrees, mask))
    scale = jax.lax.stop_gradient(jnp.where(scale > 0, scale, 1.0))
    counts = Counts(weights / scale, mask)
    if link.name == "logistic":
        return _ridged(counts, excess / scale, gamma / scale, mask)
    wins = (0.5 * weights + margins) / scale
    loss = _LinkLoss(counts, wins, wins.swapaxes(0, 1), link)
    # f may fall without end far away: steps stay in the range of scores that are seen in practice.
    return dataclasses.replace(_ridged(loss, 0 * excess, gamma / scale, mask), longest=4.0)


def _ridged(loss: Counts | _LinkLoss, excess: Array, gamma: Array, mask: Mask | None) -> Ridged:
    """The objective of counts in units of d; padding is held at 0."""
    items = jnp.asarray(count_items(excess, mask), excess.dtype)
    held = real(jnp.ones_like(excess), mask) / jnp.sqrt(items)
    ridge = real(jnp.broadcast_to(gamma, excess.shape), mask, 1.0)
    return Ridged(loss, real(excess, mask), ridge, jnp.ones_like(gamma), held)


def fit_counts(
    wins: WinCounts,
    link: Link,
    *,
    gamma: Scalar = 0.0,
    tilt: Scalar | Scores = 0.0,
    search: Search = USUAL,
) -> Minimum:
    """Minimize the objective of ``wins`` under ``link`` with ridge γ and linear tilt w (scalar or ``(m,)``)."""
    dtype, items = wins.matrix.dtype, wins.num_items
    tilt = jnp.broadcast_to(jnp.asarray(tilt, dtype), (items,))
    parts = wins.matrix, wins.mask, tilt, jnp.asarray(gamma, dtype)
    if search.optimizer is not None:
        objective = _of_counts(*parts, link)
        return minimize(objective, jax.lax.stop_gradient(_start(objective)), search)
    return _in_lanes(functools.partial(_of_counts, link=link), parts, search)


def fit_signed(
    margins: PairMatrix, weights: PairMatrix, link: Link, *, gamma: Scalar, mask: Mask | None = None
) -> Minimum:
    """Minimize :func:`signed_objective`, from equal scores where it need not be convex."""
    parts = margins, weights, jnp.asarray(gamma, margins.dtype), mask
    # Gradients may grow temporarily during a descent that isn't convex.
    search = USUAL if link.name == "logistic" else Search(patience=40)
    return _in_lanes(functools.partial(signed_objective, link=link), parts, search)


def _in_lanes(made: Callable[..., Ridged], parts: tuple[Any, ...], search: Search) -> Minimum:
    """Minimize the objective of these parts, under ``jax.vmap`` those of a batch along a trailing axis."""
    dtype, items = parts[0].dtype, parts[0].shape[0]

    def search_lanes(*parts: PyTree) -> Minimum:
        objective = made(*jax.tree.map(materialized, parts))
        start = _start(objective)
        # Of many problems only: a second search takes long to compile.
        rough = start.ndim > 1 and dtype != jnp.float32
        coarse = jax.tree.map(_single, objective) if rough else None
        return newton(objective, start, search, coarse)

    found = in_lanes(search_lanes, items)
    zero = jnp.zeros(items, dtype)
    return root_of(lambda theta: made(*parts).gradient(theta), zero, lambda _: found(*parts))


def _single(leaf: Array) -> Array:
    return leaf.astype(jnp.float32) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf


def _start(objective: Ridged) -> Scores:
    """Where a search begins: of other links, their wins as if logistic, in scores of as steep a slope at 0."""
    loss, excess = objective.loss, objective.excess
    if isinstance(loss, Counts):
        return loss.start(excess, objective.ridge)
    assert isinstance(loss, _LinkLoss)
    if objective.longest < 8:
        return jnp.zeros_like(excess)
    steep = 2 * loss.link.score(jnp.zeros((), excess.dtype))
    excess = excess + 0.5 * (column_sums(loss.lost) - column_sums(loss.won))
    return loss.meetings.start(excess, objective.ridge) / steep


@pytree
class _Edges(Meetings):
    """How often each of some pairs of many items met: memory and time are linear in the number of pairs."""

    first: Int[Array, "*batch edges"]
    second: Int[Array, "*batch edges"]
    met: Float[Array, "*batch edges"]
    num_items: int = static()

    @property
    def degree(self) -> Float[Array, ""]:
        return 2 * jnp.sum(self.met) / self.num_items

    def excess(self, counted: Scores) -> Scores:
        return counted - 0.5 * self.squares(self.met)

    def log_odds(self, beta: Scores) -> Each:
        return beta[self.first] - beta[self.second]

    def real(self, each: Each) -> Each:
        return jnp.where(self.met > 0, each, 0)

    def weigh(self, each: Each) -> Each:
        return self.met * each

    def pull(self, each: Each) -> Scores:
        return self._zero(each).at[self.first].add(each).at[self.second].add(-each)

    def squares(self, each: Each) -> Scores:
        return self._zero(each).at[self.first].add(each).at[self.second].add(each)

    def _zero(self, each: Each) -> Scores:
        return jnp.zeros(self.num_items, each.dtype)


def fit_edges(edges: WinEdges, link: Link, *, gamma: Scalar, search: Search) -> Minimum:
    """Minimize the objective of an edge list under ``link`` with ridge γ."""
    objective = edge_objective(edges, link, gamma=gamma)
    return minimize(objective, jnp.zeros_like(objective.excess), search)


def edge_objective(edges: WinEdges, link: Link, *, gamma: Scalar = 0.0) -> Ridged:
    """That objective."""
    won, lost = edges.first_wins, edges.second_wins
    design = _Edges(edges.first, edges.second, won + lost, edges.num_items)
    objective = Ridged.of(design, edges.totals, design.ridges(gamma))
    if link.name == "logistic":
        return objective
    loss = _LinkLoss(design, won, lost, link)
    return dataclasses.replace(objective, loss=loss, excess=jnp.zeros_like(objective.excess))


def information(theta: Scores, comparisons: PairMatrix, link: Link) -> Array:
    """Expected (Fisher) information of θ, the Laplacian of M_ij F'²/(F(1-F)), ``(m, m)``."""
    gap = theta[:, None] - theta[None, :]
    return Counts(comparisons).gram(link.score(gap) * link.score(-gap))
