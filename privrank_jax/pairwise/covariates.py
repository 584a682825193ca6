r"""Comparisons with public covariates: the design matrix, its sums, and how far one unit can move them.

**Model.** Comparison r is of a first item i and a second item j, and has features x_r: with z_r = (e_i - e_j, x_r), the
conditional logit of :mod:`privrank_jax.pairwise.designs`. A feature that is 1 throughout is the advantage of being
first (left, at home). Outcomes y_r (1 if the first item won, 0 if it lost, 1/2 for a tie) enter through the *sums*
S = Σ_r y_r z_r alone and, where ties are outcomes of their own, through their number
(:mod:`privrank_jax.pairwise.covariate_noise`).

**What is public.** The design is: which items met, which was first, the features, and which user gave which
comparison. Only outcomes are protected, so a promise is one of adjacency ``flip`` with public ``"covariates"``. Which
item counts as the first must then not depend on the outcome, nor may a feature: the length of the *winner* less that of
the loser is no feature, that of the *first* item less that of the second is one.

**Theorem (sensitivity).** *Between neighbors that differ in the outcome of comparison r, S moves by at most ‖z_r‖ in
any norm, and this is attained. If they differ in all outcomes of user u, S moves by at most Σ_{r of u} ‖z_r‖.*

Proof. S moves by Σ_r (y_r - y'_r)z_r, over the comparisons whose outcome differs, and \|y_r - y'_r\| ≤ 1, with equality
for a win against a loss; for several comparisons apply the triangle inequality. ∎ In ℓ₁ ‖z_r‖ = 2 + ‖x_r‖₁, in ℓ₂
√(2 + ‖x_r‖₂²).

*One comparison*: the sensitivity is max_r ‖z_r‖. *A user*: max_u Σ_{r of u} ‖z_r‖, over the users in the table; less
where they are asked about the same pairs (:mod:`privrank_jax.pairwise.covariate_noise`). Both are functions of the
design. Neighbors share it, so they share the scale of the noise, which may be published: the exact maximum, in place of
L times the largest norm that a comparison may have, costs no privacy. It would where the design is protected as well;
other adjacencies are therefore refused. Where only some comparisons of a user are kept, the choice
must not depend on outcomes either (:func:`~privrank_jax.comparisons.bound_contributions`); then the rows that are kept
are a public design, for which the theorem holds.

**Integers.** Where all features are multiples of 2^{-b}, 2^{b+1}S is a vector of integers, since 2y_r and 2^b z_r are
whole, and its sensitivity is 2^{b+1} times that of S: exact integer noise serves
(:mod:`privrank_jax.pairwise.covariate_noise`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int

from privrank_jax._backend import product
from privrank_jax._batches import of_each_problem
from privrank_jax._types import Scalar
from privrank_jax._validate import check_choice
from privrank_jax.pairwise.designs import Meetings
from privrank_jax.privacy.privacy import Privacy

_Method = TypeVar("_Method", bound=Callable[..., Array])


def _compiled(method: _Method) -> _Method:
    """``jax.jit``, of the type of the method that it takes the place of."""
    return jax.jit(method, inline=True)  # type: ignore[return-value]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateDesign(Meetings):
    """The public part of N comparisons of m items with p features; :func:`covariate_table` makes and checks one.

    Attributes:
        first: ``(N,)`` int, the first item of each comparison.
        second: ``(N,)`` int, the other item.
        features: ``(N, p)`` float, of the first item against the second.
        users: ``(N,)`` int in 0..N-1, who compared.
        units: ``(p,)`` float, what one unit of a feature is, in units of the covariate that it was made of.
        mask: ``(N,)`` bool, False for rows that only pad the table; ``None`` = all are real.
        num_items: m, static.
        names: of the p features, static.
        private: whether the scale of the features depends on public bounds alone, and each is a multiple of 2^-11 in
            [-1/2, 1/2], so that the design may be private; static.
        ties: whether ties are outcomes of their own in a fit, and their number is one more of what is counted; static.
    """

    first: Int[Array, "*batch rows"]
    second: Int[Array, "*batch rows"]
    features: Float[Array, "*batch rows covariates"]
    users: Int[Array, "*batch rows"]
    units: Float[Array, "*batch covariates"]
    mask: Bool[Array, "*batch rows"] | None = None
    num_items: int = dataclasses.field(kw_only=True, metadata={"static": True})
    names: tuple[str, ...] = dataclasses.field(default=(), metadata={"static": True})
    private: bool = dataclasses.field(default=False, metadata={"static": True})
    ties: bool = dataclasses.field(default=False, metadata={"static": True})

    @property
    def dtype(self) -> DTypeLike:
        """That of the features."""
        return self.features.dtype

    @property
    def feature_units(self) -> Float[Array, "covariates"]:
        """``units``."""
        return self.units

    @property
    @of_each_problem
    def degree(self) -> Float[Array, ""]:
        """Mean number of comparisons per item."""
        rows = self.first.shape[0] if self.mask is None else jnp.sum(self.mask)
        return jnp.asarray(2.0 * rows / self.num_items, self.features.dtype)

    @property
    @of_each_problem
    def evidence(self) -> Float[Array, "size"]:
        """Of each score the mean number of comparisons, of each feature Σ_r x_r²."""
        items = jnp.broadcast_to(self.degree, (self.num_items,))
        return jnp.concatenate([items, jnp.sum(jnp.square(self.real(self.features.T)), 1)])

    def excess(self, counted: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
        """S less half of Σ_r z_r; then the number of ties."""
        half = self.total(jnp.full(self.first.shape, 0.5, self.features.dtype))
        return jnp.concatenate([counted[: self.size] - half, counted[self.size :]])

    @_compiled
    def ridges(self, gamma: Scalar | Float[Array, "size"]) -> Float[Array, "size"]:
        """γ of each score and coefficient: as given, or of one γ for scores that times its largest size squared."""
        if jnp.ndim(gamma):
            return super().ridges(gamma)
        features = jnp.square(self.features)
        if self.mask is not None:
            features = jnp.where(self.mask[:, None], features, 0)
        most = jnp.max(features, 0, initial=0.0)
        squares = jnp.concatenate([jnp.ones(self.num_items, most.dtype), most])
        return jnp.asarray(gamma, squares.dtype) * squares

    @_compiled
    def log_odds(self, beta: Float[Array, "size"]) -> Float[Array, "rows"]:
        """⟨z_r, β⟩ of every comparison, ``(N,)``."""
        theta, slopes = beta[: self.num_items], beta[self.num_items :]
        return theta[self.first] - theta[self.second] + product(self.features, slopes)

    def real(self, each: Float[Array, "*kinds rows"]) -> Float[Array, "*kinds rows"]:
        """Numbers of comparisons, 0 for padding."""
        return each if self.mask is None else jnp.where(self.mask, each, 0)

    @_compiled
    def pull(self, each: Float[Array, "rows"]) -> Float[Array, "size"]:
        """Σ_r each_r z_r, ``(m + p,)``."""
        met = self._of_pairs(each)
        items = jnp.sum(met, 1) - jnp.sum(met, 0)
        return jnp.concatenate([items, product(each, self.features)])

    def squares(self, each: Float[Array, "rows"]) -> Float[Array, "size"]:
        """Σ_r each_r z_r², entry by entry."""
        met = self._of_pairs(each)
        items = jnp.sum(met, 1) + jnp.sum(met, 0)
        return jnp.concatenate([items, product(each, jnp.square(self.features))])

    @_compiled
    def gram(self, weights: Float[Array, "rows"]) -> Float[Array, "size size"]:
        """Σ_r weights_r z_r z_rᵀ, ``(m + p, m + p)``."""
        weights = self.real(weights)
        met = self._of_pairs(weights)
        met = met + met.T
        scaled = weights[:, None] * self.features
        cross = jnp.zeros((self.num_items, scaled.shape[1]), scaled.dtype)
        cross = cross.at[self.first].add(scaled).at[self.second].add(-scaled)
        items = jnp.diag(jnp.sum(met, 0)) - met
        return jnp.block([[items, cross], [cross.T, product(self.features.T, scaled)]])

    def _of_pairs(self, weights: Float[Array, "rows"]) -> Float[Array, "items items"]:
        """The sum over comparisons of each first item with each second one, in one pass through the rows."""
        pairs = jnp.zeros((self.num_items,) * 2, self.features.dtype)
        return pairs.at[self.first, self.second].add(weights)

    @functools.partial(jax.jit, static_argnames=("norm",), inline=True)
    def norms(self, norm: str) -> Float[Array, "rows"]:
        """‖z_r‖ of every comparison, ``(N,)``; 0 for padding.

        Args:
            norm: ``"l1"`` or ``"l2"``.
        """
        check_choice("norm", norm, ("l1", "l2"))
        if norm == "l1":
            return self.real(2 + jnp.sum(jnp.abs(self.features), -1))
        return self.real(jnp.sqrt(2 + jnp.sum(jnp.square(self.features), -1)))

    def sensitivity(self, privacy: Privacy, norm: str = "l1") -> Float[Array, ""]:
        """Sensitivity of the sums to one unit (theorem in the module docstring).

        Args:
            privacy: what is promised: unit comparison or user.
            norm: ``"l1"`` for Laplace noise, ``"l2"`` for Gaussian noise.

        Raises:
            ValueError: an unknown norm.
        """
        return self._largest_norm(norm, privacy.unit == "user")

    @functools.partial(jax.jit, static_argnames=("norm", "of_users"), inline=True)
    def _largest_norm(self, norm: str, of_users: bool) -> Float[Array, ""]:
        """That of one comparison, or the largest sum over those of one user."""
        each = self.norms(norm)
        if of_users:
            each = jnp.zeros_like(each).at[self.users].add(each)
        return jnp.max(each)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateTable:
    """N comparisons with features; the outcomes are what a release protects.

    Attributes:
        design: the public part.
        outcomes: ``(N,)`` float, 1 where the first item won, 0 where it lost, 1/2 for a tie.
    """

    design: CovariateDesign
    outcomes: Float[Array, "*batch rows"]

    @property
    @of_each_problem
    def sums(self) -> Float[Array, "size"]:
        """S = Σ_r y_r z_r, ``(m + p,)``: m numbers that sum to 0, then one for each feature."""
        return self.design.total(self.outcomes.astype(self.design.features.dtype))

    @property
    @of_each_problem
    def ties(self) -> Float[Array, ""]:
        """T, the number of outcomes 1/2."""
        tied = (self.outcomes == 0.5).astype(self.design.features.dtype)
        return jnp.sum(self.design.real(tied))


def check_private(table: CovariateTable) -> None:
    """Raise ``ValueError`` unless the features of ``table`` have scales by public bounds."""
    if not table.design.private:
        raise ValueError(
            "the scales of this table's features were read from its rows, which are private here: make it by "
            "covariate_table(..., bounds=..., private=True), or promise adjacency='flip', under which covariates are "
            "public."
        )


def resolution(features: Float[np.ndarray, "rows covariates"]) -> int:
    """b, the smallest number with all features multiples of 2^-b; features of multiples finer than 2^-30 are refused.

    Args:
        features: ``(N, p)``, on the host.

    Raises:
        ValueError: a feature that is no multiple of 2^-30, or not finite.

    >>> resolution(np.array([[0.5, 3.0], [0.75, 0.0]]))
    2
    """
    features = np.asarray(features, np.float64)
    for bits in range(31):
        if np.all(np.ldexp(features, bits) == np.rint(np.ldexp(features, bits))):
            return bits
    raise ValueError(
        "exact noise needs features that are multiples of a power of 1/2 (2^-30 at least): covariate_table rounds them."
    )
