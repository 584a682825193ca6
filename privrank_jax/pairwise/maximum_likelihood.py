"""Maximum likelihood of latent scores, without privacy: from comparisons, with covariates or ties, and from choices."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Scalar
from privrank_jax._validate import check_choice, check_nonnegative, is_traced
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.debiased_fit import DebiasedSums, scores_from_sums
from privrank_jax.pairwise.designs import Counts, Design
from privrank_jax.pairwise.fits import FitDiagnostics, fit_counts, fit_edges, fitted
from privrank_jax.pairwise.graph import (
    check_axes,
    check_one_problem,
    check_tied_counts,
    connectivity,
    edge_connectivity,
    has_maximum,
)
from privrank_jax.pairwise.lanes import center
from privrank_jax.pairwise.minimizer import Search

if TYPE_CHECKING:
    import optax

TIES = ("half", "davidson")
"""What a tie is: half a win for both items, or an outcome of its own."""


def mle(
    data: WinCounts | WinEdges | CovariateTable | Choices,
    link: str | Link = "logistic",
    gamma: Scalar = 0.0,
    *,
    ties: str = "half",
    tie_gamma: Scalar = 0.0,
    optimizer: optax.GradientTransformation | None = None,
    tolerance: float | None = None,
    max_steps: int = 100,
) -> Estimate:
    """Scores θ that maximize the likelihood of the answers less (γ/2)‖θ‖², Σθ = 0. **Not private.**

    Of win counts the likelihood is Π F(θ_i - θ_j)^{W_ij}, else that of :mod:`privrank_jax.pairwise.designs`.
    Differentiable with respect to the data and the ridges by the implicit function theorem.

    Args:
        data: win counts, edges for many items with few compared pairs, comparisons with features, from
            :func:`~privrank_jax.pairwise.covariate_table`, or choices.
        link: ``"logistic"`` (Bradley-Terry-Luce), ``"normal"`` (Thurstone), ``"laplace"``; only of counts with half
            wins.
        gamma: ridge γ >= 0, may be traced; that of a feature is γ times the square of its largest size.
        ties: ``"half"``: a tie is half a win for both; ``"davidson"``: an outcome of its own, of win counts that know
            their ``ties``, or of a table.
        tie_gamma: ridge γ_T >= 0 of log ν, may be traced.
        optimizer: any optax transformation in place of Newton's method; hashed by identity, so build it once.
        tolerance: ℓ_∞ gradient norm to reach, in units of the mean number of answers per item; default 1e-10 or 1e-6.
        max_steps: iterations at most (edge lists: at least 500 are allowed).

    Returns:
        ``value``: θ, ``(m,)``, dtype of the data; masked items get 0. With covariates or ties as outcomes
        :class:`~privrank_jax.pairwise.designs.ModelScores`. ``guarantee``: ``None``. ``diagnostics``:
        :class:`FitDiagnostics`. With ``separated`` True and no ridge there is no finite maximum and the value is the
        point at which the search stopped; with ``components`` > 1 scores of different components can't be compared.
        With ties as outcomes ``separated`` is ``None`` under ``jit``, and for more than 2,000 compared pairs; of tables
        both are ``None``.

    Raises:
        ValueError: unknown names, a negative ridge, a batch of problems, a link where there is none, counts that don't
            know their ties; without a ridge of log ν, a table without ties. ``TypeError``: other data.

    >>> wins = WinCounts.from_matrix([[0, 3], [1, 0]])
    >>> estimate = mle(wins)
    >>> round(float(estimate.value[0] - estimate.value[1]), 4)  # log 3
    1.0986
    """
    link = get_link(link)
    check_nonnegative("gamma", gamma)
    check_nonnegative("tie_gamma", tie_gamma)
    check_choice("ties", ties, TIES)
    davidson = ties == "davidson"
    search = Search(tolerance, max_steps, optimizer=optimizer)
    if isinstance(data, WinEdges) and not davidson:
        check_axes("first_wins", data.first_wins, 1)
        search = search._replace(max_steps=max(max_steps, 500))
        estimate = _mle_sparse(data, gamma, link, search)
        if is_traced(data, gamma):
            return estimate
        return _knowing(estimate, *edge_connectivity(data))
    check_answers(data, davidson)
    if isinstance(data, WinCounts) and not davidson:
        return _mle_dense(data, gamma, link, search)
    if link.name != "logistic":
        raise ValueError(
            f"link {link.name!r} is for win counts whose ties are half wins: other models are logistic."
        )
    known = davidson and not is_traced(data, gamma, tie_gamma)
    if isinstance(data, CovariateTable) and known and not np.any(np.asarray(tie_gamma)):
        tied, rows = float(data.ties), float(data.design.count(jnp.ones(data.outcomes.shape)))
        if tied in (0.0, rows):
            raise ValueError(
                f"{tied:g} of {rows:g} comparisons are ties, so the tie parameter has no finite estimate: give "
                "tie_gamma > 0, or fit without it by ties='half'."
            )
    # As arrays, so that numbers and arrays are fitted by one program.
    ridges = jnp.asarray(gamma, float), jnp.asarray(tie_gamma, float)
    found = _mle_of_design(data, *ridges, davidson, search)
    if isinstance(data, WinCounts) and known:
        exists = has_maximum(data)
        separated = None if exists is None else not exists
        return _knowing(found, found.diagnostics.components, separated)
    return found


def check_answers(data: object, davidson: bool) -> None:
    """Raise unless these are answers of which ties can be outcomes of their own, where ``davidson`` says so."""
    if isinstance(data, WinCounts):
        return check_tied_counts(data) if davidson else check_one_problem(data)
    if not isinstance(data, CovariateTable | Choices):
        raise TypeError(
            "data must be WinCounts, a CovariateTable, Choices or, for mle with ties='half', WinEdges, got "
            f"{type(data).__name__}; count comparisons by WinCounts.from_comparisons, wrap a matrix with "
            "WinCounts.from_matrix, or make a table by covariate_table."
        )
    if davidson and isinstance(data, Choices):
        raise ValueError("choices from sets know no ties: leave ties='davidson' out.")


def design_of(
    data: WinCounts | CovariateTable | Choices, davidson: bool
) -> tuple[Design, Float[Array, "parameters"]]:
    """The public part of data, and what is counted of their outcomes; with ``davidson`` ties too."""
    if isinstance(data, Choices):
        return data.design, data.totals
    if isinstance(data, WinCounts):
        design, counted = Counts(data.comparisons, data.mask, ties=davidson), data.totals
    else:
        design, counted = dataclasses.replace(data.design, ties=davidson), data.sums
    if davidson:
        counted = jnp.append(counted, jnp.asarray(data.ties, design.dtype))
    return design, counted


def _knowing(found: Estimate, components: Array | int, separated: Array | bool | None) -> Estimate:
    """A fit with what the graph of the comparisons says of it."""
    told = {"components": components, "separated": separated}
    return dataclasses.replace(found, diagnostics=dataclasses.replace(found.diagnostics, **told))


@functools.partial(jax.jit, static_argnames=("davidson", "search"))
def _mle_of_design(
    data: WinCounts | CovariateTable | Choices,
    gamma: Array,
    tie_gamma: Array,
    davidson: bool,
    search: Search,
) -> Estimate:
    design, counted = design_of(data, davidson)
    found = fitted(design, counted, design.all_ridges(gamma, tie_gamma), search)
    if isinstance(data, CovariateTable):
        return found
    if isinstance(data, Choices):
        return _knowing(found, *connectivity(data.wins))
    return _knowing(found, connectivity(dataclasses.replace(data, ties=None))[0], None)


@functools.partial(jax.jit, static_argnames=("link", "search"))
def _mle_dense(wins: WinCounts, gamma: Scalar, link: Link, search: Search) -> Estimate:
    found = fit_counts(wins, link, gamma=gamma, search=search)
    estimate = Estimate(center(found.value, wins.mask), None, FitDiagnostics.of(found))
    return _knowing(estimate, *connectivity(wins))


@functools.partial(jax.jit, static_argnames=("link", "search"))
def _mle_sparse(edges: WinEdges, gamma: Scalar, link: Link, search: Search) -> Estimate:
    found = fit_edges(edges, link, gamma=gamma, search=search)
    return Estimate(center(found.value, None), None, FitDiagnostics.of(found))


@pytree
class LinkSelection:
    """The fits side by side, one entry per link.

    Attributes:
        best: index of the selected link, int32 ``()``; the first among ties.
        losses: ``(k,)`` -Σ Z_ij log F(θ̂_i - θ̂_j) of each fit, without the ridge.
        scores: ``(k, m)`` θ̂ of each fit.
        codes: ``(k,)`` int32, 0 where the fit converged.
        links: the names, static.
    """

    best: Int[Array, "*batch"]
    losses: Float[Array, "*batch links"]
    scores: Float[Array, "*batch links items"]
    codes: Int[Array, "*batch links"]
    links: tuple[str, ...] = static()


def select_link(
    data: WinCounts | DebiasedSums,
    links: tuple[str | Link, ...] = ("logistic", "normal", "laplace"),
    gamma: Scalar = 2.0,
) -> Estimate:
    """Fit the scores under each link and select the link with the largest likelihood (Xu, Sun and Cheng, S.1.3).

    Links are compared by their losses *without* the ridge, at scores fitted *with* it. On debiased sums the loss is an
    unbiased estimate (for fixed θ) of that of the weighted true answers. Losses of n comparisons carry rounding of
    about n·1e-7 in float32. With scores within ±1 it takes thousands of comparisons per link to tell links apart.

    Args:
        data: win counts of m items, **not private**; or the sums of debiased reports
            (:func:`~privrank_jax.pairwise.debiased_fit.debiased_sums`), of which the selection is post-processing.
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
    fits = []
    for link in links:
        counted = isinstance(data, WinCounts)
        found = mle(data, link, gamma) if counted else scores_from_sums(data, link, gamma)
        gap = found.value[:, None] - found.value[None, :]
        loss = -jnp.sum(wins * link.log_cdf(gap))
        search = found.diagnostics if counted else found.diagnostics.fit
        fits.append((loss, found.value, search.code))
    losses, scores, codes = (jnp.stack(values) for values in zip(*fits))
    best = jnp.argmin(losses).astype(jnp.int32)
    names = tuple(link.name for link in links)
    return Estimate(scores[best], None, LinkSelection(best, losses, scores, codes, names))
