"""Audited mechanisms by name: every private function of the library on a small pair of neighbors that is hard for it.

Where a paper's calibration is unsound its row is here too, so that the audit can be seen to catch it. A module listed
in ``_MODULES`` holds a tuple ``AUDITED``; its modules load on first use. To add a row, append it there: the tests of
the registry then hold it to its contract, to its claim, to its exact losses and to half of its noise, and the commands
that it names to replays on neighboring files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privrank_jax import _registry
from privrank_jax.estimate import Estimate
from privrank_jax.privacy_audit.neighbors import Instances

_MODULES = (
    "audited_reports",
    "audited_comparisons",
    "audited_gaussian",
    "audited_selections",
    "audited_consensus",
    "audited_local",
    "audited_synthetic",
)

Law = Callable[[np.ndarray, float, Any], np.ndarray]
"""``(data, epsilon, facts) -> (D, K)`` log probabilities, or densities, of outputs under each of D data sets."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Audited:
    """One private mechanism, two neighbors, and what the audit looks at.

    Attributes:
        name: what ``privrank audit`` calls it.
        title: the mechanism and its calibration.
        function: the public function behind it.
        neighbors: two arrays of one shape, data sets that differ in one unit and are hard for the mechanism.
        release: ``(key, data, epsilon)`` to one release, an :class:`~privrank_jax.estimate.Estimate` or an array.
        reduce: the value of a release to the number of an outcome (where ``outcomes`` names them) or to a real
            statistic. A post-processing, which can only lose less than the release.
        sees: the outcome or the statistic in words.
        outcomes: the names of the outcomes, in the order of their numbers; None for a real statistic.
        unit: of the guarantee, see :class:`~privrank_jax.privacy.Guarantee`.
        adjacency: likewise.
        trust: likewise.
        calibration: ``"tight"`` (some neighbors lose at least 0.99 of the claim), ``"sound"`` (none is known that do)
            or ``"published"``.
        claimed: ε asked for to the ε that is claimed for this unit.
        instances: small data sets with all their neighbors, for the exact loss.
        law: of the release (see :data:`Law`), ``facts`` being what its diagnostics say of the noise. With ``finite``
            it is that of the outcomes, in their order.
        loss: for claims with δ > 0 in place of ``law``: ``(first, second, epsilon, facts) -> (P,)``, the smallest ε
            at that δ between stacked data sets.
        finite: whether the outcomes are all that the release says, with the probabilities of ``law``.
        epsilon: at which an audit runs unless told otherwise.
        delta: δ of the claim.
        sound: False where the claim is known to be wrong.
        released_by: the function of :mod:`privrank_jax.release` that draws this for real releases, if one does.
        commands: command lines that release it, without FILE, ``--epsilon`` and ``--out``. Each is replayed on
            neighboring files (:mod:`privrank_jax.privacy_audit.replay`), of all kinds that its guarantee speaks of.
        note: where the claim stands, or what is wrong with it.
    """

    name: str
    title: str
    function: str
    neighbors: tuple[np.ndarray, np.ndarray]
    release: Callable[[Any, Any, Any], Any]
    sees: str
    instances: Callable[[], Instances] | None = None
    law: Law | None = None
    loss: Callable[[np.ndarray, np.ndarray, float, Any], np.ndarray] | None = None
    reduce: Callable[[Any], Any] = lambda value: value
    outcomes: tuple[str, ...] | None = None
    finite: bool = False
    unit: str = "comparison"
    adjacency: str = "replace"
    trust: str = "central"
    calibration: str = "tight"
    claimed: Callable[[float], float] = float
    epsilon: float = 1.0
    delta: float = 0.0
    sound: bool = True
    released_by: str = ""
    commands: tuple[str, ...] = ()
    note: str = ""

    def value(self, key: Any, data: Any, epsilon: Any) -> Any:
        """What one release publishes."""
        released = self.release(key, data, epsilon)
        return released.value if isinstance(released, Estimate) else released

    def run(self, key: Any, data: Any, epsilon: Any) -> Any:
        """One release, reduced."""
        return self.reduce(self.value(key, data, epsilon))


def names() -> list[str]:
    """Names of all audited mechanisms."""
    return list(_registered())


def get(name: str) -> Audited:
    """The audited mechanism of that name.

    Raises:
        ValueError: there is none; the message names the nearest.

    >>> get("randomized-response").unit
    'comparison'
    """
    return _registry.find(_registered(), name, "audited mechanism", names())


@functools.lru_cache(maxsize=1)
def _registered() -> dict[str, Audited]:
    modules = (f"{__package__}.{module}" for module in _MODULES)
    return _registry.collect(modules, "AUDITED", "audited mechanism")
