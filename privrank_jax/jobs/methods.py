"""One record per method, and per rule, that people can ask for by name: all that jobs, commands and pages say of it.

The records of its mechanisms (:mod:`privrank_jax.jobs.mechanisms`) say how a method draws. A rule makes an order of the
weights of all pairs, once they are released. Nothing here imports JAX or NumPy until items are ranked, so that options
are checked before anything heavy is loaded.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privrank_jax.jobs.mechanisms import MECHANISMS, function_of

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool, Float, Int

    from privrank_jax.aggregation.kemeny_rule import ProvenRanking

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
    whole = "only the set of the top K, in no order, one draw among all sets"
    more["lists"] = True
    return [
        Method("one-shot", "only the list of the top K", "one-shot-top-k", **more),
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
"""Methods of :func:`privrank_jax.consensus` and ``privrank aggregate``; ``auto`` takes the best for the data."""

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


# Arguments of plans for other mechanisms than those of a consensus.
_OTHERS: dict[str, dict[str, Any]] = {
    "dp-scores": {"points": "0-1"},
    "perturbed-mle": {"trust": "central"},
    "randomized-response": {"trust": "local"},
}


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


# --- rules --------------------------------------------------------------------------------------------

KEMENY = "kemeny"


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule but Kemeny's, which looks for the order of least disagreement."""

    title: str  # what the title of a result says
    help: str  # what it does, in a few words
    words: str  # how it ranks, for the notes of a result
    score_name: str = ""  # what its scores are; "" where they only number the items


RULES = {
    "copeland": Rule(
        "Copeland's rule",
        "how many others each item beats",
        "an item has 1 for each other item that more users rank behind it than ahead of it, and 1/2 for each where "
        "both are as many",
        "items beaten",
    ),
    "ranked-pairs": Rule(
        "ranked pairs",
        "the clearest majorities first, unless earlier ones contradict",
        "majorities are taken one after another, the clearest first, unless those taken before say the opposite by a "
        "chain; pairs with equally clear majorities, and items without one, in the order of the list of items",
    ),
    "schulze": Rule(
        "Schulze's rule",
        "the stronger chain of majorities",
        "an item is ahead of another if its strongest chain of majorities to the other is stronger than any back, a "
        "chain being as strong as its narrowest majority",
    ),
    "minimax": Rule(
        "minimax",
        "the narrowest win or widest loss",
        "an item has its lead over the other one against which it does worst: the share of users who rank it ahead, "
        "less the share who rank it behind, or their numbers where that of all users is private",
        "least lead",
    ),
    "borda": Rule(
        "Borda scores",
        "the mean score; method borda has less noise",
        "an item has the number of others that a user, on average, ranks behind it; where the number of users is "
        "private, half of how many more others users rank behind it than ahead of it, added up",
        "score",
    ),
}
"""By the name that ``rule`` takes; ``"kemeny"`` is one more."""

RULES_HELP = "kemeny (least disagreement; the default), " + ", ".join(
    f"{name} ({rule.help})" for name, rule in RULES.items()
)

_LATE = "the best ranking found in a minute is not proven to be within `xi` {:g} of the best: take a larger xi."


def check_rule(rule: str | None, xi: float) -> None:
    """Refuse a rule that there is not, or that takes no ξ, and a ξ below 0: raises ``ValueError``."""
    if not 0 <= xi < math.inf:
        raise ValueError(f"`xi` must be finite and at least 0, got {xi:g}.")
    if rule in (None, KEMENY):
        return
    if rule not in RULES:
        raise ValueError(
            f"`rule` must be one of {', '.join((KEMENY, *RULES))}, got {rule!r}. Run-offs, as STV, need whole ballots, "
            "of which one may change all that follows: take ranked-pairs or schulze."
        )
    if xi:
        raise ValueError(f"`xi` is for the rule kemeny: leave it out of {rule}.")


def scores_by(rule: str, weights: Float[np.ndarray, "items items"]) -> Float[np.ndarray, "items"]:
    """The scores of a rule in :data:`RULES`, ``(m,)``, high = best, by the weights of all pairs, noisy or not."""
    import numpy as np

    from privrank_jax._quickly import quickly
    from privrank_jax.aggregation.majority_rules import RULES as FUNCTIONS

    # Ranked pairs take a step for each pair, which are too many for NumPy then.
    found = quickly(FUNCTIONS[rule], weights) if len(weights) <= 100 else FUNCTIONS[rule](weights)
    return np.asarray(found)


def tied_at_least_cost(
    weights: Float[np.ndarray, "items items"], order: Int[np.ndarray, "items"]
) -> Bool[np.ndarray, "gaps"]:
    """Whether items of a Kemeny order are tied with the next one: where one of them can pass the others at no cost.

    ``weights`` are those by which no order has a smaller cost; ``order``: the items, best first.

    >>> import numpy as np
    >>> tied_at_least_cost(np.array([[0, 6, 8], [6, 0, 8], [4, 4, 0]]), np.array([1, 0, 2])).tolist()
    [True, False]
    """
    import numpy as np

    from privrank_jax.jobs.result import EQUAL

    lead = np.triu((weights - weights.T)[np.ix_(order, order)], 1)
    # The cost of moving the item of the row behind that of the column, and of that ahead of this.
    behind, ahead = np.cumsum(lead, axis=1), np.cumsum(lead[::-1], axis=0)[::-1]
    free = np.triu(np.minimum(behind, ahead) <= EQUAL, 1)
    places = np.arange(len(order))
    reach = np.maximum.accumulate(np.where(free, places, 0).max(axis=1, initial=0))
    return reach[:-1] > places[:-1]


def ordered(
    rule: str | None,
    weights: Float[np.ndarray, "items items"],
    *,
    votes: Any = None,
    xi: float = 0.0,
    divisor: float = 1.0,
) -> tuple[dict[str, Any], ProvenRanking | None]:
    """Rank by a rule: fields of a :class:`~privrank_jax.jobs.result.Ranking`, with how it came about.

    Scores that only number the items are not shown. Ranked pairs break ties by the list of items: items are tied there
    if the reverse list has them in another order.

    Args:
        rule: None for Kemeny's, with which comes what is proven of the order.
        weights: of all pairs; Kemeny orders are tied by these.
        votes: weights of which the costs for Kemeny's are made; None: the same.
        xi, divisor: ξ of Kemeny's; of the scores.
    """
    import numpy as np

    from privrank_jax.aggregation import kemeny
    from privrank_jax.jobs.result import EQUAL, best_first

    if rule not in RULES:
        best = kemeny(weights if votes is None else votes, xi)
        order, late = np.argsort(best.ranks), (_LATE.format(xi),) * (best.ratio > 1 + xi)
        return {"order": order, "tied": tied_at_least_cost(weights, order), "warnings": late}, best
    about, scores = RULES[rule], scores_by(rule, weights) / divisor
    order = best_first(scores)
    tied = np.diff(scores[order]) >= -EQUAL
    if rule == "ranked-pairs":
        other = scores_by(rule, weights[::-1, ::-1])[::-1][order]
        # One order has the first items of the other at the first places only where no tie is broken.
        places = np.maximum.accumulate(np.argsort(np.argsort(-other, kind="stable")))
        tied = places[:-1] > np.arange(len(places) - 1)
    told = {"order": order, "tied": tied, "notes": (f"{about.title}: {about.words}",)}
    if about.score_name:
        told |= {"scores": scores, "score_name": about.score_name}
    return told, None
