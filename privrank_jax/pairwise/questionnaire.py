r"""What one unit can change in the win totals N: in general, and where it is public which pairs each user is asked.

A comparison adds 1 in all to the totals, a tie 1/2 twice. So replacing or flipping L comparisons moves them by at most
2L in ℓ₁ and √2 L in ℓ₂, and adding or removing L by at most L in both. All of this is attained.

**At most c comparisons of a user about one item.** A user adds totals x with 0 ≤ x_i ≤ c and Σ x_i ≤ L. The square
‖x‖₂² is largest where as many x_i as possible are c: it is at most S = ⌊L/c⌋c² + (L mod c)². Adding or removing a user
moves the totals by √S in ℓ₂. Replacing one moves them by x - x', and as both are nonnegative ‖x - x'‖₂² ≤ 2S. Flips
move them by x - x' with x_i, x'_i the wins of i that are gained and lost, x_i + x'_i ≤ c: the same. In ℓ₁ nothing
changes.

**Questionnaire.** A user is asked the pairs E, the edges of a graph G on the items: an edge for each time that a pair
is asked. The user adds N^u = Σ_e a_e, where a_e is e_i, e_j, a half of each (tie), or 0 (no answer). Neighbors differ
in one user, and ‖N^u - Ñ^u‖₁ is the largest Σ_e σᵀ(a_e - ã_e) over signs σ of the items. All of the following holds for
users who are asked a part of G as well. It is attained, and never exceeds the bounds above.

*Flip* (which pairs were answered is public): a_e - ã_e = δ_e(e_i - e_j) with \|δ_e\| ≤ 1, and an edge adds at most
\|σ_i - σ_j\|, 2 where σ cuts it, else 0: the sensitivity is **2 maxcut(G)**.
*Replace* (questions public, whether a user answered them private): an edge adds at most 2 where σ cuts it (opposite
answers) and at most 1 elsewhere (answer against none): **\|E\| + maxcut(G)**.
*Add or remove*: N^u has non-negative entries that sum to at most **\|E\|**.

**Theorem (ℓ₂, for Gaussian noise).** *Let B be the ℓ₁ sensitivity above, and d_(1) ≥ d_(2) ≥ ... the degrees of G. Then
the totals move by at most √Σ s_k² in ℓ₂, with s_k = min(d_(k), B - s_1 - ... - s_{k-1}): the largest degrees first,
until B is spent.*

Proof. Let v = N^u - Ñ^u. An edge moves an item's total by at most 1, so \|v_i\| ≤ d_i. The k largest \|v_i\| therefore
sum to at most d_(1) + ... + d_(k), and to at most ‖v‖₁ ≤ B; the smaller of these two is s_1 + ... + s_k. So s weakly
majorizes \|v\|, and a sum of squares, which is convex and increases in each \|v_i\|, is not less at s. ∎

Under flips the sensitivity is the largest ‖Σ δ_e(e_i - e_j)‖₂. A maximizer orients the edges along an order of the
items, so small graphs are solved by enumeration, and for complete ones it equals √Σ(m-1-2i)². For others it is the
smaller of the theorem's bound and √(λ_max \|E\|), with λ_max of the Laplacian.

**Shape.** K-norm noise (:mod:`privrank_jax.privacy.geometry`) fits a convex body that holds the differences of two
users' totals. The two below are their hulls.

*Flip*: the zonotope Z(G) = Σ_e [-1, 1](e_i - e_j), of which each corner is the difference of a user's answers and their
opposites.

*Replace*: edge e adds the difference of two points of the triangle with corners 0, e_i, e_j. These fill the hexagon
with corners ±(e_i - e_j), ±e_i, ±e_j, which is ½([-1, 1](e_i - e_j) + [-1, 1]e_i + [-1, 1]e_j). Let 0 be an item for
"no answer", and G⁺ have all edges of G and, for each of them, an edge from both its items to item 0. The differences
fill ½Z(G⁺), the coordinate of item 0 dropped; it is minus the sum of the others.

*Add or remove*: the hull is no zonotope, and no noise of its shape is offered.

*Integers.* Twice the totals are whole. Under flips their differences are points of 2Z(G) in the lattice Λ(G) of
:mod:`privrank_jax.exact.k_norm`, under replacement points of Z(G⁺) in Λ(G⁺).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from privrank_jax._components import components
from privrank_jax._neighbors import SHAPED_ADJACENCIES
from privrank_jax._types import Numbers, PairMatrix, PairMatrixLike, Scalar
from privrank_jax._validate import check_choice, check_positive, check_shape, is_traced
from privrank_jax.comparisons import default_float
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.noise import norm_of
from privrank_jax.privacy.privacy import Privacy, check_privacy

_EXACT_CUT_ITEMS = 22  # up to which all 2^(m-1) cuts are searched
_EXACT_ORDER_ITEMS = 8  # up to which all m! orders are


def totals_sensitivity(
    privacy: Privacy, norm: str = "l1", *, per_item: int | None = None
) -> Numbers:
    """Sensitivity of the win totals to one unit; proof at the head of this module.

    Args:
        privacy: what is promised: unit comparison, or user with ``contributions``, which may be traced.
        norm: ``"l1"`` for Laplace noise; ``"l2"`` for Gaussian noise.
        per_item: c >= 1, the most comparisons of one user about one item, as ``release.exact_bound`` keeps them.

    Returns:
        Δ₁ or Δ₂; a float unless L is traced.

    Raises:
        ValueError: users without ``contributions``, unit rank, an unknown norm, c not positive or for traced L.

    >>> users = Privacy(1.0, unit="user", adjacency="replace", contributions=15)
    >>> totals_sensitivity(users)
    30.0
    >>> round(totals_sensitivity(users, "l2", per_item=2), 2)  # 7 twos and a one, twice; 21.21 without a bound
    7.62
    """
    check_choice("norm", norm, ("l1", "l2"))
    most, kept = privacy.comparisons_per_unit, privacy.adjacency != "add-remove"
    if per_item is not None:
        check_positive("per_item", per_item)
        if is_traced(most):
            raise ValueError("per_item needs a number of contributions that is not traced.")
    if norm == "l1":
        return (2.0 if kept else 1.0) * most
    if per_item is not None and privacy.unit == "user":
        full, rest = divmod(int(most), int(per_item))
        of_user = math.sqrt(full * per_item**2 + rest**2)
        return math.sqrt(2) * of_user if kept else of_user
    return 2.0 * most / 2**0.5 if kept else 1.0 * most


def questionnaire_sensitivity(
    counts: Int[np.ndarray, "items items"], privacy: Privacy, norm: str = "l1"
) -> float:
    """Sensitivity of the win totals to one user's answers to a public questionnaire.

    Args:
        counts: ``(m, m)`` from :func:`questionnaire_counts`; of different questionnaires the largest number of each.
        privacy: unit user, adjacency ``"flip"`` (answers change), ``"replace"`` (they may also be missing) or
            ``"add-remove"``.
        norm: ``"l1"`` for Laplace noise; ``"l2"`` for Gaussian noise.

    Returns:
        The sensitivity, or an upper bound on it where the graph is too large to solve.

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: a unit other than user, an unknown norm.

    >>> everything = questionnaire_counts(list(itertools.combinations(range(6), 2)), 6)
    >>> questionnaire_sensitivity(everything, Privacy(1.0, unit="user", adjacency="flip"))
    18.0
    """
    check_privacy(privacy)
    if privacy.unit != "user":
        raise ValueError(
            f"a questionnaire bounds what one user can change: promise unit='user', not {privacy.unit!r}."
        )
    check_choice("norm", norm, ("l1", "l2"))
    if norm == "l2" and privacy.adjacency == "flip":
        return _flip_euclidean(counts)
    largest = _largest_sum(counts, privacy.adjacency)
    return float(largest) if norm == "l1" else _euclidean_bound(counts, largest)


def questionnaire_counts(
    pairs: Int[np.ndarray, "pairs 2"] | Sequence[Sequence[int]], num_items: int
) -> Int[np.ndarray, "items items"]:
    """How often each pair is asked: the argument ``questionnaire`` of :func:`~privrank_jax.pairwise.noisy_counts`.

    Args:
        pairs: ``(P, 2)`` int, the pairs that are asked; a pair counts each time it is listed.
        num_items: m.

    Returns:
        ``(m, m)`` int64, symmetric.

    Raises:
        ValueError: an empty questionnaire, bad pairs.

    >>> questionnaire_counts([(0, 1), (2, 1), (1, 0)], 3).tolist()
    [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    """
    edges = np.asarray(pairs, dtype=np.int64)
    if edges.size == 0:
        raise ValueError("the questionnaire is empty; it needs at least one pair of items.")
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"pairs must have shape (P, 2), got {edges.shape}.")
    if edges.min() < 0 or edges.max() >= num_items:
        raise ValueError(f"pairs must name items 0..{num_items - 1}.")
    if np.any(edges[:, 0] == edges[:, 1]):
        raise ValueError("a pair asks about one item twice; drop such pairs.")
    weight = np.zeros((num_items, num_items), np.int64)
    np.add.at(weight, (edges[:, 0], edges[:, 1]), 1)
    return weight + weight.T


def read_questionnaire(
    questionnaire: PairMatrixLike | None,
    privacy: Privacy,
    num_items: int,
    noise: str,
    sensitivity: Scalar | None,
) -> PairMatrix | np.ndarray | None:
    """The questionnaire of a mechanism as an array, on the host unless traced, checked; None if it was left out."""
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
    traced = is_traced(questionnaire)
    counts = jnp.asarray(questionnaire) if traced else np.asarray(questionnaire)
    check_shape("questionnaire", counts, (num_items, num_items))
    if traced:
        return counts
    whole = np.isfinite(counts) & (counts >= 0) & (counts == np.round(counts))
    if not np.all(whole & (counts == counts.T)) or np.any(np.diag(counts)) or not np.any(counts):
        raise ValueError(
            "questionnaire must hold whole numbers, at least 0 and not all of them 0, symmetric, with a diagonal of 0."
        )
    most, given = int(counts.sum()) // 2, privacy.contributions
    if given is not None and not is_traced(given) and np.any(np.asarray(given) > most):
        raise ValueError(
            f"contributions = {given} contradicts the questionnaire, which asks {most} pair{'s' * (most > 1)}: no user "
            "gives more answers than that."
        )
    return counts


def change_of_totals(
    noise: str,
    privacy: Privacy,
    counts: PairMatrix | np.ndarray | None,
    sensitivity: Scalar | None = None,
    *,
    ties: bool = False,
) -> Any:
    """Sensitivity of the totals, with ``ties`` of them and the number of ties, in the norm of the noise."""
    norm = norm_of(noise)
    if counts is None:
        return totals_sensitivity(privacy, norm) if sensitivity is None else sensitivity
    if is_traced(counts):
        raise ValueError(
            "the sensitivity to a traced questionnaire can't be computed: give sensitivity instead (see "
            "questionnaire_sensitivity), or choose noise='k-norm'."
        )
    asked = questionnaire_sensitivity(np.asarray(counts, np.int64), privacy, norm)
    if ties:
        asked = int(counts.sum()) // 2 + asked / 2
    if privacy.contributions is None:
        return asked
    given = totals_sensitivity(privacy, norm)  # users may answer less than they are asked
    return jnp.minimum(asked, given) if is_traced(given) else min(asked, given)


# --- shapes ------------------------------------------------------------------------------------------


def questionnaire_changes(
    counts: PairMatrix | np.ndarray, adjacency: str
) -> tuple[PairMatrix | np.ndarray, int]:
    """The body Z(G)/c of what one user can change: how often G joins two of its vertices, and c."""
    if adjacency not in SHAPED_ADJACENCIES:
        raise ValueError(
            "K-norm noise needs adjacency='flip' or 'replace': what a user adds to the totals under "
            f"{adjacency!r} has no such shape. Choose noise='laplace'."
        )
    if adjacency == "flip":
        return counts, 1
    module = jnp if is_traced(counts) else np
    unanswered = module.append(counts.sum(-1), 0)
    rows = module.concatenate([counts, unanswered[None, :-1]])
    return module.concatenate([rows, unanswered[:, None]], axis=1), 2


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


def noise_on_totals(
    kind: str, scale: Any, count: int, counts: PairMatrix | np.ndarray | None, adjacency: str
) -> Noise:
    """Noise of this kind and scale on so many totals; of K-norm noise with the counts of the questionnaire."""
    if kind != "k-norm":
        return Noise.independent(kind, scale, count)
    assert counts is not None
    return Noise(kind, scale, noise_shape(counts, adjacency), count)


# --- graphs ------------------------------------------------------------------------------------------


def _largest_sum(counts: np.ndarray, adjacency: str) -> int:
    """The ℓ₁ sensitivity, or an upper bound on it."""
    edges = int(counts.sum()) // 2
    if adjacency == "add-remove":
        return edges
    cut = max_cut(counts)
    return 2 * cut if adjacency == "flip" else edges + cut


def _parts(weight: np.ndarray) -> list[np.ndarray]:
    """The components of the graph."""
    labels = components(weight)
    items = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return [weight[np.ix_(one, one)] for one in items]


def _repeats(weight: np.ndarray) -> int:
    """The number of times that a complete graph has each of its edges, 0 for other graphs."""
    size = len(weight)
    often = int(weight[0, 1]) if size > 1 else 0
    return often if np.array_equal(weight, often * (1 - np.eye(size, dtype=np.int64))) else 0


def max_cut(weight: np.ndarray) -> int:
    """Size of the largest cut: exact for complete graphs, and for components of up to 22 items, else an upper bound.

    The bound is the smaller of \\|E\\| and m λ_max(Laplacian)/4.
    """
    parts, size = _parts(weight), len(weight)
    if len(parts) > 1:
        return sum(map(max_cut, parts))
    if _repeats(weight):
        return _repeats(weight) * (size * size // 4)
    if size <= _EXACT_CUT_ITEMS:
        return _enumerate_cuts(weight)
    spectral = size * _largest_eigenvalue(weight) / 4
    return min(int(weight.sum()) // 2, math.floor(spectral + 1e-9))


def _largest_eigenvalue(weight: np.ndarray) -> float:
    """That of the Laplacian, or a little more."""
    laplacian = (np.diag(weight.sum(1)) - weight).astype(float)
    return float(np.linalg.eigvalsh(laplacian)[-1]) * (1 + 1e-9)


def _enumerate_cuts(weight: np.ndarray) -> int:
    """Largest cut over the 2^(m-1) assignments of items 1..m-1 to sides (item 0 is fixed), built item by item."""
    cuts = np.zeros(1, np.int64)
    # Column of each item j: Σ_i weight[i, j] over the items i placed on side 1 so far.
    pull = np.zeros((1, len(weight)), np.int64)
    degrees_so_far = weight[0].copy()
    for item in range(1, len(weight)):
        stay, move = cuts + pull[:, item], cuts + degrees_so_far[item] - pull[:, item]
        cuts = np.concatenate([stay, move])
        if item + 1 < len(weight):
            pull = np.concatenate([pull, pull + weight[item]])
        degrees_so_far += weight[item]
    return int(cuts.max())


def _flip_euclidean(weight: np.ndarray) -> float:
    """Largest ‖out-degree - in-degree‖₂ over orientations, or an upper bound on it."""
    size, parts = len(weight), _parts(weight)
    if _repeats(weight):
        return _repeats(weight) * math.sqrt(sum((size - 1 - 2 * i) ** 2 for i in range(size)))
    if max(map(len, parts)) > _EXACT_ORDER_ITEMS:
        spectral = math.sqrt(_largest_eigenvalue(weight) * float(weight.sum()) / 2)
        return min(_euclidean_bound(weight, _largest_sum(weight, "flip")), spectral)
    largest = 0
    for part in parts:
        ranks = np.array(list(itertools.permutations(range(len(part)))))
        signs = np.sign(ranks[:, None, :] - ranks[:, :, None])
        moves = np.einsum("ij,oij->oi", part, signs)
        largest += int(np.square(moves).sum(1).max())
    return math.sqrt(largest)


def _euclidean_bound(weight: np.ndarray, largest: int) -> float:
    """Largest ℓ₂ norm where no item moves more than its degree, nor all together more than ``largest``."""
    steps = []
    for degree in sorted(weight.sum(1).tolist(), reverse=True):
        steps.append(min(degree, largest))
        largest -= steps[-1]
    return math.sqrt(sum(step * step for step in steps))
