r"""What one user's answers to a public questionnaire can change in the win totals, for noise of that shape.

A user who is asked the pairs E, the edges of a graph G on the items (an edge for each time that a pair is asked), adds
N^u = Σ_e a_e to the totals, where a_e is e_i, e_j, a half of each (tie), or 0 (no answer). K-norm noise
(:mod:`privrank_jax.privacy.geometry`) fits a convex body K, symmetric around 0, that holds the differences of two
users' totals. A body of this kind must hold the convex hull of the differences; the two below are that hull.

*Flip* (which pairs were answered is public). Edge e adds δ_e(e_i - e_j), \|δ_e\| ≤ 1, so the differences lie in the
zonotope Z(G) = Σ_e [-1, 1](e_i - e_j), and each of its corners is the difference of a user's answers and their
opposites. Its dimension is the number of items less the number of components of G.

*Replace* (questions public, whether a user answered them private). Edge e adds the difference of two points of the
triangle with corners 0, e_i, e_j. These differences fill the hexagon with corners ±(e_i - e_j), ±e_i, ±e_j, which is
½([-1, 1](e_i - e_j) + [-1, 1]e_i + [-1, 1]e_j). So with an item 0 for "no answer" and the graph G⁺ that has all
edges of G and, for each of them, an edge from both its items to item 0, the differences fill ½Z(G⁺), the coordinate of
item 0 dropped; it is minus the sum of the others, so nothing is lost. The dimension is the number of items asked about.

*Add or remove*: the differences are the totals of one user and their negatives. Their hull is no zonotope, and no
noise of its shape is offered.

*Integers.* Twice the totals are whole. Under flips their differences are sums of whole multiples of the e_i - e_j:
points of 2Z(G) in the lattice Λ(G) of :mod:`privrank_jax.exact.k_norm`, where c = 2 then. Under replacement they are
whole vectors in Z(G⁺), which become points of Λ(G⁺) with the coordinate of item 0: c = 1.

*Different questionnaires.* All of this holds for users who are asked a part of G, since a smaller graph has a smaller
zonotope and a smaller lattice. So where users are asked different pairs, G may be any graph that holds all that one of
them is asked.

*One comparison.* A flip of it moves the totals by e_i - e_j for any of the pairs; the hull of these is the part of an
ℓ₁ ball on which the totals sum to 0. That shape is the one of Laplace noise but for the sum of the noise, and none
other is offered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from privrank_jax._neighbors import SHAPED_ADJACENCIES
from privrank_jax._types import PairMatrix, PairMatrixLike, Scalar
from privrank_jax._validate import check_choice, is_traced
from privrank_jax.comparisons import default_float
from privrank_jax.pairwise.questionnaire import counts_sensitivity
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.noise import SHAPED_NOISES
from privrank_jax.privacy.privacy import Privacy


class Changes(NamedTuple):
    """The body K = Z(G)/``parts`` of what one user can change; coordinates beyond the items are dropped.

    Attributes:
        edges: ``(k, k)``, symmetric: how often G joins two of its k vertices.
        parts: 1 or 2.
    """

    edges: PairMatrix | np.ndarray
    parts: int


def read_questionnaire(
    questionnaire: PairMatrixLike | None,
    privacy: Privacy,
    num_items: int,
    noise: str,
    sensitivity: Scalar | None,
) -> PairMatrix | np.ndarray | None:
    """The argument ``questionnaire`` as an array, on the host unless traced; None if it was left out.

    Args:
        questionnaire: ``(m, m)`` symmetric whole numbers, how often each user is asked each pair.
        privacy: the promise; its users must have at most as many comparisons, and neighbors the same questionnaire.
        num_items: m.
        noise: K-norm noise needs a questionnaire.
        sensitivity: the argument of that name, which a questionnaire replaces.

    Raises:
        ValueError: another shape, no valid counts, a promise that doesn't fit, both a questionnaire and a sensitivity,
            K-norm noise without a questionnaire.
    """
    if questionnaire is None:
        if noise == "k-norm":
            raise ValueError(
                "noise='k-norm' has the shape of what users are asked: give questionnaire, or choose noise='laplace'."
            )
        return None
    if sensitivity is not None:
        raise ValueError("the questionnaire implies the sensitivity: leave one of the two out.")
    if privacy.unit != "user":
        raise ValueError(
            f"a questionnaire is what one user is asked, so it needs unit='user', not {privacy.unit!r}: leave it out."
        )
    if "questionnaire" not in privacy.neighbors.shared:
        raise ValueError(
            "the noise depends on the questionnaire, so the promise must say that it is public: Privacy(..., "
            "public=('questionnaire',))."
        )
    if is_traced(questionnaire):
        counts = jnp.asarray(questionnaire)
        _check_shape(counts, num_items)
        return counts
    counts = checked_counts(np.asarray(questionnaire), num_items)
    most, given = int(counts.sum()) // 2, privacy.contributions
    if given is not None and not is_traced(given) and np.any(np.asarray(given) > most):
        raise ValueError(
            f"contributions = {given} contradicts the questionnaire, which asks {most} pair{'s' * (most > 1)}: no user "
            "gives more answers than that."
        )
    return counts


def _check_shape(counts: PairMatrix | np.ndarray, num_items: int) -> None:
    if counts.shape != (num_items, num_items):
        raise ValueError(
            f"questionnaire must have shape ({num_items}, {num_items}), how often each pair of items is asked, got "
            f"{counts.shape}."
        )


def checked_counts(counts: np.ndarray, num_items: int) -> np.ndarray:
    """The questionnaire, if it holds valid counts of the pairs of m items; else ``ValueError``."""
    _check_shape(counts, num_items)
    valid = (
        np.isfinite(counts) & (counts >= 0) & (counts == np.round(counts)) & (counts == counts.T)
    )
    if not np.all(valid) or np.any(np.diagonal(counts)) or not np.any(counts):
        raise ValueError(
            "questionnaire must hold whole numbers, at least 0 and not all of them 0, symmetric, with a diagonal of 0."
        )
    return counts


def questionnaire_changes(counts: PairMatrix | np.ndarray, adjacency: str) -> Changes:
    """What one user can change, for K-norm noise (theorem in the module docstring).

    Args:
        counts: ``(m, m)`` from :func:`read_questionnaire`; may be traced.
        adjacency: ``"flip"`` or ``"replace"``.

    Raises:
        ValueError: ``"add-remove"``.

    >>> questionnaire_changes(np.array([[0, 2], [2, 0]]), "replace").edges.tolist()
    [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
    """
    if adjacency not in SHAPED_ADJACENCIES:
        raise ValueError(
            "K-norm noise needs adjacency='flip' or 'replace': what a user adds to the totals under "
            f"{adjacency!r} has no such shape. Choose noise='laplace'."
        )
    if adjacency == "flip":
        return Changes(counts, 1)
    module = jnp if is_traced(counts) else np
    unanswered = module.append(counts.sum(-1), 0)
    rows = module.concatenate([counts, unanswered[None, :-1]])
    return Changes(module.concatenate([rows, unanswered[:, None]], axis=1), 2)


def noise_shape(counts: PairMatrix | np.ndarray, adjacency: str) -> Zonotope:
    """The body of :func:`questionnaire_changes`, whose first m coordinates are the items."""
    edges, parts = questionnaire_changes(counts, adjacency)
    if is_traced(edges):
        return Zonotope(jnp.asarray(edges) / parts)
    known = np.asarray(edges)
    lengths: Any = (known / parts).astype(default_float())
    asked = known.any(axis=1)
    all_pairs = np.logical_and.outer(asked, asked) & ~np.eye(len(known), dtype=bool)
    return Zonotope(lengths, complete=parts == 1 and np.array_equal(known, all_pairs))


def counted_sensitivity(counts: PairMatrix | np.ndarray, privacy: Privacy, norm: str) -> float:
    """Sensitivity of the totals to a user who is asked a questionnaire, for Laplace and Gaussian noise.

    Args:
        counts: ``(m, m)`` from :func:`read_questionnaire`, not traced: the largest cut is found on the host.
        privacy: the promise.
        norm: ``"l1"`` or ``"l2"``.

    Raises:
        ValueError: a traced questionnaire.
    """
    if is_traced(counts):
        raise ValueError(
            "the sensitivity to a traced questionnaire can't be computed: give sensitivity instead (see "
            "questionnaire_sensitivity), or choose noise='k-norm'."
        )
    return counts_sensitivity(np.asarray(counts, np.int64), privacy, norm)


def noise_on_totals(
    kind: str,
    scale: Any,
    count: int,
    counts: PairMatrix | np.ndarray | None,
    adjacency: str,
) -> Noise:
    """Noise of this kind and scale on the win totals.

    Args:
        kind: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``.
        scale: 1/ε, λ or σ.
        count: how many totals.
        counts: of K-norm noise: how often each user is asked each pair; numbers of its shape beyond ``count``, such as
            that of "no answer", are dropped.
        adjacency: ``"flip"`` or ``"replace"``.
    """
    if kind != "k-norm":
        return Noise.independent(kind, scale, count)
    assert counts is not None
    return Noise(kind, scale, noise_shape(counts, adjacency), count)


def noise_that_was(
    noise: str | None, questionnaire: PairMatrixLike | None, num_items: int
) -> tuple[str, np.ndarray | None]:
    """The noise of a release, by default K-norm noise with a questionnaire, else Laplace noise; and the questionnaire.

    Args:
        noise: what was given.
        questionnaire: that of a release with K-norm noise.
        num_items: m.

    Raises:
        ValueError: K-norm noise without a questionnaire or the reverse, a traced questionnaire, or one that holds no
            valid counts; an unknown noise.
    """
    if noise is None:
        noise = "laplace" if questionnaire is None else "k-norm"
    check_choice("noise", noise, SHAPED_NOISES)
    if (noise == "k-norm") != (questionnaire is not None) or is_traced(questionnaire):
        raise ValueError(
            "K-norm noise, and no other, has the shape of a questionnaire: give noise='k-norm' and questionnaire, not "
            "traced, or neither."
        )
    if questionnaire is None:
        return noise, None
    return noise, checked_counts(np.asarray(questionnaire), num_items)
