r"""Mechanisms that add noise to the objective of a fit: one record each, and all that follows from it.

**Mechanism.** β̃ minimizes f(β) = L(β; y) + γ‖β‖²/2 + wᵀβ, with L convex and w independent noise: w_k has the scale
λ_k, a public multiple of one scale λ.

**Density.** For γ > 0 the map w ↦ β̃ is a bijection with w(β; y) = -∇L(β; y) - γβ, so the density of β̃ is
p_w(w(β; y)) · det(∇²L(β; y) + γI). The privacy loss between neighbors y, y' at β is a *noise term* log p_w(w)/p_w(w')
plus a *log-determinant term*. A record says what bounds both, wherever β is: how far one unit moves ∇L
(:class:`~privrank_jax.mechanism.Change`, in units of λ_k/λ), and what the other term costs at γ (:class:`Ridge`).

*Laplace noise.* The noise term is at most Σ_k \|∂_kL - ∂_kL'\|/λ_k: the change in ℓ₁ over λ. So λ is the change divided
by what the log-determinants leave of ε.

*Gaussian noise.* w' = w + Δ with Δ = Σ_l a_l v_l over the k answers that change, v_l fixed vectors e_i - e_j up to the
sign, and a_l in [0, A] depending on β. Hence Δ₂ = √2 A k, and ‖Δ‖² ≤ 2 (Σ a_l)² ≤ 2kA Σ a_l. Let X_l = wᵀv_l, each N(0,
2σ²) whatever their joint law, and spend ε₀ on the log-determinant term. The loss is (2wᵀΔ + ‖Δ‖²)/(2σ²) + ε₀ ≤ Σ_l a_l
(X_l + kA)/σ² + ε₀.

Use 1 - e^{ε - z} ≤ z - ε and (Σ z_l)₊ ≤ Σ (z_l)₊. Then the hockey-stick divergence, E(1 - e^{ε - loss})₊, is at most
Σ_l E(A(X_l + kA)₊/σ² - (ε - ε₀)/k)₊ for ε ≥ ε₀. As ε - ε₀ ≥ 0, each of the k terms is 1/k of E(G - ε + ε₀)₊ with G = kA
X_l/σ² + k²A²/σ², which is N(r²/2, r²) for r = Δ₂/σ: the loss of the Gaussian mechanism of sensitivity Δ₂.

So **the δ of objective perturbation at ε is at most E(G - ε + ε₀)₊ = r(φ(t) - tΦ(-t)), t = (ε - ε₀)/r - r/2**. The
Gaussian mechanism's δ at ε - ε₀ is E(1 - e^{ε - ε₀ - G})₊, below it by a few percent at small δ, hence σ by a few
thousandths. Where all a_l are constant and ∇²L is the same for neighbors, δ is exactly the Gaussian mechanism's.

**Floating point breaks these proofs.** Exactly one noise vector, w = -∇L(β̃) - γβ̃, makes a published β̃ the minimizer
under each of two neighboring data sets. A floating-point draw takes finitely many values, so the generator may be able
to draw only one of the two, and the other data set is ruled out: ε is infinite (Mironov 2012, for a single noisy
number). Nor does a solver find the exact minimizer.

Hence ``numerics="idealized"`` of simulations, unless the fit is post-processing of noisy counts.
:meth:`Objective.release` publishes the true minimizer for truly real noise, rounded to a grid, which is post-processing
(:mod:`privrank_jax.exact.minimizer`). Its noise scale, of a few operations in doubles, is raised by 2^-30 of itself,
far more than their rounding, and γ to at least its floor at that scale.

Mironov (2012), *On significance of the least significant bits for differential privacy*. Chaudhuri, Monteleoni and
Sarwate (2011), *Differentially private empirical risk minimization*. Redberg, Koskela and Wang (2023), *Improving the
privacy and practicality of objective perturbation for differentially private linear learners*.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._pytrees import pytree
from privrank_jax._quickly import quickly
from privrank_jax._roots import bracketed_root
from privrank_jax._types import Key, Numbers
from privrank_jax._validate import check_no_padding, check_nonnegative, is_traced
from privrank_jax.estimate import Estimate
from privrank_jax.links import normal
from privrank_jax.mechanism.additive import Noisy
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import UNPADDED, Facts
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import gaussian_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

_ROUNDING = Fraction(1, 2**30)


@pytree
class PerturbedFit:
    """Noise scale and ridge of a private fit, which are public, and its solver's diagnostics, which are not.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of each score.
        gamma: the ridge γ.
        fit: diagnostics of the solver, a function of the private objective's iterates; None in a release.
    """

    noise_scale: Numbers
    gamma: Numbers
    fit: Any = None


@dataclasses.dataclass(frozen=True)
class Ridge:
    """What γ must be, and what the log-determinant term costs there.

    Attributes:
        floor: the least γ > 0 for which the theorem holds; 0: every one.
        chosen: the least that is chosen where none is given, if that is more.
        spent: γ -> ε of the log-determinant term; None: the noise term pays for it.
        tied: whether γ must be at least λ, however both were rounded.
        fixed: whether a unit moves ∇L by the same wherever β is, and ∇²L by nothing: noise on what is counted.
    """

    floor: Numbers = 0.0
    chosen: Numbers | None = None
    spent: Callable[[Any], Any] | None = None
    tied: bool = False
    fixed: bool = False


@dataclasses.dataclass(frozen=True)
class Tilt:
    """What is drawn in a release: the promise attained, the noise, its scale for a score, and γ."""

    privacy: Privacy
    noise: str
    scale: Fraction
    gamma: Fraction


@dataclasses.dataclass(frozen=True, eq=False)
class Objective(Noisy):
    """The minimizer of a loss with a ridge and a random tilt.

    Called with ``(key, data, privacy, gamma=...)`` it simulates: pure, for ``jit``, ``vmap`` and ``grad``.

    Attributes:
        name, doc, data, kinds, noises: as of :class:`~privrank_jax.mechanism.Additive`. ``data.floats`` returns a
            pytree whose first leaf has the dtype of the fit.
        slope: (attained promise, facts) -> what one unit moves of ∇L wherever β is, in units of λ_k/λ.
        ridge: (attained promise, facts, that change) -> :class:`Ridge`.
        fit: (numbers, facts, noise w, γ) -> value, and diagnostics of the solver, differentiable.
        exact: (whole numbers, facts, :class:`Tilt`) -> the minimizer in multiples of
            :data:`~privrank_jax.exact.minimizer.GRID`; looked up at each call, so that an audit can intercept it.
        finish: (minimizer in doubles, facts) -> value.
        multiples: facts -> λ_k/λ of each number, whole.
        usual: (numbers, facts, attained promise, variance of the noise) -> the γ of least risk, from what is public
            under that promise; default 1.
    """

    slope: Callable[[Privacy, Facts], Change]
    ridge: Callable[[Privacy, Facts, Change], Ridge]
    fit: Callable[[Any, Facts, Any, Any], tuple[Any, Any]]
    exact: Callable[[Any, Facts, Tilt], list[int]]
    finish: Callable[[Any, Facts], Any] = lambda found, facts: found
    multiples: Callable[[Facts], tuple[int, ...]] = lambda facts: (1,) * facts.num_items
    usual: Callable[[Any, Facts, Privacy, Any], Numbers] | None = None
    noises: tuple[str, ...] = dataclasses.field(default=("laplace",), kw_only=True)

    def __post_init__(self) -> None:
        self.read_in(self.slope)

    def scale(
        self,
        privacy: Privacy,
        facts: Facts,
        noise: str | None = None,
        *,
        gamma: Numbers | None = None,
        numbers: Any = None,
    ) -> tuple[Any, Any]:
        """λ (Laplace) or σ (Gaussian) of a score, and γ.

        Args:
            privacy: what is promised; ε, δ and ``contributions`` may be traced.
            facts: what is public of the data.
            noise: one of ``noises``.
            gamma: the ridge; below its floor it is refused, or raised if traced. None: the one of least risk for
                ``numbers``, else 1, or the least that leaves the noise a fair share of ε.
            numbers: the data, as ``data.floats`` reads them.

        Raises:
            TypeError, ValueError: a promise that can't be kept, an unknown noise, γ below its floor.
        """
        kind = noise or self.noises[0]
        attained = self.attained(privacy, kind)
        bounds = self._bounds(attained, facts)
        found = _scale_and_gamma(*bounds, attained, kind, gamma, 1.0)
        if gamma is not None or self.usual is None or numbers is None:
            return found
        variance = Noise.independent(kind, found[0]).variance_per_dimension()
        wanted = self.usual(numbers, facts, attained, variance)
        return _scale_and_gamma(*bounds, attained, kind, None, wanted)

    def _bounds(self, attained: Privacy, facts: Facts) -> tuple[Change, Ridge]:
        change = self.slope(attained, facts)
        return change, self.ridge(attained, facts, change)

    def __call__(
        self,
        key: Key,
        data: Any,
        privacy: Privacy,
        *,
        gamma: Numbers | None = None,
        noise: str | None = None,
        **public: Any,
    ) -> Estimate:
        """Simulate.

        Args:
            key: PRNG key.
            data: as the record says; may be traced.
            privacy: what is promised; ε, δ and ``contributions`` may be traced, and ε = ∞ adds no noise.
            gamma: as of :meth:`scale`; None: the usual one.
            noise: one of ``noises``.
            public: what else is public, as the record says.

        Returns:
            ``value``, as the record says. ``diagnostics``: :class:`PerturbedFit`.

        Raises:
            TypeError, ValueError: as :meth:`scale`; wrong data.
        """
        kind = noise or self.noises[0]
        attained = self.attained(privacy, kind)
        self.data.check(data, self.name)
        numbers, facts = self.data.floats(data, **public)
        scale, chosen = self.scale(privacy, facts, kind, gamma=gamma, numbers=numbers)
        multiples = self.multiples(facts)
        others = tuple(1 / one for one in multiples if one > 1)
        added = Noise.independent(kind, scale, len(multiples), others)
        # One program, whether γ is a number or an array.
        weight = jnp.asarray(chosen, jax.tree.leaves(numbers)[0].dtype)
        value, found = _simulated(self, key, numbers, facts.alone, added, weight)
        numerics = "simulation" if self._bounds(attained, facts)[1].fixed else "idealized"
        guarantee = Guarantee(privacy, attained, numerics=numerics)
        return Estimate(value, guarantee, PerturbedFit(scale, chosen, found))

    def release(
        self,
        data: Any,
        privacy: Privacy,
        *,
        gamma: Numbers | None = None,
        noise: str | None = None,
        **public: Any,
    ) -> Estimate:
        """Release with exact noise and the exact minimizer, rounded to multiples of 2^-40.

        Args:
            data: as the record says, without padding.
            privacy: what is promised, ε finite; users' ``contributions`` must hold in the data.
            gamma, noise, public: as of a simulation; γ > 0.

        Returns:
            As of a simulation, in NumPy and float64; scores are centered up to rounding.

        Raises:
            TypeError, ValueError: as of a simulation, and as all exact releases do (:mod:`privrank_jax.release`);
                γ = 0; data that hold no exact counts.
        """
        from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
        from privrank_jax.exact.minimizer import GRID

        kind = noise or self.noises[0]
        attained = exact_promise(self.attained(privacy, kind))
        self.data.check(data, self.name)
        check_no_padding(data, UNPADDED)
        numbers, facts = self.data.whole(data, **public)
        with jax.enable_x64(True):
            tied = self._bounds(attained, facts)[1].tied
            if self.usual is None:
                found = self.scale(attained, facts, kind, gamma=gamma)
            else:
                found = quickly(
                    lambda floats: self.scale(attained, facts, kind, gamma=gamma, numbers=floats),
                    self.data.floats(data, **public)[0],
                )
        scale, weight = map(float, found)
        if not weight > 0:
            raise ValueError("gamma must be above 0; leave it out for a good default.")
        if not (math.isfinite(scale) and math.isfinite(weight) and scale > 0):
            raise ValueError(
                "the noise or the ridge that this promise needs is beyond the range of floating point: choose a larger "
                "epsilon or delta."
            )
        raised, least = Fraction(scale) * (1 + _ROUNDING), Fraction(weight)
        if kind == "gaussian":
            least *= 1 + _ROUNDING
        elif tied:
            least = max(least, raised)
        steps = self.exact(numbers, facts.alone, Tilt(attained, kind, raised, least))
        value = self.finish(np.array([float(step * GRID) for step in steps]), facts)
        return exact_estimate(value, privacy, attained, PerturbedFit(scale, weight))


@functools.partial(jax.jit, static_argnames=("record",))
def _simulated(
    record: Objective, key: Key, numbers: Any, facts: Facts, added: Noise, gamma: Array
) -> tuple[Any, Any]:
    value, found = record.fit(numbers, facts, added.draw(key, gamma.dtype), gamma)
    wrong = jnp.isnan(added.scale * gamma)  # of a traced ε that is not positive
    return jax.tree.map(lambda one: jnp.where(wrong, jnp.nan, one), value), found


def _scale_and_gamma(
    change: Change,
    ridge: Ridge,
    attained: Privacy,
    noise: str,
    gamma: Numbers | None,
    wanted: Numbers,
) -> tuple[Any, Any]:
    if ridge.chosen is not None:
        wanted = jnp.maximum(wanted, ridge.chosen)
    gamma = _default_or_given(gamma, ridge.floor, wanted)
    left = attained.epsilon
    if ridge.spent is not None:
        left = jnp.where(jnp.isinf(left), jnp.inf, left - ridge.spent(gamma))
    size = change.size(noise)
    if noise == "laplace":
        return size / left, gamma
    if ridge.fixed:
        return gaussian_scale(size, attained.epsilon, attained.delta), gamma
    return quickly(_bounded_scale, size, left, attained.delta), gamma


def _default_or_given(gamma: Numbers | None, floor: Numbers, default: Numbers) -> Numbers:
    """``gamma`` if it is not below its floor; None: the default, raised to the floor if need be."""
    if gamma is None:
        return jnp.maximum(default, floor)
    check_nonnegative("gamma", gamma)
    if not is_traced(gamma, floor):
        short = np.asarray(gamma) < np.asarray(floor) * (1 - 1e-6)
        if np.any(short):
            raise ValueError(
                f"gamma = {gamma} is below {float(np.max(np.asarray(floor))):.6g}, the least ridge for "
                "which this guarantee is proven. Raise gamma, or leave it out for a default."
            )
    return jnp.maximum(gamma, floor)


def _bounded_scale(sensitivity: Numbers, epsilon: Numbers, delta: Numbers) -> Array:
    """Least σ with r(φ(t) - tΦ(-t)) ≤ δ, r = Δ₂/σ, t = ε/r - r/2 (head of this module); 0 at ε = ∞.

    An allowance for the rounding of the two terms, of t and of the result keeps σ from being too small.
    """
    left = jnp.asarray(epsilon, jnp.result_type(float))
    allowed = jnp.asarray(delta, left.dtype)
    finite = jnp.where(jnp.isinf(left), 1.0, left)
    machine = jnp.finfo(left.dtype).eps

    def excess(log_ratio: Array) -> Array:
        ratio = jnp.exp(-log_ratio)
        at = jnp.minimum(finite / ratio - ratio / 2, 40.0)  # a smaller t has a larger bound
        density = jnp.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
        tail = jnp.exp(normal.log_cdf(-at))
        terms = (density + jnp.abs(at) * tail) * (1 + at**2) + tail * (finite / ratio + ratio / 2)
        return ratio * (density - at * tail + 4 * machine * terms) - allowed

    # The bound is at least r²/2 - ε, and at most φ(0)·r once t >= 0.
    low = -0.5 * jnp.log(2 * (finite + 1)) - 0.1
    high = 0.1 - jnp.log(jnp.minimum(allowed, jnp.sqrt(2 * finite)))
    found = jnp.exp(bracketed_root(excess, low, high))
    ratio = jnp.where(jnp.isinf(left), 0.0, found) * (1 + 100 * machine)
    return jnp.asarray(sensitivity * ratio)
