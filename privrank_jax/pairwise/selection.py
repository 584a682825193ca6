"""Selection of the link: fit under each, keep the one with the largest likelihood.

Links with equally many parameters need no complexity penalty. Only the *shape* of F distinguishes links, since each
link has its own scale of θ: with scores within ±1 it takes thousands of comparisons per link to detect it.

Source: Xu, Sun, Cheng, Rate-optimal rank aggregation with private pairwise rankings, S.1.3.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from privrank_jax._batches import of_each_problem
from privrank_jax._types import Scalar, Scores
from privrank_jax._validate import check_nonnegative
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.debiased_fit import DebiasedSums, scores_from_sums
from privrank_jax.pairwise.maximum_likelihood import mle

LINKS = ("logistic", "normal", "laplace")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LinkSelection:
    """The fits side by side, one entry per link.

    Attributes:
        best: index of the selected link, int32 ``()``; the first among ties.
        losses: ``(k,)`` -Σ Z_ij log F(θ̂_i - θ̂_j) of each fit, without the ridge.
        scores: ``(k, m)`` θ̂ of each fit.
        codes: ``(k,)`` int32, 0 where the fit converged
            (:data:`~privrank_jax.pairwise.minimizer.CODES`).
        links: the names, static.
    """

    best: Int[Array, "*batch"]
    losses: Float[Array, "*batch links"]
    scores: Float[Array, "*batch links items"]
    codes: Int[Array, "*batch links"]
    links: tuple[str, ...] = dataclasses.field(metadata={"static": True})

    @property
    def name(self) -> str:
        """The selected link.

        Raises:
            ValueError: a batch of problems.
        """
        if np.ndim(self.best):
            raise ValueError("a name is for one problem: take links[best] of each of the batch.")
        return self.links[int(self.best)]

    @property
    @of_each_problem
    def margin(self) -> Float[Array, ""]:
        """The amount by which the log-likelihood of the selected link exceeds the next largest, ``()``, >= 0."""
        ordered = jnp.sort(self.losses)
        return ordered[1] - ordered[0]


def select_link(
    data: WinCounts | DebiasedSums,
    links: tuple[str | Link, ...] = LINKS,
    gamma: Scalar = 2.0,
) -> Estimate:
    """Fit the scores under each link and select the link with the largest likelihood.

    Links are compared by their losses *without* the ridge, at scores fitted *with* it. On debiased sums the
    loss is an unbiased estimate (for fixed θ) of that of the weighted true answers; it may be non-convex
    in θ, see :func:`~privrank_jax.pairwise.debiased_rr`. Losses of n comparisons carry rounding of about
    n·1e-7 in float32: from a million comparisons on, use float64.

    Args:
        data: win counts of m items, **not private**; or the sums of debiased reports
            (:func:`~privrank_jax.pairwise.debiased_sums`), in which case the selection is
            post-processing.
        links: two or more, static.
        gamma: ridge γ >= 0 in the objective of the unnormalized sums, may be traced.

    Returns:
        ``value``: scores under the selected link, ``(m,)``. ``diagnostics``: :class:`LinkSelection`.
        ``guarantee``: ``None``; for debiased sums the guarantee of the reports applies.

    Raises:
        ValueError: fewer than two links, a link twice, an unknown one, γ < 0.

    >>> wins = WinCounts.from_matrix([[0, 30, 48], [20, 0, 30], [2, 20, 0]])
    >>> select_link(wins).diagnostics.links
    ('logistic', 'normal', 'laplace')
    """
    check_nonnegative("gamma", gamma)
    candidates = tuple(get_link(link) for link in links)
    if len(candidates) < 2 or len(set(candidates)) < len(candidates):
        raise ValueError(f"give two links or more, each once; got {links!r}.")
    return _select(data, gamma, candidates)


@functools.partial(jax.jit, static_argnums=2)
def _select(data: WinCounts | DebiasedSums, gamma: Scalar, links: tuple[Link, ...]) -> Estimate:
    wins = data.matrix if isinstance(data, WinCounts) else data.wins
    losses, scores, codes = [], [], []
    for link in links:
        theta, code = _fit(data, link, gamma)
        gap = theta[:, None] - theta[None, :]
        losses.append(-jnp.sum(wins * link.log_cdf(gap)))
        scores.append(theta)
        codes.append(code)
    stacked = [jnp.stack(values) for values in (losses, scores, codes)]
    best = jnp.argmin(stacked[0]).astype(jnp.int32)
    selection = LinkSelection(best, *stacked, links=tuple(link.name for link in links))
    return Estimate(stacked[1][best], None, selection)


def _fit(
    data: WinCounts | DebiasedSums, link: Link, gamma: Scalar
) -> tuple[Scores, Int[Array, ""]]:
    if isinstance(data, WinCounts):
        found = mle(data, link, gamma=gamma)
        return found.value, found.diagnostics.code
    found = scores_from_sums(data, link, gamma)
    return found.value, found.diagnostics.fit.code
