"""Registry of audited mechanisms: every private function of the library with a small pair of hard neighbors.

Unsound calibrations of papers have rows too, which show that the audit detects them. Each module listed in ``_MODULES``
holds a tuple ``AUDITED`` and is loaded on first use. To add a row, append it to such a tuple: the tests of the registry
then check its contract, its claim, its exact losses and a version with half of its noise, and replay the commands that
it names on neighboring files.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Shaped

from privrank_jax import _registry
from privrank_jax._types import Key, Scalar
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.neighbors import Instances

_MODULES = (
    "audited_reports",
    "audited_comparisons",
    "audited_questionnaires",
    "audited_covariates",
    "audited_ties",
    "audited_choices",
    "audited_gaussian",
    "audited_continual",
    "audited_selections",
    "audited_consensus",
    "audited_weights",
    "audited_footrule",
    "audited_footrule_tree",
    "audited_local",
    "audited_shuffled",
    "audited_synthetic",
)

Release = Callable[[jax.Array, Any, Privacy], Any]
"""Maps ``(key, data, privacy)`` to one release, an :class:`~privrank_jax.estimate.Estimate` or an array."""
Facts = Mapping[str, float]
"""What a release says of its noise: its scale, for example."""
Law = Callable[[np.ndarray, Privacy, Facts], np.ndarray]
"""``(data, privacy, facts) -> (D, K)`` log probabilities, or densities, of outputs under each of D data sets."""
Loss = Callable[[np.ndarray, np.ndarray, Privacy, Facts], np.ndarray]
"""``(first, second, privacy, facts) -> (P,)``, the smallest ε at the promised δ between stacked data sets."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Audited:
    """One private mechanism, two neighbors, and the statistic that the audit observes.

    Attributes:
        name: what ``privrank audit`` calls it.
        title: the mechanism and its calibration.
        function: the public function behind it.
        neighbors: two arrays of one shape, data sets that differ in one unit and are hard for the mechanism.
        release: one release of ``data`` that keeps a promise, see :data:`Release`.
        promise: what is claimed; its ε is the default of an audit.
        reduce: the value of a release to the number of an outcome (where ``outcomes`` names them) or to a real
            statistic. A post-processing, which can only lose less than the release.
        sees: the outcome or the statistic, in words.
        outcomes: the names of the outcomes, in the order of their numbers; None for a real statistic.
        trust: ``"central"``, ``"shuffled"`` or ``"local"``, see :class:`~privrank_jax.privacy.Guarantee`.
        calibration: ``"tight"`` (some neighbors lose at least 0.99 of the claim), ``"sound"`` (no such neighbors are
            known) or ``"published"``.
        instances: small data sets with all their neighbors, for the exact loss.
        law: law of the release (see :data:`Law`); ``facts`` holds what its diagnostics report about the noise. With
            ``finite`` it is the law of the outcomes, in their order.
        loss: for claims with δ > 0 in place of ``law``, see :data:`Loss`.
        finite: whether the outcomes are all that the release reveals, with the probabilities of ``law``.
        sound: False where the claim is known to be wrong.
        released_by: the function of :mod:`privrank_jax.release` that draws this for real releases, if one does.
        commands: command lines that release it, without FILE, ``--epsilon`` and ``--out``. Each is replayed on
            neighboring files (:mod:`privrank_jax.privacy_audit.replay`) of every kind that its guarantee covers.
        note: where the claim is stated, or what is wrong with it.
        changes: ``(K, 3)``, for releases of one noisy number for each of three items: changes of these numbers between
            neighbors, whose convex hull holds all others. :func:`noise_draws` and the command draw the noise beside it.
    """

    name: str
    title: str
    function: str
    neighbors: tuple[Shaped[np.ndarray, "*data"], Shaped[np.ndarray, "*data"]]
    release: Release
    promise: Privacy
    sees: str
    instances: Callable[[], Instances] | None = None
    law: Law | None = None
    loss: Loss | None = None
    reduce: Callable[[Any], Any] = lambda value: value
    outcomes: tuple[str, ...] | None = None
    finite: bool = False
    trust: str = "central"
    calibration: str = "tight"
    sound: bool = True
    released_by: str = ""
    commands: tuple[str, ...] = ()
    note: str = ""
    changes: Float[np.ndarray, "changes 3"] | None = None

    def at(self, epsilon: Scalar) -> Privacy:
        """The promise of the row at another ε, which may be traced."""
        return dataclasses.replace(self.promise, epsilon=epsilon)

    def value(self, key: Key, data: Any, privacy: Privacy) -> Any:
        """The value that one release publishes."""
        released = self.release(key, data, privacy)
        return released.value if isinstance(released, Estimate) else released

    def run(self, key: Key, data: Any, privacy: Privacy) -> Any:
        """One release, reduced to its outcome or statistic."""
        return self.reduce(self.value(key, data, privacy))


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


@functools.lru_cache(maxsize=1)
def _registered() -> dict[str, Audited]:
    modules = (f"{__package__}.{module}" for module in _MODULES)
    return _registry.collect(modules, "AUDITED", "audited mechanism")
