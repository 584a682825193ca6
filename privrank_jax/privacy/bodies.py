r"""The noise of one release: its kind, its scale and the body in whose shape it is, with all that is asked of it.

**Bodies.** A mechanism adds noise to k numbers whose differences between neighbors, divided by the scale, cost no more
than ε. *Independent* numbers have Laplace noise, whose body is the ℓ₁ ball \|c_1 x_1\| + ... + \|c_k x_k\| <= 1, or
Gaussian noise, calibrated to the ℓ₂ norm of (c_1 x_1, ..., c_k x_k): number i has noise of scale λ/c_i or σ/c_i.
*K-norm* noise at scale 1/ε has the shape of a body K that holds all differences (:mod:`privrank_jax.privacy.geometry`).

**Tails.** The excess kurtosis of an error aᵀw is the fourth cumulant of its noise, divided by its squared variance. The
cumulant is 3 v² Σ a_k⁴ for independent Laplace noise of variance v, and for K-norm noise at most its excess kurtosis,
the largest of a number or of a difference of two, times its squared variance. A Gaussian and a Laplace variable with
share s of the variance have excess kurtosis 3 s². So the *heavy part* of an error is v √(Σ a_k⁴), or √(excess/3) times
its variance: that of the Laplace variable which stands for the noise.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Annotated, Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float

from privrank_jax._backend import product
from privrank_jax._batches import of_each_problem
from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Key
from privrank_jax._validate import is_traced
from privrank_jax.comparisons import default_float
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.geometry import Cube, Zonotope, k_norm
from privrank_jax.privacy.noise import draw

_VARIANCES = {"laplace": 2.0, "gaussian": 1.0}  # at scale 1
_NORMAL = 3.0  # kurtosis


@pytree
class Independent:
    """Numbers with independent noise; that of the last ones is 1/c times that of the others, c in ``last``."""

    shape: tuple[int, ...] = static()
    last: tuple[float, ...] = static(default=())

    @property
    def weights(self) -> np.ndarray:
        """c of all numbers, of their shape."""
        found = np.ones(self.shape)
        if self.last:
            found[-len(self.last) :] = self.last
        return found


@pytree
class Law:
    """The law of K-norm noise at scale 1, for programs that need no more of it."""

    covariance: Float[Array | np.ndarray, "*batch numbers numbers"]
    # The largest kurtosis of a number or of a difference of two, less 3.
    excess: Float[Array | np.ndarray, "*batch"]


Shape: TypeAlias = Independent | Cube | Zonotope | Law


@pytree
class Noise:
    """The noise of one release; public. From a traced body one can draw, and no more.

    Attributes:
        kind: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``.
        scale: λ, σ or 1/ε; 0 for none. May be traced.
        body: its shape.
        kept: how many numbers count, from the first on, where the body has more; default all.
    """

    kind: str = static()
    scale: Annotated[Any, "*batch"]
    body: Shape
    kept: int | None = static(default=None)

    @classmethod
    def independent(
        cls, kind: str, scale: Any, count: int = 1, last: tuple[float, ...] = ()
    ) -> Noise:
        """Laplace or Gaussian noise on so many numbers, ``last`` as in :class:`Independent`."""
        return cls(kind, scale, Independent((count,), last))

    def draw(self, key: Key, dtype: DTypeLike) -> Float[Array, "..."]:
        """The noise, of the shape of the body."""
        body = self.body
        if isinstance(body, Independent):
            drawn = draw(key, self.kind, body.shape, self.scale, dtype)
            return drawn / body.weights.astype(dtype) if body.last else drawn
        assert not isinstance(body, Law)
        return k_norm(key, body, self.scale, dtype)[: self.kept]

    @property
    @of_each_problem
    def known(self) -> Noise:
        """This noise with its law in place of a body of K-norm noise, so that it may be traced."""
        if isinstance(self.body, Independent | Law):
            return self
        covariance = self._unit_covariance.astype(default_float())
        excess = np.asarray(self.excess, default_float())
        return Noise(self.kind, self.scale, Law(covariance, excess))

    @property
    @of_each_problem
    def excess(self) -> Any:
        """The largest excess kurtosis of a number of K-norm noise, or of a difference of two."""
        if isinstance(self.body, Law):
            return self.body.excess
        return max(noise_law.kurtosis(self._zonotope, self.kept) - _NORMAL, 0.0)

    @property
    @of_each_problem
    def variances(self) -> Any:
        """Of each number, of the shape of the noise."""
        return self._unit_variances * (self.scale * self.scale)

    def deviation(self) -> Any:
        """The largest standard deviation of a number."""
        return self.scale * math.sqrt(self._unit_variances.max())

    def variance_per_dimension(self) -> Any:
        """Variance of the noise per dimension in which it lies, as default ridges need it."""
        if isinstance(self.body, Independent):
            return _VARIANCES[self.kind] * (self.scale * self.scale)
        body = self._zonotope
        unit = float(noise_law.variances(body).sum() / noise_law.dimension_of(body))
        return unit * (self.scale * self.scale)

    def covariance(
        self, project: Float[Array, "numbers numbers"] | None = None, dtype: DTypeLike | None = None
    ) -> Float[Array, "numbers numbers"]:
        """Covariance of the noise, ``(k, k)``, or of its part in the range of a projection that mixes equal noise."""
        body = self.body
        if dtype is None:
            dtype = default_float() if project is None else project.dtype
        scale = jnp.asarray(self.scale, dtype)
        if isinstance(body, Independent):
            each = jnp.asarray(self._unit_variances, dtype) * scale * scale
            return each * (jnp.eye(*body.shape, dtype=dtype) if project is None else project)
        covariance = jnp.asarray(self._unit_covariance, dtype)
        if project is not None:
            covariance = product(product(project, covariance), project)
        return scale * scale * covariance

    def heavy_part(self, influence: Float[Array, "errors numbers"]) -> Float[Array, "errors"]:
        """The heavy part of errors, by how they depend on the noise."""
        if self.kind == "gaussian":
            return jnp.zeros_like(influence[:, 0])
        if isinstance(self.body, Independent):
            return self._laplace_part(jnp.sum(self._weighed(influence) ** 4, -1))
        return self._heavy_share(influence.dtype) * jnp.diagonal(self._in_errors(influence))

    def heavy_part_of_differences(
        self, influence: Float[Array, "errors numbers"]
    ) -> Float[Array, "errors errors"]:
        """The same for the differences of all pairs of errors."""
        if self.kind == "gaussian":
            return jnp.zeros((influence.shape[0],) * 2, influence.dtype)
        if isinstance(self.body, Independent):
            return self._laplace_part(_fourth_moments(self._weighed(influence)))
        covariance = self._in_errors(influence)
        own = jnp.diagonal(covariance)
        apart = jnp.maximum(own[:, None] + own[None, :] - 2 * covariance, 0.0)
        return self._heavy_share(influence.dtype) * apart

    def reach(self, level: float) -> float:
        """The least t with P(max_i \\|w_i\\| <= t) >= ``level`` for equal noise on all numbers.

        Discrete noise on halves of whole numbers needs 1/2 more: with α = e^(-1/s) on twice the numbers, P(\\|X\\| > t
        + 1) is 2α^(⌊t⌋ + 2)/(1 + α) <= α^t (Laplace), and at most P(\\|N\\| > t) (Gaussian; Canonne et al., 2020).

        >>> round(Noise.independent("laplace", 1.0).reach(0.95), 3)  # log 20
        2.996
        """
        body = self.body
        if isinstance(body, Cube | Zonotope):
            return self.scale * noise_law.reach(body, level, self.kept)
        assert isinstance(body, Independent)
        beyond = -math.expm1(math.log(level) / math.prod(body.shape))  # 1 - level^(1/k)
        if self.kind == "laplace":
            return -self.scale * math.log(beyond)
        return -self.scale * NormalDist().inv_cdf(beyond / 2)

    @property
    def _zonotope(self) -> Zonotope:
        assert isinstance(self.body, Zonotope)
        _check_known(self.body)
        return self.body

    @property
    def _unit_variances(self) -> np.ndarray:
        body = self.body
        if isinstance(body, Independent):
            return _VARIANCES[self.kind] / body.weights**2
        if isinstance(body, Cube | Zonotope):
            _check_known(body)
            return noise_law.variances(body)[: self.kept]
        return self._unit_covariance.diagonal()

    @property
    def _unit_covariance(self) -> Any:
        if isinstance(self.body, Law):
            return self.body.covariance
        return noise_law.covariance(self._zonotope)[: self.kept, : self.kept]

    def _weighed(self, influence: Array) -> Array:
        assert isinstance(self.body, Independent)
        return influence / self.body.weights.astype(influence.dtype)

    def _laplace_part(self, fourth: Array) -> Array:
        scale = jnp.asarray(self.scale, fourth.dtype)
        return _VARIANCES[self.kind] * scale * scale * jnp.sqrt(fourth)

    def _heavy_share(self, dtype: DTypeLike) -> Array:
        return jnp.sqrt(jnp.asarray(self.excess, dtype) / 3)

    def _in_errors(self, influence: Array) -> Array:
        return product(product(influence, self.covariance(dtype=influence.dtype)), influence.T)


def _check_known(body: Cube | Zonotope) -> None:
    if is_traced(body):
        raise ValueError(
            "the variance of K-norm noise is not known for a traced questionnaire, or for several at once: give gamma."
        )


def _fourth_moments(influence: Array) -> Array:
    """Σ_k (a_ik - a_jk)⁴ of all pairs of rows, by matrix products."""
    square = influence * influence
    own = jnp.sum(square * square, -1)
    cross = product(influence * square, influence.T)
    total = own[:, None] + own[None, :] - 4 * (cross + cross.T) + product(6 * square, square.T)
    return jnp.maximum(total, 0.0)
