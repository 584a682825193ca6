"""Registry of audited mechanisms: every private function of the library with a small pair of hard neighbors.

Unsound calibrations of papers have rows too, which show that the audit detects them. Each module ``audited_...`` beside
this one holds a tuple ``AUDITED`` and is loaded on first use. To add a row, append it to such a tuple: the tests of the
registry then check its contract, its claim, its exact losses and a version with half of its noise, and replay the
commands that it names on neighboring files. Additive records have the contract of ``tests/mechanism`` by their rows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from privrank_jax import _registry
from privrank_jax._types import Key, Scalar
from privrank_jax._validate import check_callable, is_real, shape_of, spelled, type_of
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.privacy import check_privacy
from privrank_jax.privacy_audit.contents import Units
from privrank_jax.privacy_audit.neighbors import Instances

Release = Callable[[jax.Array, Any, Privacy], Any]
"""Maps ``(key, data, privacy)`` to one release, an :class:`~privrank_jax.estimate.Estimate` or an array."""
Facts = Mapping[str, float]
"""What a release says of its noise: its scale, for example."""
Law = Callable[[np.ndarray, Privacy, Facts], np.ndarray]
"""``(data, privacy, facts) -> (D, K)`` log probabilities, or densities, of outputs under each of D data sets."""
Loss = Callable[[np.ndarray, np.ndarray, Privacy, Facts], np.ndarray]
"""``(first, second, privacy, facts) -> (P,)``, the smallest ε at the promised δ between stacked data sets."""


@dataclass(frozen=True, eq=False)
class Twin:
    """The naive twin of a mechanism that adds noise to linear numbers.

    Attributes:
        function: the mechanism.
        units: what units can hold, and their numbers.
        noise: its kind.
        given: further arguments of the function.
    """

    function: Callable[..., Any]
    units: Units
    noise: str
    given: Mapping[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Audited:
    """One private mechanism, two neighbors, and the statistic that the audit observes.

    A mechanism of one's own needs ``name``, ``neighbors``, ``release`` and ``promise``, and ``reduce`` where a release
    is more than one number.

    Attributes:
        name: what ``privrank audit`` calls it.
        neighbors: two arrays of real numbers, of one shape: data sets that differ in one unit and are hard for the
            mechanism. Where the mechanism takes a pytree, ``release`` builds it from such an array.
        release: one release of ``data`` that keeps a promise, see :data:`Release`. JAX compiles it, with ``data`` and
            the ε of ``privacy`` traced.
        promise: what is claimed; its ε is the default of an audit.
        title: the mechanism and its calibration; by default the name.
        function: the public function behind it; by default the name of ``release``.
        reduce: the value of a release to the number of an outcome (where ``outcomes`` names them) or to a real
            statistic. A post-processing, which can only lose less than the release.
        sees: what ``reduce`` gives, in words; by default "the outcome" or "the statistic".
        outcomes: the names of the outcomes, in the order of their numbers; None for a real statistic.
        trust: ``"central"``, ``"shuffled"`` or ``"local"``, see :class:`~privrank_jax.privacy.Guarantee`.
        calibration: ``"tight"`` (some neighbors lose at least 0.99 of the claim), ``"sound"`` (no such neighbors are
            known) or ``"published"``; by default it is not said.
        instances: small data sets with all their neighbors, for the exact loss.
        law: law of the release (see :data:`Law`); ``facts`` holds what its diagnostics report about the noise. With
            ``finite`` it is the law of the outcomes, in their order.
        loss: for claims with δ > 0 in place of ``law``, see :data:`Loss`.
        finite: whether the outcomes are all that the release reveals, with the probabilities of ``law``.
        sound: False where the claim is known to be wrong.
        commands: command lines that release it, without FILE, ``--epsilon`` and ``--out``. Each is replayed on
            neighboring files (:mod:`privrank_jax.privacy_audit.replay`) of every kind that its guarantee covers.
        note: where the claim is stated, or what is wrong with it.
        twin: what is added to which numbers of which contents, for rows on additive noise.
        changes: ``(K, 3)``, for releases of one noisy number for each of three items: changes of these numbers between
            neighbors, whose convex hull holds all others. :func:`noise_draws` and the command draw the noise beside it.

    Raises:
        TypeError: ``release`` or ``reduce`` does not take its arguments, or the promise is not a ``Privacy``.
        ValueError: the neighbors are not two arrays of real numbers, of one shape.
    """

    name: str
    neighbors: tuple[Shaped[np.ndarray, "*data"], Shaped[np.ndarray, "*data"]]
    release: Release
    promise: Privacy
    title: str = ""
    function: str = ""
    sees: str = ""
    instances: Callable[[], Instances] | None = None
    law: Law | None = None
    loss: Loss | None = None
    reduce: Callable[[Any], Any] = lambda value: value
    outcomes: tuple[str, ...] | None = None
    finite: bool = False
    trust: str = "central"
    calibration: str = ""
    sound: bool = True
    commands: tuple[str, ...] = ()
    note: str = ""
    twin: Twin | None = None
    changes: Float[np.ndarray, "changes 3"] | None = None

    def __post_init__(self) -> None:
        check_callable(f"{self.name}: release", self.release, "key", "data", "privacy")
        check_callable(f"{self.name}: reduce", self.reduce, "value")
        check_privacy(self.promise)
        filled = {
            "neighbors": _pair(self.name, self.neighbors),
            "title": self.title or self.name,
            "function": self.function or getattr(self.release, "__name__", ""),
            "sees": self.sees or ("the outcome" if self.outcomes else "the statistic"),
        }
        for field, value in filled.items():
            object.__setattr__(self, field, value)

    def at(self, epsilon: Scalar) -> Privacy:
        """The promise of the row at another ε, which may be traced."""
        return dataclasses.replace(self.promise, epsilon=epsilon)

    def value(self, key: Key, data: Any, privacy: Privacy) -> Any:
        """The value that one release publishes."""
        called = f"{self.name}: release(key, data, privacy) was called with data {spelled(data)}"
        with _noting(f"{called} and a Privacy. Take ε from privacy.epsilon, draw from the key"):
            released = self.release(key, data, privacy)
        return released.value if isinstance(released, Estimate) else released

    def run(self, key: Key, data: Any, privacy: Privacy) -> Any:
        """One release, reduced to its outcome or statistic.

        Raises:
            ValueError: what ``reduce`` makes of a release is not one real number, or not the number of an outcome.
        """
        value = self.value(key, data, privacy)
        called = f"{self.name}: reduce(value) was called with {spelled(value)}"
        with _noting(f"{called}. It must make one number of it"):
            found = self.reduce(value)
        self._check_number(found)
        return found

    def _check_number(self, found: Any) -> None:
        if not is_real(found) or np.shape(found):
            raise ValueError(
                f"{self.name}: an audit compares one real number of each release, and got {spelled(found)}: give a "
                "`reduce` that makes one number of a release, such as reduce=lambda value: value[0]."
            )
        if self.outcomes is not None and jnp.issubdtype(type_of(found), np.floating):
            raise ValueError(
                f"{self.name}: with `outcomes`, a release must be reduced to the number of one, an integer from 0 to "
                f"{len(self.outcomes) - 1}, and got {spelled(found)}: convert it by .astype(int), or leave out "
                "`outcomes` for a statistic."
            )


@contextlib.contextmanager
def _noting(text: str) -> Iterator[None]:
    """Add to an error of the user's own function how it was called and what it may use."""
    try:
        yield
    except (TypeError, AttributeError, IndexError) as error:
        error.add_note(f"{text}, and use jnp for np and jnp.where for `if`, as JAX compiles it.")
        raise


def _pair(name: str, neighbors: object) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of real numbers, of one shape."""
    given = list(neighbors) if isinstance(neighbors, tuple | list | np.ndarray) else []
    for one in given:
        shape_of(f"{name}: neighbors", one)
    found = [np.asarray(one) for one in given]
    for one, array in zip(given, found):
        if not is_real(array):
            raise ValueError(
                f"{name}: neighbors must be arrays of real numbers, got {spelled(one)}: give the numbers that "
                "neighbors differ in, and build the rest inside release, as in lambda key, data, privacy: "
                "noise_all(key, PairWeights(data, 100), privacy) for neighbors (first.matrix, second.matrix)."
            )
    if len(found) != 2 or found[0].shape != found[1].shape:
        shapes = " and ".join(str(one.shape) for one in found) or repr(neighbors)
        raise ValueError(
            f"{name}: neighbors must be two arrays of one shape, got {shapes}: where one data set has a unit less, pad "
            "it, with a mask as part of the array."
        )
    return found[0], found[1]


def names() -> list[str]:
    """Names of all audited mechanisms.

    Returns:
        The names.

    >>> "noisy-counts" in names()
    True
    """
    return list(_registered())


def get(name: str) -> Audited:
    """The audited mechanism of that name.

    Args:
        name: as in :func:`names`.

    Returns:
        The :class:`Audited`.

    Raises:
        ValueError: there is none; the message names the nearest.

    >>> get("randomized-response").promise.unit
    'comparison'
    """
    return _registry.find(_registered(), name, "audited mechanism", names())


def about(mechanism: Any) -> list[Audited]:
    """All rows about a mechanism.

    Args:
        mechanism: a public function or record that draws.

    Returns:
        The rows; those that show a published calibration of it to be wrong only if there are no others.

    Raises:
        ValueError: there are none.

    >>> from privrank_jax.privacy import randomized_response
    >>> [row.name for row in about(randomized_response)]
    ['randomized-response']
    """
    home, name = mechanism.__module__, mechanism.__name__
    rows = [row for row in _registered().values() if row.function == name]
    found = [row for row in rows if row.release.__module__ == home]
    if not found:
        raise ValueError(
            f"no audit is about {home}.{name}: make a privacy_audit.Audited with two neighbors, its release and its "
            "promise, and bound its loss by privacy_audit.audit."
        )
    return [row for row in found if row.sound] or found


@functools.lru_cache(maxsize=1)
def _registered() -> dict[str, Audited]:
    home = pkgutil.iter_modules([str(Path(__file__).parent)])
    names = (module.name for module in home)
    modules = (f"{__package__}.{name}" for name in names if name.startswith("audited_"))
    return _registry.collect(modules, "AUDITED", "audited mechanism")
