"""Maximum likelihood of latent scores, without privacy: from comparisons, with covariates or ties, and from choices."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from privrank_jax._types import Scalar
from privrank_jax._validate import check_choice, check_nonnegative, is_traced
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.davidson import has_maximum
from privrank_jax.pairwise.designs import Counts, Design
from privrank_jax.pairwise.fits import FitDiagnostics, fit_counts, fit_edges, fitted
from privrank_jax.pairwise.graph import (
    check_axes,
    check_one_problem,
    check_tied_counts,
    connectivity,
    edge_connectivity,
)
from privrank_jax.pairwise.lanes import center

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

    Of win counts the likelihood is Π F(θ_i - θ_j)^{W_ij}; with covariates, with ties as outcomes of their own, or of
    choices it is that of :mod:`privrank_jax.pairwise.designs`. Dense counts are fitted by Newton's method, edge lists
    by the same with conjugate gradients, without a matrix. Differentiable with respect to the data and the ridges by
    the implicit function theorem.

    Args:
        data: dense :class:`~privrank_jax.comparisons.WinCounts` of m items;
            :class:`~privrank_jax.comparisons.WinEdges` for many items with few compared pairs; comparisons with
            features, from :func:`~privrank_jax.pairwise.covariate_table`; or :class:`~privrank_jax.pairwise.Choices`.
        link: ``"logistic"`` (Bradley-Terry-Luce), ``"normal"`` (Thurstone), ``"laplace"``; only of counts with half
            wins.
        gamma: ridge γ >= 0, may be traced; that of a feature is γ times the square of its largest size.
        ties: ``"half"``: a tie is half a win for both; ``"davidson"``: an outcome of its own, of win counts that know
            their ``ties`` or of a table, where an outcome 1/2 is a tie.
        tie_gamma: ridge γ_T >= 0 of log ν, may be traced.
        optimizer: any optax transformation instead of the default; it is hashed by identity, so build it once and
            pass the same object.
        tolerance: ℓ_∞ gradient norm to reach, relative to the mean number of answers per item
            (default 1e-10 in float64, 1e-6 in float32).
        max_steps: iterations at most (edge lists: at least 500 are allowed).

    Returns:
        ``value``: θ, ``(m,)``, dtype of the data; masked items get 0. With covariates or ties as outcomes
        :class:`~privrank_jax.pairwise.designs.ModelScores`. ``guarantee``: ``None``. ``diagnostics``:
        :class:`FitDiagnostics`. With ``separated`` True and no ridge there is no finite maximum and the value is the
        point at which the search stopped; with ``components`` > 1 scores of different components can't be compared.
        With ties as outcomes ``separated`` is ``None`` under ``jit``, and for more than 2,000 compared pairs. Of tables
        both are ``None``: where scores and covariates predict every outcome, the code or scores of dozens tell so.

    Raises:
        ValueError: unknown names, a negative ridge, a batch of problems, a link where there is none, counts that don't
            know their ties; without a ridge of log ν, a table in which nothing or everything is tied.
        TypeError: ``data`` is none of the above.

    >>> wins = WinCounts.from_matrix([[0, 3], [1, 0]])
    >>> estimate = mle(wins)
    >>> round(float(estimate.value[0] - estimate.value[1]), 4)  # log 3
    1.0986
    >>> wins = WinCounts.from_matrix([[0, 35], [15, 0]], ties=20)  # 25 wins, 20 ties, 5 losses
    >>> found = mle(wins, ties="davidson").value
    >>> round(float(found.scores[0] - found.scores[1]), 4), round(float(found.tie), 4)  # log 5, 20/√(25·5)
    (1.6094, 1.7889)
    >>> from privrank_jax.pairwise.covariates import covariate_table
    >>> table = covariate_table([0, 1] * 9, [1, 0] * 9, [1, 0, 1] * 6, {"first": [1.0] * 18}, num_items=2)
    >>> round(float(mle(table).value.coefficients[0]), 3)  # log 2
    0.693
    >>> choices = Choices.from_top1([(0, [1]), (0, [1]), (0, [1]), (1, [0])], num_items=2)
    >>> found = mle(choices).value
    >>> round(float(found[0] - found[1]), 4)  # log 3
    1.0986
    """
    link = get_link(link)
    check_nonnegative("gamma", gamma)
    check_nonnegative("tie_gamma", tie_gamma)
    check_choice("ties", ties, TIES)
    davidson = ties == "davidson"
    if isinstance(data, WinEdges) and not davidson:
        check_axes("first_wins", data.first_wins, 1)
        estimate = _mle_sparse(data, gamma, link, optimizer, tolerance, max(max_steps, 500))
        if is_traced(data, gamma):
            return estimate
        return _knowing(estimate, *edge_connectivity(data))
    check_answers(data, davidson)
    if isinstance(data, WinCounts) and not davidson:
        return _mle_dense(data, gamma, link, optimizer, tolerance, max_steps)
    if link.name != "logistic":
        raise ValueError(
            f"link {link.name!r} is for win counts whose ties are half wins: other models are logistic."
        )
    if davidson and isinstance(data, CovariateTable):
        _check_tie_maximum(data, tie_gamma)
    # As arrays, so that numbers and arrays are fitted by one program.
    ridges = jnp.asarray(gamma, float), jnp.asarray(tie_gamma, float)
    found = _mle_of_design(data, *ridges, davidson, optimizer, tolerance, max_steps)
    if isinstance(data, WinCounts) and not is_traced(data, gamma, tie_gamma):
        exists = has_maximum(data)
        separated = None if exists is None else not exists
        return _knowing(found, found.diagnostics.components, separated)
    return found


def check_answers(data: object, davidson: bool) -> None:
    """Raise unless these are answers of which ties can be what they are to be.

    Args:
        data: win counts, a table or choices.
        davidson: whether ties are outcomes of their own.

    Raises:
        TypeError: they are none of these.
        ValueError: a batch of problems, counts that don't know their ties, ties of choices.
    """
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


def _check_tie_maximum(data: CovariateTable, tie_gamma: Scalar) -> None:
    """Raise ``ValueError`` where log ν has no finite estimate."""
    if is_traced(data, tie_gamma) or np.any(np.asarray(tie_gamma)):
        return
    tied = float(data.ties)
    rows = float(data.design.count(jnp.ones(data.outcomes.shape)))
    if tied in (0.0, rows):
        raise ValueError(
            f"{tied:g} of {rows:g} comparisons are ties, so the tie parameter has no finite estimate: give "
            "tie_gamma > 0, or fit without it by ties='half'."
        )


def design_of(
    data: WinCounts | CovariateTable | Choices, davidson: bool
) -> tuple[Design, Float[Array, "parameters"]]:
    """The public part of data, and what is counted of their outcomes.

    Args:
        data: answers.
        davidson: whether ties are outcomes of their own.
    """
    if isinstance(data, Choices):
        return data.design, data.totals
    if isinstance(data, WinCounts):
        design = Counts(data.comparisons, data.mask, ties=davidson)
        if not davidson:
            return design, data.totals
        return design, jnp.append(data.totals, jnp.asarray(data.ties, design.dtype))
    if not davidson:
        return data.design, data.sums
    design = dataclasses.replace(data.design, ties=True)
    return design, jnp.append(data.sums, data.ties)


def _knowing(found: Estimate, components: Array | int, separated: Array | bool | None) -> Estimate:
    """A fit with what the graph of the comparisons says of it."""
    told = {"components": components, "separated": separated}
    return dataclasses.replace(found, diagnostics=dataclasses.replace(found.diagnostics, **told))


@functools.partial(jax.jit, static_argnames=("davidson", "optimizer", "tolerance", "max_steps"))
def _mle_of_design(
    data: WinCounts | CovariateTable | Choices,
    gamma: Array,
    tie_gamma: Array,
    davidson: bool,
    optimizer: optax.GradientTransformation | None,
    tolerance: float | None,
    max_steps: int,
) -> Estimate:
    design, counted = design_of(data, davidson)
    search = {"optimizer": optimizer, "tolerance": tolerance, "max_steps": max_steps}
    found = fitted(design, counted, design.all_ridges(gamma, tie_gamma), **search)
    if isinstance(data, CovariateTable):
        return found
    if isinstance(data, Choices):
        return _knowing(found, *connectivity(data.wins))
    return _knowing(found, connectivity(dataclasses.replace(data, ties=None))[0], None)


@functools.partial(jax.jit, static_argnames=("link", "optimizer", "tolerance", "max_steps"))
def _mle_dense(
    wins: WinCounts,
    gamma: Scalar,
    link: Link,
    optimizer: optax.GradientTransformation | None,
    tolerance: float | None,
    max_steps: int,
) -> Estimate:
    found = fit_counts(
        wins, link, gamma=gamma, optimizer=optimizer, tolerance=tolerance, max_steps=max_steps
    )
    value = center(found.value, wins.mask)
    return _knowing(Estimate(value, None, FitDiagnostics.of(found)), *connectivity(wins))


@functools.partial(jax.jit, static_argnames=("link", "optimizer", "tolerance", "max_steps"))
def _mle_sparse(
    edges: WinEdges,
    gamma: Scalar,
    link: Link,
    optimizer: optax.GradientTransformation | None,
    tolerance: float | None,
    max_steps: int,
) -> Estimate:
    found = fit_edges(
        edges, link, gamma=gamma, optimizer=optimizer, tolerance=tolerance, max_steps=max_steps
    )
    value = found.value - jnp.mean(found.value)
    return Estimate(value, None, FitDiagnostics.of(found))
