"""Audited mechanisms by name: every private function of the library on a small pair of neighbours that is hard for it.

Where a paper's calibration is unsound its row is here too, so that the audit can be seen to catch it. A module listed
in ``_MODULES`` holds a tuple ``AUDITED``; its modules load on first use. To add a row, append it there: the tests of
the registry then hold it to its claim, to its exact loss and to half of its noise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privrank_jax import _registry

_MODULES = ("audited_comparisons", "audited_rankings")


@dataclass(frozen=True, eq=False)
class Audited:
    """One private mechanism, two neighbours, and what the audit looks at.

    Attributes:
        name: what ``privrank audit`` calls it.
        title: the mechanism and its calibration.
        function: the public function behind it.
        neighbours: two pytrees of arrays of the same shapes, data sets that differ in one unit.
        run: ``(key, data, epsilon) -> scalar``: one release, reduced to the number of an outcome (where ``outcomes``
            names them) or to a real statistic. A post-processing, which can only lose less than the release.
        sees: the outcome or the statistic in words.
        outcomes: the names of the outcomes, in the order of their numbers; None for a real statistic.
        unit: of the guarantee, see :class:`~privrank_jax.privacy.Guarantee`.
        adjacency: likewise.
        trust: likewise.
        calibration: ``"tight"``, ``"sound"`` (more noise than these neighbours need) or ``"published"``.
        claimed: ε asked for to the ε that is claimed for this unit.
        exact: ε asked for to the largest loss over all outputs seen, both ways; None where it isn't known. At δ > 0
            the smallest ε for that δ.
        epsilon: at which an audit runs unless told otherwise.
        delta: δ of the claim.
        sound: False where the claim is known to be wrong.
        note: where the claim stands, or what is wrong with it.
    """

    name: str
    title: str
    function: str
    neighbours: tuple[Any, Any]
    run: Callable[[Any, Any, Any], Any]
    sees: str
    outcomes: tuple[str, ...] | None = None
    unit: str = "comparison"
    adjacency: str = "replace"
    trust: str = "central"
    calibration: str = "tight"
    claimed: Callable[[float], float] = float
    exact: Callable[[float], float] | None = None
    epsilon: float = 1.0
    delta: float = 0.0
    sound: bool = True
    note: str = ""


def names() -> list[str]:
    """Names of all audited mechanisms."""
    return list(_registered())


def get(name: str) -> Audited:
    """The audited mechanism of that name.

    Raises:
        ValueError: there is none; the message names the nearest.

    >>> get("randomised-response").unit
    'comparison'
    """
    return _registry.find(_registered(), name, "audited mechanism", names())


@functools.lru_cache(maxsize=1)
def _registered() -> dict[str, Audited]:
    modules = (f"{__package__}.{module}" for module in _MODULES)
    return _registry.collect(modules, "AUDITED", "audited mechanism")
