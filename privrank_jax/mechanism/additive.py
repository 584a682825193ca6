"""Mechanisms that add noise to numbers that are linear in data: one record each, and all that follows from it."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from privrank_jax._types import Key
from privrank_jax._validate import check_no_padding
from privrank_jax.comparisons import default_float
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import UNPADDED, Data, Facts
from privrank_jax.mechanism.program import Record
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.geometry import Cube
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import SHAPED_NOISES, NoiseDiagnostics, kept_by_noise
from privrank_jax.privacy.privacy import Kind, Privacy, check_privacy


@dataclasses.dataclass(frozen=True, eq=False)
class Noisy(Record):
    """A mechanism that adds noise of several kinds.

    Attributes:
        data: what it reads.
        kinds: units and adjacencies that it protects, the weakest first.
        noises: kinds of noise, the default first.
    """

    data: Data
    kinds: tuple[Kind, ...]
    noises: tuple[str, ...] = dataclasses.field(default=SHAPED_NOISES, kw_only=True)

    def attained(self, privacy: Privacy, noise: str) -> Privacy:
        """What is attained of a promise; raises for one that this can't keep, or noise that it does not have."""
        units = {unit for unit, _ in self.kinds}
        if "comparison" in units and getattr(privacy, "unit", None) == "rank":
            raise ValueError(
                f"{self.name} works on comparisons, which have no ranks to protect: promise unit='comparison' or "
                "unit='user'."
            )
        found = kept_by_noise(noise, privacy, self.name, *self.kinds, noises=self.noises)
        if privacy.contributions is not None and units == {"user"}:
            raise ValueError(
                f"{self.name} protects all that a user says, not single comparisons: leave contributions out of the "
                "promise."
            )
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class Additive(Noisy):
    """Statistic + noise, then post-processing.

    Called with ``(key, data, privacy, noise=...)`` it simulates: pure, for ``jit``, ``vmap`` and ``grad``.
    :meth:`release` draws exact noise from the operating system's entropy, on the host.

    Attributes:
        name, doc, data, kinds, noises: as of :class:`Noisy`.
        statistic: (numbers, facts) -> numbers: linear, whole if they are, the same code for NumPy and JAX.
        change: (attained promise, facts, noise) -> what one unit moves of it.
        finish: (noisy numbers, facts) -> value: given neither data nor a private number of users, so post-processing.
        shape: facts -> shape of the statistic.
        real: facts -> which of its numbers are released, the finish drops the others; default all.
        default: (privacy, what else is public) -> the noise, where it is not always the first one.
    """

    statistic: Callable[[Any, Facts], Any]
    change: Callable[[Privacy, Facts, str], Change]
    finish: Callable[[Any, Facts], Any] = lambda noisy, facts: noisy
    shape: Callable[[Facts], tuple[int, ...]] = lambda facts: (facts.num_items,)
    real: Callable[[Facts], Bool[Any, "..."]] | None = None
    default: Callable[[Privacy, Mapping[str, Any]], str] | None = None

    def __post_init__(self) -> None:
        self.read_in(self.statistic)

    def kind(self, noise: str | None, privacy: Privacy, told: Mapping[str, Any]) -> str:
        """The noise that was asked for, else the default."""
        if noise is None and self.default is not None:
            check_privacy(privacy)
            return self.default(privacy, told)
        return noise or self.noises[0]

    def noise(self, privacy: Privacy, facts: Facts, noise: str | None = None) -> Noise:
        """The noise on the statistic, in published units; it depends on public facts alone."""
        kind = self.kind(noise, privacy, facts.told)
        attained = self.attained(privacy, kind)
        change = self.change(attained, facts, kind)
        return change.noise(kind, self._scale(attained, facts, kind, change), self.shape(facts))

    def scale(self, privacy: Privacy, facts: Facts, noise: str | None = None) -> Any:
        """The scale of that noise."""
        return self.noise(privacy, facts, noise).scale

    def _scale(self, attained: Privacy, facts: Facts, noise: str, change: Change) -> Any:
        size = change.size(noise) / (self.data.times * _first(change.parts))
        if self.data.mean and attained.adjacency != "add-remove":
            size = size / facts.num_users
        return additive_scale(noise, attained, size, size)

    def __call__(
        self, key: Key, data: Any, privacy: Privacy, *, noise: str | None = None, **public: Any
    ) -> Estimate:
        """Simulate.

        Args:
            key: PRNG key.
            data: as the record says; may be traced.
            privacy: what is promised; ε and δ may be traced, and ε = ∞ adds no noise.
            noise: one of ``noises``.
            public: what else is public of the data, where the record takes it.

        Returns:
            ``value`` as the record says, the guarantee, and scale and center of the noise in published units.

        Raises:
            TypeError, ValueError: a promise or noise that this can't keep; data of another type, or that are wrong.
        """
        kind = self.kind(noise, privacy, public)
        attained = self.attained(privacy, kind)
        self.data.check(data, self.name)
        numbers, facts = self.data.floats(data, **public)
        change = self.change(attained, facts, kind)
        scale = self._scale(attained, facts, kind, change)
        added = None
        if facts.told:  # not for the program, where the shape of the noise would be traced
            added, facts = change.noise(kind, scale, self.shape(facts)), facts.alone
        value = _simulated(self, key, numbers, facts, attained, scale, added, kind)
        told = NoiseDiagnostics(scale, _center(attained, change))
        return Estimate(value, Guarantee(privacy, attained), told)

    def release(
        self, data: Any, privacy: Privacy, *, noise: str | None = None, **public: Any
    ) -> Estimate:
        """Release with exact noise on whole numbers, from the operating system's entropy.

        Arguments, results and errors are as of a simulation, in NumPy and float64; ε = ∞, several ε, padded items,
        which would be published, and data without exact counts are refused.
        """
        from privrank_jax.exact.integer_noise import concentrated, exact_estimate, exact_promise

        kind = self.kind(noise, privacy, public)
        attained = exact_promise(self.attained(privacy, kind))
        self.data.check(data, self.name)
        check_no_padding(data, UNPADDED)
        numbers, facts = self.data.whole(data, **public)
        change = self.change(attained, facts, kind)
        parts = self.data.times * change.parts
        values = change.parts * self.statistic(numbers, facts)
        if values.dtype.kind == "f":  # exact multiples of 1/parts
            values = np.rint(values).astype(np.int64)
        hidden = attained.adjacency == "add-remove"
        if hidden and change.center:
            values = values - int(facts.num_users) * round(parts * change.center)
        real = np.ones(values.shape, bool) if self.real is None else self.real(facts)
        noisy = np.zeros(values.shape)
        noisy[real], scale = _with_exact_noise(kind, attained, change, values[real])
        divisor = int(facts.num_users) if self.data.mean and not hidden else 1
        value = self.finish(noisy / parts / divisor, _seen(attained, facts))
        changes = np.sort(np.ravel(change.entries if kind == "laplace" else []))[::-1].tolist()
        return exact_estimate(
            value,
            privacy,
            attained,
            NoiseDiagnostics(scale / _first(parts) / divisor, _center(attained, change)),
            changes=tuple(math.ceil(c) for c in changes if c),
            rho=concentrated(kind, float(change.size(kind)), scale),
        )


def _first(parts: Any) -> Any:
    """The part of the first number, whose noise has the scale that is published."""
    return parts if np.ndim(parts) == 0 else parts[0]


def _center(attained: Privacy, change: Change) -> Any:
    return change.center if attained.adjacency == "add-remove" else 0.0


def _seen(attained: Privacy, facts: Facts) -> Facts:
    """What is public of the data under this promise."""
    hidden = attained.adjacency == "add-remove"
    return dataclasses.replace(facts, num_users=None) if hidden else facts


@functools.partial(jax.jit, static_argnames=("record", "noise"))
def _simulated(
    record: Additive,
    key: Key,
    numbers: Any,
    facts: Facts,
    attained: Privacy,
    scale: Any,
    added: Noise | None,
    noise: str,
) -> Any:
    value = record.statistic(numbers, facts)
    if not jnp.issubdtype(value.dtype, jnp.floating):
        value = value.astype(default_float())
    if added is None:
        change = record.change(attained, facts, noise)
        if attained.adjacency == "add-remove" and facts.num_users is not None:
            users = jnp.asarray(facts.num_users, value.dtype)
            center = jnp.asarray(change.center, value.dtype)
            value = users * (value - center) if record.data.mean else value - center * users
        added = change.noise(noise, scale, value.shape)
    return record.finish(value + added.draw(key, value.dtype), _seen(attained, facts))


def _with_exact_noise(
    noise: str, attained: Privacy, change: Change, values: np.ndarray
) -> tuple[np.ndarray, float]:
    from privrank_jax.exact.integer_noise import integer_noise
    from privrank_jax.exact.spanning_trees import Graph

    if noise != "k-norm":
        add_noise, scale = integer_noise(noise, attained, change.size(noise))
        return add_noise(values), scale
    assert change.body is not None
    body, factor = change.body(), change.factor
    if isinstance(body, Cube):
        add_noise, scale = integer_noise(noise, attained, factor, values.size)
        return add_noise(values), scale
    lengths = np.asarray(body.lengths)
    halves = 1 if np.array_equal(lengths, np.rint(lengths)) else 2
    graph = Graph.of_counts(np.rint(halves * lengths).astype(np.int64))
    add_noise, scale = integer_noise(noise, attained, factor // halves, graph)
    more = len(lengths) - len(values)  # an item beyond the numbers, whose number is minus their sum
    return add_noise(np.append(values, [-values.sum()] * more))[: len(values)], halves * scale
