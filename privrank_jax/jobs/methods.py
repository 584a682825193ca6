"""One record per method that people can ask for by name: all that jobs, the command line, pages and tests say of it.

From a record follow the names that ``method`` and ``--method`` take and their help, the trusts, what is refused and in
which words, and what tests run. What is drawn is in the record of its mechanisms
(:mod:`privrank_jax.jobs.mechanisms`): functions, noises, label, audit. Nothing here imports JAX, so that options can be
checked before anything heavy is loaded.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from privrank_jax.jobs.mechanisms import MECHANISMS, function_of

TRUSTS = ("central", "shuffled", "local")


@dataclasses.dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
        name: what ``method`` and ``--method`` take.
        help: what it does, in a few words.
        mechanisms: by trust the names of the mechanisms that it may draw by; the first is the usual one.
        run: of consensus methods, the function of :mod:`privrank_jax.jobs`, ``"module:function"``, that draws.
        idealized: the mechanism of local reports that are not drawn exactly, once that is accepted.
        most_items: that it takes; None for any number.
        solves: whether it looks for the best ranking by noisy weights, so that a cost of 1 + ξ times the least may be
            accepted.
        lists: whether it publishes the ``top_k`` best items alone.
        adjacencies: of consensus methods, how neighboring data may differ; all but the first with trust central alone.
    """

    name: str
    help: str
    mechanisms: Mapping[str, tuple[str, ...]]
    run: str = ""
    _: dataclasses.KW_ONLY
    idealized: str = ""
    most_items: int | None = None
    solves: bool = False
    lists: bool = False
    adjacencies: tuple[str, ...] = ("replace",)

    @property
    def trusts(self) -> tuple[str, ...]:
        """The trusts that it works with."""
        return tuple(self.mechanisms)

    def mechanism(self, trust: str, accepts: bool = False) -> str:
        """Name of the usual mechanism with one of its ``trusts``; ``accepts``: idealized reports are accepted."""
        accepted = trust == "local" and accepts and self.idealized
        return self.idealized if accepted else self.mechanisms[trust][0]

    def runner(self) -> Any:
        """Look up the function behind it at each call, so that a test can replace it."""
        module, _, name = self.run.partition(":")
        return getattr(importlib.import_module(f"privrank_jax.jobs.{module}"), name)


def _by_name(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


def _lists(run: str, otherwise: str, choice: str, **more: Any) -> list[Method]:
    """Methods that publish the best items alone; ``top-k`` takes ``canonical`` or ``otherwise``, by a ``choice``."""
    set_words = "only the set of the top K, in no order, one draw among all sets"
    named = {
        "one-shot": ("only the list of the top K", "one-shot-top-k"),
        "canonical": (set_words, "canonical-top-k"),
        "top-k": (choice, "canonical-top-k", otherwise),
    }
    return [
        Method(name, words, {"central": tuple(mechanisms)}, run, lists=True, **more)
        for name, (words, *mechanisms) in named.items()
    ]


_ADDED: dict[str, Any] = {"adjacencies": ("replace", "add-remove")}
CONSENSUS = _by_name(
    Method(
        "weights",
        "the best ranking for noisy majorities whose cycles are reduced by as much as may be noise",
        {"central": ("private-weights",)},
        "consensus:by_weights",
        solves=True,
        **_ADDED,
    ),
    Method(
        "borda",
        "noisy mean scores",
        {
            "central": ("dp-borda",),
            "shuffled": ("shuffled-pair-weights",),
            "local": ("sub-ranking-weights", "ldp-borda-subsets"),
        },
        "consensus:by_scores",
        idealized="ldp-borda",
        **_ADDED,
    ),
    Method(
        "kwiksort",
        "a sort by noisy majorities",
        {"central": ("dp-kwiksort",), "local": ("ldp-kwiksort",)},
        "consensus:by_ranks",
    ),
    Method(
        "noise-all",
        "the best ranking for noisy majorities of all pairs",
        {
            "central": ("noise-all",),
            "shuffled": ("shuffled-pair-weights",),
            "local": ("sub-ranking-weights",),
        },
        "consensus:by_weights",
        solves=True,
    ),
    Method(
        "footrule",
        "the least sum of distances to noisy positions, proven within twice the fewest disagreements but for the noise",
        {"central": ("dp-footrule",)},
        "consensus:by_places",
    ),
    Method(
        "scores",
        "noisy totals of approvals or points, for --approvals or with --points",
        {"central": ("dp-scores",)},
        "points:by_points",
        **_ADDED,
    ),
    Method(
        "exponential",
        "a random ranking, better ones more likely",
        {"central": ("exponential-kemeny",)},
        "consensus:by_ranks",
        most_items=20,
    ),
    *_lists(
        "points:by_points",
        "dp-scores",
        "of approvals or points; canonical or scores, by the limit",
        **_ADDED,
    ),
)
"""Methods of :func:`privrank_jax.consensus` and ``privrank aggregate``; ``auto`` takes one of the first two."""

RANK = _by_name(
    Method(
        "scores",
        "fitted under privacy by maximum likelihood",
        {
            "central": (
                *("perturbed-mle", "noisy-counts", "noisy-choices", "perturbed-choices"),
                *("covariate-sums", "covariate-ties", "perturbed-covariates"),
                *("noisy-tie-counts", "perturbed-davidson"),
            )
        },
    ),
    Method(
        "counts",
        "noisy win totals, for items that are compared equally often",
        {"central": ("noisy-counts", "noisy-choices")},
    ),
    *_lists("", "one-shot-top-k", "canonical or one-shot, by what one user can change"),
)
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
    if trust in method.trusts:
        return
    others = ", ".join(other.name for other in methods.values() if trust in other.trusts)
    why = f"does not work on {trust} reports"
    if method.trusts == ("central",):
        why = "needs someone who holds all rankings"
    raise ValueError(f"{method.name} {why}: with trust={trust!r} use {others}, or auto.")


def check_items_of(method: Method, name: str, num_items: int) -> None:
    """Refuse more items than a method takes; ``name``: of the data."""
    if method.most_items is not None and num_items > method.most_items:
        raise ValueError(
            f"{method.name} takes at most {method.most_items}; {name} has {num_items:,} items: use method='borda'."
        )


def described(methods: Mapping[str, Method]) -> str:
    """All methods of :data:`CONSENSUS` or :data:`RANK` in words, each with its limits, for help."""
    offered = {trust for method in methods.values() for trust in method.trusts}
    return ", ".join(
        f"{method.name} ({_with_limits(method, offered)})" for method in methods.values()
    )


def _with_limits(method: Method, offered: set[str]) -> str:
    told = [method.help]
    if method.trusts == ("central",) != tuple(offered):
        told.append("central only")
    elif "shuffled" in offered - set(method.trusts):
        told.append("not for shuffled reports")
    if method.most_items is not None:
        told.append(f"up to {method.most_items} items")
    return "; ".join(told)


def solvers(methods: Mapping[str, Method]) -> str:
    """Names of the methods that look for the best ranking, in words."""
    return ", ".join(method.name for method in methods.values() if method.solves)
