"""One record per method that people can ask for by name: all that jobs, the command line, pages and tests say of it.

What is drawn is in the records of its mechanisms (:mod:`privrank_jax.jobs.mechanisms`). Nothing here imports JAX.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from privrank_jax.jobs.mechanisms import MECHANISMS, function_of

TRUSTS = ("central", "shuffled", "local")


@dataclasses.dataclass(frozen=True)
class Method:
    """One method."""

    name: str  # what method and --method take
    help: str  # what it does, in a few words
    central: str  # names of the mechanisms that it may draw by, the usual one first, for each trust
    _: dataclasses.KW_ONLY
    shuffled: str = ""
    local: str = ""
    most_items: int | None = None  # that it takes; None for any number
    solves: bool = False  # whether it looks for the best ranking by noisy weights, up to 1 + ξ
    lists: bool = False  # whether it publishes the top_k best items alone
    adjacencies: tuple[str, ...] = ("replace",)  # of a consensus; all but the first centrally alone

    @property
    def mechanisms(self) -> dict[str, list[str]]:
        """By trust the names of its mechanisms."""
        return {trust: names.split() for trust in TRUSTS if (names := getattr(self, trust))}

    @property
    def trusts(self) -> tuple[str, ...]:
        """The trusts that it works with."""
        return tuple(self.mechanisms)

    @property
    def adds_points(self) -> bool:
        """Whether it adds up points or approvals, or wins."""
        return self.lists or self.name == "scores"

    def mechanism(self, trust: str) -> str:
        """Name of the usual mechanism with one of its ``trusts``."""
        return self.mechanisms[trust][0]


def _lists(otherwise: str, choice: str, **more: Any) -> list[Method]:
    """Methods that publish the best items alone; ``top-k`` takes ``canonical`` or ``otherwise``, by a ``choice``."""
    one, whole = (
        "only the list of the top K",
        "only the set of the top K, in no order, one draw among all sets",
    )
    more["lists"] = True
    return [
        Method("one-shot", one, "one-shot-top-k", **more),
        Method("canonical", whole, "canonical-top-k", **more),
        Method("top-k", choice, f"canonical-top-k {otherwise}", **more),
    ]


_ADDED: dict[str, Any] = {"adjacencies": ("replace", "add-remove")}
_CONSENSUS = (
    Method(
        "weights",
        "the best ranking for noisy majorities whose cycles are reduced by as much as may be noise",
        "private-weights",
        solves=True,
        **_ADDED,
    ),
    Method(
        "borda",
        "noisy mean scores",
        "dp-borda",
        shuffled="shuffled-pair-weights",
        local="sub-ranking-weights ldp-borda-subsets",
        **_ADDED,
    ),
    Method("kwiksort", "a sort by noisy majorities", "dp-kwiksort"),
    Method(
        "noise-all",
        "the best ranking for noisy majorities of all pairs",
        "noise-all",
        shuffled="shuffled-pair-weights",
        local="sub-ranking-weights",
        solves=True,
    ),
    Method(
        "footrule",
        "the least sum of distances to noisy positions, proven within twice the fewest disagreements but for the noise",
        "dp-footrule",
    ),
    Method("scores", "noisy totals of points, or of approvals", "dp-scores", **_ADDED),
    Method(
        "exponential",
        "a random ranking, better ones more likely",
        "exponential-kemeny",
        most_items=20,
    ),
    *_lists("dp-scores", "of approvals or points; canonical or scores, by the limit", **_ADDED),
)
CONSENSUS = {method.name: method for method in _CONSENSUS}
"""Methods of :func:`privrank_jax.consensus` and ``privrank aggregate``; ``auto`` takes one of the first two."""

_RANK = (
    Method(
        "scores",
        "fitted under privacy by maximum likelihood",
        "perturbed-mle noisy-counts noisy-choices perturbed-choices covariate-sums covariate-ties perturbed-covariates "
        "noisy-tie-counts perturbed-davidson",
    ),
    Method(
        "counts",
        "noisy win totals, for items that are compared equally often",
        "noisy-counts noisy-choices",
    ),
    *_lists("one-shot-top-k", "canonical or one-shot, by what one user can change"),
)
RANK = {method.name: method for method in _RANK}
"""Methods of :func:`privrank_jax.rank` and ``privrank rank``, whose data decide what makes the result."""


_OTHERS: dict[str, dict[str, Any]] = {
    "dp-scores": {"points": "0-1"},
    "perturbed-mle": {"trust": "central"},
    "randomized-response": {"trust": "local"},
}
"""Arguments of plans for other mechanisms than those of a consensus."""


def design_of(mechanism: Any) -> dict[str, Any]:
    """Arguments of :func:`privrank_jax.plan` by which it simulates a public function or record, or ``ValueError``."""
    known = dict(_OTHERS)
    for method in CONSENSUS.values():
        if method.lists or method.name in ("scores", "footrule"):
            continue
        design = {"rankings": True, "method": method.name, "trust": "central"}
        known.setdefault(method.mechanism("central"), design)
    designs = {MECHANISMS[name].simulated: design for name, design in known.items()}
    functions = {path: function_of(path) for path in designs}
    for path, function in functions.items():
        if function is mechanism:
            return designs[path]
    others = ", ".join(dict.fromkeys(function.__name__ for function in functions.values()))
    raise ValueError(
        f"{mechanism.__name__} is not simulated by plans, which know {others}: plan one of these, or compare its "
        "errors by privrank_jax.simulate."
    )


def check_trust(method: Method, trust: str, methods: Mapping[str, Method]) -> None:
    """Refuse a trust, one of :data:`TRUSTS`, that a method does not work with, and name the ``methods`` that do."""
    if trust not in method.trusts:
        others = ", ".join(other.name for other in methods.values() if trust in other.trusts)
        takes = " or ".join(method.trusts)
        raise ValueError(
            f"{method.name} takes trust={takes}, not {trust}, which goes with {others} and auto."
        )


def described(methods: Mapping[str, Method]) -> str:
    """All methods of :data:`CONSENSUS` or :data:`RANK` in words, each with its limits, for help."""
    found, offered = [], {trust for method in methods.values() for trust in method.trusts}
    for method in methods.values():
        without = sorted(offered - set(method.trusts), reverse=True)
        told = [method.help, *([f"not {' or '.join(without)}"] if without else [])]
        told += [f"up to {method.most_items} items"] if method.most_items else []
        found.append(f"{method.name} ({'; '.join(told)})")
    return ", ".join(found)


def solvers(methods: Mapping[str, Method]) -> str:
    """Names of the methods that look for the best ranking, in words."""
    return ", ".join(method.name for method in methods.values() if method.solves)
