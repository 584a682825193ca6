r"""What one user's outcomes can change in the sums of comparisons with covariates, for noise of that shape.

The sums are S = Σ_r y_r z_r with z_r = (e_i - e_j, x_r) (:mod:`privrank_jax.pairwise.covariates`). Let R_u be the
comparisons of user u; G the graph on the items that has, for each pair, as many edges as the user who meets it most
often has comparisons of it; b_k = max_u Σ_{r in R_u} \|x_rk\|; and E the largest \|R_u\|. These are functions of the
design, which is public and which neighbors share. With Z(G) = Σ_e [-1, 1](e_i - e_j):

**Theorem.** *If outcomes of one user change, S moves within K = Z(G) × Π_k [-b_k, b_k], and the number T of ties within
[-E, E]. Where there are covariates, some change of S lies on the boundary of K.*

Proof. S moves by Σ_{r in R_u} δ_r z_r with \|δ_r\| ≤ 1. Its items move by a point of the zonotope of the pairs of u,
which is part of Z(G), since these are some of the edges of G; feature k moves by at most Σ\|x_rk\| ≤ b_k; and T by at
most one for each comparison. Let u attain b_k, and let all outcomes turn, from a loss to a win where x_rk > 0 and from
a win to a loss elsewhere: feature k moves by b_k. ∎

So K-norm noise of this shape (:mod:`privrank_jax.privacy.bodies`) is ε-DP at scale 1/ε, and no smaller multiple
of K would do. Nothing smaller than K would do either where covariates vary freely between users:

**Theorem.** *Let all users be asked the pairs E, and let the features of question e take any values in Π_k [-w_ek,
w_ek], with Σ_e w_ek = b_k. Then K is the convex hull of all changes of S.*

Proof. The changes that question e can cause are δ(b_e, x), with b_e = e_i - e_j, \|δ\| ≤ 1 and \|x_k\| ≤ w_ek. They
hold ±b_e with w_ek of all signs, the corners of [-1, 1]b_e × Π_k [-w_ek, w_ek], and lie in it, so this is their hull.
The hull of a sum of sets is the sum of their hulls. ∎ One such covariate is the item shown first, drawn at random for
each user. Where all users have the same features, K could be as small as the zonotope of the z_r. That is no zonotope
of a graph, whose tiles all have the same volume, and is not drawn here.

**Theorem (norms).** *With F the largest ℓ₂ norm in Z(G), S moves by at most 2·maxcut(G) + max_u Σ_{r in R_u} ‖x_r‖₁ in
ℓ₁ and √(F² + Σ_k b_k²) in ℓ₂; (S, T) by at most E + maxcut(G) + max_u Σ_{r in R_u} ‖x_r‖₁ in ℓ₁.*

Proof. The items' sums alone move by at most 2·maxcut and F (:mod:`privrank_jax.pairwise.questionnaire`), and with T by
at most \|R_u\| + maxcut (:mod:`privrank_jax.pairwise.noisy_ties`), those of the pairs of u; none of these is less for
more edges. ∎ For users with many comparisons this is far below Σ ‖z_r‖, as if the moves of all pairs added up.

*Different questions.* Where users meet few of the pairs of G, or one of them far more than others, K is much larger
than what a typical user changes, and noise of other shapes is better:
:func:`~privrank_jax.pairwise.covariate_noise.least_covariate_noise` compares them.

*Integers.* Let all features be multiples of 2^{-β}. Twice the items' sums are points of the lattice of G
(:mod:`privrank_jax.release.k_norm`) and change within 2Z(G); 2^{β+1} times the sum of feature k is whole and changes by
at most 2·2^β b_k; 2T by at most 2E. So c = 2 there.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float, Int

from privrank_jax._validate import is_traced
from privrank_jax.comparisons import default_float
from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.questionnaire import counts_sensitivity
from privrank_jax.pairwise.questionnaire_noise import noise_shape
from privrank_jax.privacy.bodies import BoxedZonotope
from privrank_jax.privacy.privacy import Privacy

_MOST_UNASKED = 4  # times as many edges of G as comparisons of a user: up to then its shape counts
_UP = 1 + 2**-40  # above what rounding may have lost


@dataclasses.dataclass(frozen=True, eq=False)
class CovariateShape:
    """The body of what one user's outcomes can change (theorem in the module docstring); public.

    Attributes:
        num_items: m.
        pairs: ``(P, 2)``, the pairs of G, different ones.
        times: ``(P,)``, how many edges of G each of them is.
        widths: ``(p,)``, b.
        most: the most that one user has of all features together, max_u Σ ‖x_r‖₁.
        answers: E.
    """

    num_items: int
    pairs: Int[np.ndarray, "pairs 2"]
    times: Int[np.ndarray, "pairs"]
    widths: Float[np.ndarray, "covariates"]
    most: float
    answers: int

    @property
    def shared(self) -> bool:
        """Whether G has few enough edges, for the comparisons of one user, that its shape is worth a look."""
        return 0 < int(self.times.sum()) <= _MOST_UNASKED * self.answers

    @property
    def questions(self) -> Int[np.ndarray, "items items"]:
        """G: how often each pair of items is an edge."""
        found = np.zeros((self.num_items, self.num_items), np.int64)
        found[tuple(self.pairs.T)] = self.times
        return found + found.T

    def body(self, *, ties: bool = False) -> BoxedZonotope:
        """K, or K × [-E, E] with the number of ties.

        Args:
            ties: whether that is released too.

        Raises:
            ValueError: no comparisons.
        """
        if not self.answers:
            raise ValueError("the design has no comparisons, so noise='k-norm' has no shape.")
        widths = np.append(self.widths, self.answers) if ties else self.widths
        return BoxedZonotope(noise_shape(self.questions, "flip"), widths.astype(default_float()))


def covariate_shape(design: CovariateDesign) -> CovariateShape:
    """The shape of K-norm noise on the sums of this design, computed on the host.

    Args:
        design: the comparisons, not traced.

    Raises:
        ValueError: a traced design.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, who = [0, 1, 1, 0], [1, 2, 0, 1], [7, 7, 8, 8]
    >>> table = covariate_table(first, second, [1] * 4, {"first": [1.0] * 4}, num_items=3, users=who)
    >>> shape = covariate_shape(table.design)
    >>> shape.questions.tolist(), shape.widths.tolist(), shape.answers  # two features of 1/2
    ([[0, 2, 0], [2, 0, 1], [0, 1, 0]], [1.0], 2)
    """
    if is_traced(design):
        raise ValueError(
            "noise='k-norm' has the shape of the design, which must not be traced: keep the table's design out of "
            "jax.jit and jax.vmap (its outcomes may be traced), or choose noise='laplace'."
        )
    real = np.ones(len(design.first), bool) if design.mask is None else np.asarray(design.mask)
    first, second, users = (
        np.asarray(part)[real].astype(np.int64)
        for part in (design.first, design.second, design.users)
    )
    m = design.num_items
    pair = np.minimum(first, second) * m + np.maximum(first, second)
    met, often = np.unique(users * m**2 + pair, return_counts=True)
    edges, place = np.unique(met % m**2, return_inverse=True)
    times = np.zeros(edges.size, np.int64)
    np.maximum.at(times, place, often)
    sizes = np.abs(np.asarray(design.features, np.float64)[real])
    together = np.zeros((len(real), sizes.shape[1]))
    np.add.at(together, users, sizes)
    return CovariateShape(
        num_items=m,
        pairs=np.stack([edges // m, edges % m], axis=1),
        times=times,
        widths=together.max(axis=0),
        most=float(together.sum(axis=1).max()),
        answers=int(np.bincount(users, minlength=1).max()),
    )


def shaped_sensitivity(design: CovariateDesign, norm: str, *, ties: bool = False) -> float:
    """Sensitivity of the sums to one user by the theorem on norms; ∞ where that is not worth computing, or unknown.

    Args:
        design: the comparisons, not traced.
        norm: ``"l1"`` or ``"l2"``.
        ties: whether the number of ties is released too; in ℓ₂ nothing is known of it.

    Raises:
        ValueError: as :func:`covariate_shape`.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> pairs, who = np.array([(0, 1), (0, 2), (1, 2)] * 2).T, [0, 0, 0, 1, 1, 1]
    >>> table = covariate_table(*pairs, [1] * 6, {"x": [1.0, 1.0, 1.0, -1.0, 0.0, 1.0]}, num_items=3, users=who)
    >>> shaped_sensitivity(table.design, "l1"), shaped_sensitivity(table.design, "l1", ties=True)
    (7.0, 8.0)
    """
    shape = covariate_shape(design)
    if not shape.shared or (ties and norm == "l2"):
        return math.inf
    user = Privacy(1.0, unit="user", adjacency="flip")
    of_items = counts_sensitivity(shape.questions, user, norm)
    if norm == "l2":
        return math.hypot(of_items, *shape.widths) * _UP
    return (shape.answers + of_items / 2 if ties else of_items) + shape.most
